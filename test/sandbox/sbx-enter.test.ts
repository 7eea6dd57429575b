import { existsSync, readdirSync, statSync } from 'node:fs'
import os from 'node:os'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AgentRequest } from '../../src/agents/agent.ts'
import { findAgent } from '../../src/agents/registry.ts'
import type { Box, BoxedProgram } from '../../src/sandbox/sandbox.ts'
import { sbx } from '../../src/sandbox/sbx.ts'
import { templateAgents } from '../../src/sandbox/sbx-find.ts'
import { sandboxNames } from '../../src/sandbox/sbx-name.ts'
import { createBench, run, type SandboxBench, seen } from '../helpers/fake-sandbox/sandbox-bench.ts'

let bench: SandboxBench
let box: Box
/** One of each kind is enough: to enter it changes nothing in it. */
const opened = new Map<string, { bench: SandboxBench; box: Box }>()
afterEach(() => box.settle({ ended: false }))
afterAll(() => {
  for (const one of opened.values()) one.bench.cleanup()
})

async function ready(kind: 'sbx' | 'docker', agent = 'claude'): Promise<void> {
  const key = `${kind} ${agent}`
  const known = opened.get(key)
  bench = known?.bench ?? createBench(kind)
  box = known?.box ?? (await sbx({ syncTime: 0 }).open(bench.policy({ agents: [agent] })))
  opened.set(key, { bench, box })
}

/** An attempt of a real adapter, as the engine hands it in. */
async function attempt(
  name: string,
  prompt: string,
  more: Partial<AgentRequest> = {},
  env: Record<string, string> = {},
): Promise<BoxedProgram> {
  const agent = await findAgent(name)
  const promptFile = bench.file('prompt.md', prompt)
  const request = {
    promptFile,
    cwd: bench.root,
    readOnly: false,
    extraArgs: [],
    env: {},
    root: false,
    ...more,
  }
  const command = agent.command(request)
  return bench.program({
    argv: command.argv,
    agent: name,
    stdin: promptFile,
    env: { PATH: '/usr/bin', HOME: bench.home, RALPH_TASK: 'US-1', ...command.env, ...env },
    readOnly: request.readOnly,
  })
}

/** Starts it for real; what the agent saw, and the call without the tool's own name. */
async function go(program: BoxedProgram) {
  const entered = await box.enter(program)
  const { code, output } = await run(entered)
  expect(output).toBe('OK\n')
  expect(code).toBe(0)
  const args = entered.argv.slice(entered.argv[0] === 'docker' ? 2 : 1)
  return { args, entered, ...seen(bench.root) }
}

const nameOf = (kind: 'sbx' | 'docker') => sandboxNames(kind, bench.root, 'claude')[0]

describe('docker sandbox run', () => {
  it('S1-13 S1-43 hands the prompt to the template, which skips permissions itself', async () => {
    await ready('docker')
    const { args, argv } = await go(await attempt('claude', 'Do it.\nNow "please".'))
    expect(args.slice(0, 5)).toEqual(['run', nameOf('docker'), '--', '-p', 'Do it.\nNow "please".'])
    expect(args).not.toContain('--dangerously-skip-permissions')
    expect(argv).toEqual([
      '--dangerously-skip-permissions',
      ...['-p', 'Do it.\nNow "please".', '--output-format', 'stream-json', '--verbose'],
    ])
  })

  it('S1-16 each iteration is a new process in the same sandbox', async () => {
    await ready('docker')
    const before = bench.fake.calls().length
    for (const prompt of ['first', 'second']) {
      expect((await go(await attempt('claude', prompt))).argv).toContain(prompt)
      await box.settle({ ended: false })
    }
    const more = bench.fake.calls().slice(before)
    expect(more.map(call => call.args.slice(1, 3))).toEqual(Array(2).fill(['run', nameOf('docker')]))
  })

  it.each([
    ['claude', ['--output-format', 'stream-json', '--verbose', '--model', 'm', '--extra', 'x']],
    [
      'copilot',
      [
        ...['--output-format', 'json', '--no-ask-user', '--no-color', '--no-auto-update'],
        ...['--disable-client-telemetry', '--model', 'm', '--extra', 'x'],
      ],
    ],
    ['gemini', ['--output-format', 'stream-json', '--model', 'm', '--extra', 'x']],
  ])('strips the program and the flag that the template of %s sets, and nothing else', async (name, rest) => {
    await ready('docker', name)
    const extraArgs = ['--extra', 'x']
    const { args, argv } = await go(await attempt(name, 'Do it.', { model: 'm', extraArgs }))
    expect(args).toEqual(['run', nameOf('docker'), '--', '-p', 'Do it.', ...rest])
    const skipping = argv.filter(word => /^--(?:dangerously|yolo|allow-all|approval-mode)/u.test(word))
    expect(skipping, 'once, by the template').toHaveLength(1)
  })

  it.each([
    ['codex', ['codex', 'exec', '--json', '--dangerously-bypass-approvals-and-sandbox']],
    ['opencode', ['opencode', 'run', '--format', 'json']],
  ])("is not for %s, whose first word would take the place of the template's flags", async (name, first) => {
    await ready('docker', name)
    const { args, stdin } = await go(await attempt(name, 'Do it.'))
    const at = args.indexOf(nameOf('docker'))
    expect(args.slice(0, 4)).toEqual(['exec', '-i', '-w', bench.root])
    expect(args.slice(at + 1, at + 1 + first.length)).toEqual(first)
    expect(stdin).toBe('Do it.')
  })

  it('is not for a prompt that is no argument; it arrives whole', async () => {
    await ready('docker')
    for (const prompt of ['x'.repeat(300_000), '--help me', '']) {
      const { args, argv, stdin } = await go(await attempt('claude', prompt))
      expect(args[0]).toBe('exec')
      expect(stdin === prompt, 'whole').toBe(true)
      expect(argv).toContain('--dangerously-skip-permissions')
    }
    const edge = `${'ä'.repeat(50_000)}`
    const { args, argv } = await go(await attempt('claude', edge))
    expect(args[0]).toBe('run')
    expect(argv.includes(edge), 'whole').toBe(true)
  })

  it('is not for an agent whose user gave it variables, for it cannot carry them', async () => {
    await ready('docker')
    const secret = { ANTHROPIC_BASE_URL: 'https://gateway.example', ANTHROPIC_AUTH_TOKEN: 'token-123456' }
    const { args, env } = await go(await attempt('claude', 'Do it.', { env: secret }))
    expect(args[0]).toBe('exec')
    expect(args.join(' ')).not.toContain('token-123456')
    expect(env).toMatchObject(secret)
  })
})

describe.each(['sbx', 'docker'] as const)('%s exec', kind => {
  beforeEach(() => ready(kind))

  it("gives a reviewer its own flags and not the template's", async () => {
    const { args, argv, stdin } = await go(await attempt('claude', 'Review it.', { readOnly: true }))
    expect(args.slice(0, 4)).toEqual(['exec', '-i', '-w', bench.root])
    expect(argv).not.toContain('--dangerously-skip-permissions')
    expect(argv).toEqual(expect.arrayContaining(['--permission-mode', 'dontAsk']))
    expect(stdin).toBe('Review it.')
  })

  it('runs gates where they are to run, with their variables and without a stdin', async () => {
    const script = 'pwd; echo "$A|$B"; cat; exit 3'
    const env = { A: 'one two', B: '#"\'$x', PATH: '/nowhere', HOME: '/nowhere' }
    const entered = await box.enter(bench.program({ argv: ['sh', '-c', script], env }))
    const args = entered.argv.slice(kind === 'docker' ? 2 : 1)
    expect(args.slice(0, 4)).toEqual(['exec', '-w', bench.root, '--env-file'])
    expect(args.slice(5)).toEqual([nameOf(kind), 'sh', '-c', script])
    expect(await run(entered)).toEqual({ code: 3, output: `${bench.root}\none two|#"'$x\n` })
    expect(bench.fake.calls().at(-1)?.envFile).toBe('A=one two\nB=#"\'$x\n')
  })

  it('shows values to nobody else, and leaves no file with them behind', async () => {
    const key = '-----BEGIN\nSECRET\n-----END'
    const env = { API_TOKEN: 'very-secret', PRIVATE_KEY: key }
    const script = 'printf %s "$API_TOKEN $PRIVATE_KEY"'
    const entered = await box.enter(bench.program({ argv: ['sh', '-c', script], env }))
    expect(entered.argv.join(' ')).not.toMatch(/very-secret|SECRET/u)
    const file = entered.argv[entered.argv.indexOf('--env-file') + 1] ?? ''
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect((await run(entered)).output).toBe(`very-secret ${key}`)
    await box.settle({ ended: false })
    expect(existsSync(file)).toBe(false)
    expect(readdirSync(os.tmpdir()).filter(one => one.includes(`${nameOf(kind)}-env-`))).toEqual([])
  })

  it('carries nothing of this machine: no home, no PATH, no proxy, no path that is not seen in there', async () => {
    const env = {
      ...{ PATH: '/x', HOME: bench.home, TMPDIR: '/tmp', XDG_CONFIG_HOME: '/c', https_proxy: 'http://p' },
      ...{
        NODE_EXTRA_CA_CERTS: '/ca.pem',
        JAVA_HOME: os.tmpdir(),
        WORK: bench.root,
        ROUTE: '/api/v1',
        CI: '1',
      },
    }
    await run(await box.enter(bench.program({ env })))
    expect(bench.fake.calls().at(-1)?.envFile).toBe(`CI=1\nROUTE=/api/v1\nWORK=${bench.root}\n`)
  })

  it('refuses a folder that is not seen in there', async () => {
    await expect(box.enter(bench.program({ cwd: bench.home }))).rejects.toMatchObject({ name: 'UserError' })
  })
})

describe('sbx', () => {
  it.each(templateAgents)(
    'starts %s by exec, with the prompt on stdin and all of its own flags',
    async name => {
      await ready('sbx', name)
      const program = await attempt(name, 'Do it.')
      const { args, argv, stdin, env } = await go({
        ...program,
        argv: [`/opt/here/${name}`, ...program.argv.slice(1)],
      })
      const at = args.indexOf(nameOf('sbx'))
      expect(args.slice(0, 4)).toEqual(['exec', '-i', '-w', bench.root])
      expect(args[at + 1], 'by its name, wherever it lies here').toBe(name)
      expect(argv).toEqual(program.argv.slice(1))
      expect(stdin).toBe('Do it.')
      expect(env.RALPH_TASK).toBe('US-1')
      expect(env.HOME).not.toBe(bench.home)
    },
  )

  it('hands a large prompt in whole', async () => {
    await ready('sbx')
    const prompt = 'ä'.repeat(200_000)
    expect((await go(await attempt('claude', prompt))).stdin === prompt).toBe(true)
  })
})
