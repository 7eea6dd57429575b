import { afterEach, describe, expect, it } from 'vitest'
import type { Check } from '../../src/commands/doctor-checks.ts'
import { type Ended, ralph, type TestProject } from '../helpers/ralph.ts'
import { honest, storyProject } from '../helpers/story-project.ts'

let project: TestProject

afterEach(() => project.cleanup())

/** A project whose agent is a program of this name, and what `ralph doctor` says. */
async function doctor(agent: string, body: string, ...args: string[]): Promise<Ended> {
  project = storyProject({ script: [{ do: honest() }] })
  const config = project.read('ralph.config.yaml').replace(/^agent: .*$/mu, agent)
  project.write('ralph.config.yaml', config)
  const text = `#!${process.execPath}\nif (process.argv[2] === '--version') { console.log('9.9.9'); process.exit() }\n${body}\n`
  project.write('../home/bin/claude', text, 0o755)
  const env = { PATH: `${project.home}/bin:${process.env.PATH ?? ''}`, ANTHROPIC_API_KEY: 'sk-real' }
  return ralph(project, ['doctor', ...args], { env })
}

const calls = `
const prompt = require('node:fs').readFileSync(0, 'utf8')
fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', { method: 'POST', body: JSON.stringify({ prompt }) })
`

describe('ralph doctor: starting an agent as a run would', () => {
  it('sees that it takes the options and that the prompt arrives, without a login', async () => {
    const { code, stdout } = await doctor('agent: claude', calls)
    expect(stdout).toMatch(/^✓ start claude +takes our options, and its prompt arrives \(\d+\.\d s\)$/m)
    expect(code).toBe(0)
    expect(project.exists('.ralph')).toBe(false)
  })

  it('says what the program printed when it does not, and what to do', async () => {
    const body = `console.error("error: unknown option '--verbose'"); process.exit(1)`
    const { code, stdout } = await doctor('agent: { name: claude, args: [--my-flag] }', body)
    expect(stdout).toMatch(
      /^✗ start claude +ended \(code 1\) before it called its model; it said: error: unknown option '--verbose'\n +→ Check `args` in ralph\.config\.yaml \(--my-flag\), and update the CLI/m,
    )
    expect(stdout).toContain('1 problem to mend')
    expect(code).toBe(1)
  })

  it('tells it in --json, and says why others are not checked', async () => {
    const { stdout } = await doctor('agent: { command: "cat" }', calls, '--json')
    const { checks } = JSON.parse(stdout) as { checks: Check[] }
    expect(checks.find(check => check.name === 'start command')).toEqual({
      name: 'start command',
      state: 'ok',
      text: 'not checked: an unknown program might begin to work',
      fix: '',
    })
  })

  it('says something when it takes more than a second', async () => {
    const { stdout, stderr } = await doctor('agent: claude', `setTimeout(() => { ${calls} }, 1500)`)
    expect(stdout).toMatch(/^✓ start claude/m)
    expect(stderr).toContain('Starting the agents as a run would')
  })
})
