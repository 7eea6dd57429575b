import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { acp } from '../../../src/agents/acp/index.ts'
import type { AcpScript, AcpStep } from './acp-agent.ts'
import { useAcpPrograms } from './acp-bundle.ts'
import { play, useFolder } from './play.ts'

/** How the client program is started, how it ends, and how it looks at an agent. */

const programs = useAcpPrograms()
const folder = useFolder()

describe('acp: ending', () => {
  /** Starts the client as the engine does and waits for a file of the agent. */
  async function started(script: AcpScript, cwd: string, file: string) {
    const child = spawn(process.execPath, [programs.client(), '--', ...programs.command(cwd, script)], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let printed = ''
    child.stdout.on('data', chunk => {
      printed += String(chunk)
    })
    child.stderr.on('data', chunk => {
      printed += String(chunk)
    })
    const ended = new Promise<string | number | null>(resolve => {
      child.on('exit', (code, signal) => resolve(code ?? signal))
    })
    while (!existsSync(path.join(cwd, file))) await new Promise(resolve => setTimeout(resolve, 20))
    return { child, ended, printed: () => printed }
  }
  const nap: AcpStep[] = [
    { play: [{ run: ['sh', '-c', 'echo $PPID > agent.pid'] }] },
    { chunk: 'waiting' },
    { permission: { never: 'answered', toolCall: {}, options: [] } },
    { play: ['hang'] },
  ]

  it('takes the agent with it when it is stopped', async () => {
    const cwd = folder()
    const { child, ended } = await started({ turns: [nap] }, cwd, 'agent.pid')
    const agent = Number(readFileSync(path.join(cwd, 'agent.pid'), 'utf8'))
    child.kill('SIGTERM')
    expect(await ended).toBe('SIGTERM')
    expect(alive(agent)).toBe(false)
  })

  it('ends an agent that does not go by itself when its turn is over', async () => {
    const cwd = folder()
    const deaf = { kind: 'deaf', ms: 20_000, pidFile: 'child.pid' }
    const from = performance.now()
    const steps = [{ play: [{ child: deaf }, { 'wait-for': 'child.pid' }] }, { chunk: 'done' }]
    const { exit } = await play(programs.agent(cwd, { turns: [steps], lingers: true }), { cwd })
    expect(exit).toBe(0)
    expect(performance.now() - from).toBeGreaterThan(1000)
    expect(alive(Number(readFileSync(path.join(cwd, 'agent.pid'), 'utf8')))).toBe(false)
    process.kill(Number(readFileSync(path.join(cwd, 'child.pid'), 'utf8')), 'SIGKILL')
  })

  it('cannot start what is not there', async () => {
    const cwd = folder()
    const agent = acp({ program: programs.client(), command: ['no-such-agent-anywhere', '--acp'] })
    expect(await play(agent, { cwd })).toMatchObject({
      exit: 127,
      fault: { kind: 'crash', message: expect.stringContaining('could not be started') },
    })
  })

  it('says how it is used', () => {
    const { status, stderr } = spawnSync(process.execPath, [programs.client(), '--probe'], {
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([2, expect.stringContaining('usage: acp-client')])
  })
})

function alive(pid: number): boolean {
  return /^[^Z]/u.test(
    spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim(),
  )
}

describe('acp: starting and probing', () => {
  it('gives the client what it needs, and the agent its own arguments', () => {
    const agent = acp({ program: '/dist/acp-client.js', command: 'my-agent --acp "two words"' })
    const request = {
      promptFile: '/p',
      cwd: '/',
      model: 'big',
      readOnly: true,
      extraArgs: ['--extra'],
      env: { SECRET: 's' },
      root: true,
    }
    expect(agent.command(request)).toEqual({
      argv: [
        process.execPath,
        '/dist/acp-client.js',
        '--read-only',
        '--model',
        'big',
        '--',
        'my-agent',
        '--acp',
        'two words',
        '--extra',
      ],
      env: {},
      stdin: 'prompt',
      reads: ['/dist'],
    })
  })

  it('refuses an empty command with a way on', () => {
    for (const settings of [{}, { command: '' }, { command: [] }, { command: "''" }]) {
      expect(() => acp(settings)).toThrow(
        expect.objectContaining({ name: 'UserError', exitCode: 2, fix: expect.stringContaining('--acp') }),
      )
    }
  })

  it('is told the version by the agent, without a session', async () => {
    const cwd = folder()
    const context = { env: { PATH: process.env.PATH, HOME: cwd }, cwd }
    const refuse = { code: -32000, message: 'no' }
    expect(await programs.agent(cwd, { turns: [], refuse }).probe(context)).toEqual({
      ok: true,
      version: '1.2.3',
      login: 'unknown',
      problem: null,
      fix: null,
    })
  })

  it('says what is wrong with what is no agent', async () => {
    const cwd = folder()
    const context = { env: { PATH: process.env.PATH, HOME: cwd }, cwd }
    const probe = (command: string[]) => acp({ program: programs.client(), command }).probe(context)
    expect(await probe(['sh', '-c', 'echo hello; echo "unknown flag --acp" >&2; exit 3'])).toMatchObject({
      ok: false,
      problem: expect.stringContaining('does not speak ACP'),
      fix: expect.stringContaining('agent.command'),
    })
    expect(
      await probe(programs.command(cwd, { turns: [], initialize: { protocolVersion: 7 } })),
    ).toMatchObject({
      ok: false,
      problem: expect.stringContaining('version 7 of ACP'),
    })
  })
})
