import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Agent } from '../../../src/agents/agent.ts'
import { claude } from '../../../src/agents/claude.ts'
import { type HeadlessEnd, tryHeadless } from '../../../src/agents/headless.ts'
import { agentNames, cliNames, findAgent } from '../../../src/agents/registry.ts'
import { openStandIn, type StandIn } from '../../../src/agents/stand-in.ts'
import { until } from '../../helpers/ralph.ts'
import { useFolder } from './play.ts'

const folder = useFolder()
let standIn: StandIn

beforeEach(async () => {
  standIn = await openStandIn()
})
afterEach(() => standIn.close())

/** Asks the model as the real one would, and says what it knows in `seen.json`. */
const caller = `
const fs = require('node:fs')
const prompt = fs.readFileSync(0, 'utf8')
const seen = { env: process.env, cwd: process.cwd(), tty: process.stdin.isTTY === true, prompt, args: process.argv.slice(2) }
fs.writeFileSync(__dirname + '/seen.json', JSON.stringify(seen))
fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', { method: 'POST', body: JSON.stringify({ text: BODY }) })
  .then(async answer => {
    fs.writeFileSync(__dirname + '/answer.json', JSON.stringify({ status: answer.status, body: await answer.json() }))
    setInterval(() => undefined, 1000)
  })
`

function program(cwd: string, text: string): string {
  const file = path.join(cwd, 'claude.cjs')
  writeFileSync(file, `#!${process.execPath}\n${text}`)
  chmodSync(file, 0o755)
  return file
}

function trial(
  agent: Agent,
  more: { env?: Record<string, string>; patience?: number } = {},
): Promise<HeadlessEnd> {
  const start = agent.headless?.(standIn.url)
  if (!start || 'notChecked' in start) throw new Error('cannot be tried')
  return tryHeadless({
    agent,
    start,
    standIn,
    request: { extraArgs: ['--mine'], model: 'opus' },
    env: { PATH: process.env.PATH, ...more.env },
    patience: more.patience ?? 10_000,
  })
}

function seenIn(cwd: string): {
  env: Record<string, string>
  cwd: string
  tty: boolean
  prompt: string
  args: string[]
} {
  return JSON.parse(readFileSync(path.join(cwd, 'seen.json'), 'utf8'))
}

describe('tryHeadless', () => {
  it('sees a prompt arrive, and ends the program then', async () => {
    const cwd = folder()
    const end = await trial(claude({ program: program(cwd, caller.replace('BODY', 'prompt')) }))
    expect(end).toMatchObject({ type: 'arrived' })
    expect(seenIn(cwd)).toMatchObject({ tty: false, prompt: expect.stringContaining('ralph-doctor-') })
    expect(seenIn(cwd).args.slice(-3)).toEqual(['--model', 'opus', '--mine'])
  })

  it('shows nothing of the user: neither his login nor his home nor his project, and leaves no folder', async () => {
    const cwd = folder()
    const env = {
      HOME: '/home/me',
      ANTHROPIC_API_KEY: 'a real one',
      CLAUDE_CODE_OAUTH_TOKEN: 'another',
      XDG_CONFIG_HOME: '/home/me/.config',
      HTTPS_PROXY: 'http://proxy.example',
    }
    await trial(claude({ program: program(cwd, caller.replace('BODY', 'prompt')) }), { env })
    const seen = seenIn(cwd)
    expect(seen.env.ANTHROPIC_API_KEY).toBe('made-up-by-ralph-doctor')
    expect(Object.keys(seen.env)).not.toEqual(expect.arrayContaining(['CLAUDE_CODE_OAUTH_TOKEN']))
    expect(Object.keys(seen.env).filter(name => /^XDG_|_PROXY$/u.test(name))).toEqual([])
    expect(JSON.stringify(seen.env)).not.toContain('/home/me')
    expect(existsSync(seen.env.HOME ?? '')).toBe(false)
    expect(existsSync(seen.cwd)).toBe(false)
  })

  it('tells a shim where the real program is, as its home is hidden from it', async () => {
    const cwd = folder()
    await trial(claude({ program: program(cwd, caller.replace('BODY', 'prompt')) }), {
      env: { HOME: '/home/me', VOLTA_HOME: cwd },
    })
    expect(seenIn(cwd).env.VOLTA_HOME).toBe(cwd)
  })

  it('does not take a call without the prompt for one with it, and refuses both in plain words', async () => {
    const cwd = folder()
    const end = await trial(claude({ program: program(cwd, caller.replace('BODY', '"something else"')) }), {
      patience: 1500,
    })
    expect(end).toMatchObject({ type: 'silent' })
    const { status, body } = JSON.parse(readFileSync(path.join(cwd, 'answer.json'), 'utf8'))
    expect(status).toBe(400)
    expect(body.error.message).toContain('ralph doctor')
  })

  it.each([
    [
      'refuses an option',
      'console.error("error: unknown option --verbose"); process.exit(1)',
      'code 1',
      'unknown option',
    ],
    ['dies', 'process.kill(process.pid, "SIGKILL")', 'killed by SIGKILL', ''],
    [
      'says it in its own way',
      `console.log(JSON.stringify({ type: 'result', is_error: true, result: 'Not logged in · Please run /login' })); process.exit(1)`,
      'code 1',
      'Not logged in',
    ],
  ])('says what a program printed that %s', async (_, text, exit, said) => {
    const end = await trial(claude({ program: program(folder(), text) }))
    expect(end).toMatchObject({ type: 'ended', exit, said: expect.stringContaining(said) })
  })

  it('says that there is no program', async () => {
    const end = await trial(claude({ program: path.join(folder(), 'no-such-claude') }))
    expect(end).toMatchObject({ type: 'ended', exit: expect.stringContaining('no-such-claude') })
  })

  it('leaves nothing running of a program that starts others', async () => {
    const cwd = folder()
    const pidFile = path.join(cwd, 'pid')
    const text = `
const child = require('node:child_process').spawn('sleep', ['300'], { detached: true, stdio: 'ignore' })
require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(child.pid))
setInterval(() => undefined, 1000)`
    await trial(claude({ program: program(cwd, text) }), { patience: 1500 })
    const pid = Number(readFileSync(pidFile, 'utf8'))
    await until('its end', () => !isAlive(pid), 10_000)
  })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe('headless', () => {
  it.each(cliNames)('%s is led to the stand-in, with a made-up key', async name => {
    const start = (await findAgent(name)).headless?.('http://127.0.0.1:1')
    if (!start || 'notChecked' in start) throw new Error(`${name} is not checked`)
    expect(JSON.stringify([start.env, start.args])).toContain('http://127.0.0.1:1')
    expect(JSON.stringify(start.env)).toContain('made-up')
  })

  it.each(agentNames.filter(name => !cliNames.includes(name)))(
    '%s says why it is not checked',
    async name => {
      const agent = await findAgent(name, { command: 'true', script: 's.yaml', program: '/anywhere' })
      expect(agent.headless?.('http://127.0.0.1:1')).toEqual({
        notChecked: expect.stringMatching(/\w+ \w+/u),
      })
    },
  )
})
