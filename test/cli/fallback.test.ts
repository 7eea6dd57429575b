import { afterEach, describe, expect, it } from 'vitest'
import { ralph, type TestProject } from '../helpers/ralph.ts'
import { honest, storyProject } from '../helpers/story-project.ts'

let project: TestProject

afterEach(() => project.cleanup())

/** The first entry is at its limit, the second one works. */
function twoAgents(first: unknown[]): TestProject {
  const made = storyProject({
    stories: ['1.1', '1.2'],
    script: [{ do: honest() }],
    config: 'limits: { faults: 8 }',
    files: { 'first.json': JSON.stringify(first) },
  })
  const config = made
    .read('ralph.config.yaml')
    .replace(/^agent: .*$/mu, 'agent: [{ script: first.json }, { script: agent.json }]')
    .replace('"agent.json"]', '"agent.json", "first.json"]')
  made.write('ralph.config.yaml', config)
  made.git('commit', '-qam', 'two agents')
  return made
}

type Row = { agent: string; stage: string; calls: number; refunded: number }

describe('a list of agents', () => {
  it('the next one takes over when the first is at its limit, and no try is lost', async () => {
    project = twoAgents([{ do: [{ limit: { resets: 'in 2 hours' } }] }])
    const { code, stdout } = await ralph(project, ['run'])
    expect(stdout).toContain('takes over')
    expect(stdout).toContain('2 of 2 tasks done with evidence')
    expect(code).toBe(0)
    const { agents } = JSON.parse((await ralph(project, ['report', '--json'])).stdout) as { agents: Row[] }
    // One call was refused; from then on the other was called at once.
    expect(agents).toMatchObject([{ stage: 'implement', calls: 3, refunded: 1 }])
  })

  it('a phrase of the user’s own tells a limit that nobody else knows', async () => {
    project = twoAgents([{ do: [{ stderr: 'error: the corporate purse is empty' }, { exit: 1 }] }])
    const own =
      'agent: [{ script: first.json, patterns: [{ kind: limit, pattern: "purse is empty" }] }, { script: agent.json }]'
    project.write('ralph.config.yaml', project.read('ralph.config.yaml').replace(/^agent: .*$/mu, own))
    project.git('commit', '-qam', 'a phrase')
    const { code, stdout } = await ralph(project, ['run'])
    expect(stdout).toContain('takes over')
    expect(code).toBe(0)
  })

  it('a bad answer is no reason to go elsewhere', async () => {
    project = twoAgents([{ on: { attempt: 1 }, do: [{ done: true }] }, { do: honest() }])
    const { code, stdout } = await ralph(project, ['run'])
    expect(stdout).not.toContain('takes over')
    expect(stdout).toContain('Claimed done, but nothing changed')
    expect(code).toBe(0)
  })
})
