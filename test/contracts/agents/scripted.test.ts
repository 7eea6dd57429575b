import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { scripted } from '../../../src/agents/scripted/index.ts'
import { readScript, ScriptError } from '../../../src/agents/scripted/script.ts'
import { agentContract } from './agent-contract.ts'
import { useScriptedProgram } from './bundle-scripted.ts'
import { play, useFolder } from './play.ts'
import { plainSteps, writeScript } from './scripted-acts.ts'

const program = useScriptedProgram()
const folder = useFolder()

agentContract({
  name: 'scripted',
  acting: async (act, cwd) => scripted({ program: program(), script: writeScript(cwd, plainSteps(act)) }),
  missing: async cwd => scripted({ program: program(), script: path.join(cwd, 'no-such-script.yaml') }),
  reportsUsage: true,
})

/** Plays steps for every call in a fresh folder. */
async function plays(steps: unknown[], env: Record<string, string> = {}, cwd = folder()) {
  const agent = scripted({ program: program(), script: writeScript(cwd, steps) })
  return { cwd, ...(await play(agent, { cwd, env, prompt: 'the prompt\n' })) }
}

async function playsYaml(text: string, env: Record<string, string> = {}) {
  const cwd = folder()
  writeFileSync(path.join(cwd, 'script.yaml'), text)
  return play(scripted({ program: program(), script: 'script.yaml', base: cwd }), { cwd, env })
}

function repository(): { cwd: string; git: (...args: string[]) => string } {
  const cwd = folder()
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd, encoding: 'utf8', env: { PATH: process.env.PATH, HOME: cwd } }).trim()
  git('init', '--quiet', '--initial-branch=main')
  writeFileSync(path.join(cwd, '.gitignore'), 'prompt.txt\nscript.json\n')
  git('add', '.')
  git('-c', 'user.name=T', '-c', 'user.email=t@example.invalid', 'commit', '--quiet', '-m', 'start')
  return { cwd, git }
}

describe('scripted: rules', () => {
  const script = `
- on: { task: 8.10, stage: implement, attempt: 1 }
  do: [{ say: first try of ten }]
- on: { task: 8.1 }
  do: { say: one }
- on: { role: [reviewer, tester], call: 3 }
  do:
    - say: judged {{task}} in {{stage}}
- on: { stage: implement }
  do: [{ say: any other }]
`
  it.each([
    [{ RALPH_TASK: '8.10', RALPH_STAGE: 'implement', RALPH_ATTEMPT: '1' }, 'first try of ten'],
    [{ RALPH_TASK: '8.10', RALPH_STAGE: 'implement', RALPH_ATTEMPT: '2' }, 'any other'],
    [{ RALPH_TASK: '8.1', RALPH_STAGE: 'implement' }, 'one'],
    [{ RALPH_TASK: 'x', RALPH_STAGE: 'review', RALPH_ROLE: 'tester', RALPH_CALL: '3' }, 'judged x in review'],
  ])('plays the first rule that fits %o', async (env, said) => {
    expect((await playsYaml(script, env)).report.message).toBe(said)
  })

  it('says plainly that there is no rule, and leaves with 3', async () => {
    const played = await playsYaml(script, { RALPH_TASK: '9', RALPH_STAGE: 'review' })
    expect(played.exit).toBe(3)
    expect(played.report.message).toContain('has no rule for this call: task=9, stage=review, role=(none)')
  })

  it('plays `otherwise` when no rule fits', async () => {
    const played = await playsYaml('rules: []\notherwise: [{ say: whatever }]')
    expect(played.report.message).toBe('whatever')
  })

  it.each([
    ['- on: { tsak: 1 }\n  do: []', "rule 1, on: 'tsak' is not known here; did you mean 'task'?"],
    [
      '- do: [{ say: a }]\n- do: [{ say: a }, { wrte: b }]',
      "rule 2, step 2: 'wrte' is not a behaviour; did you mean 'write'?",
    ],
    ['- say: hello', "rule 1: 'say' is not known here (a step belongs under `do`)"],
    ['- do: [{ write: { text: x } }]', "rule 1, step 1: write: 'path' is missing"],
    ['- do: [{ exit: soon }]', 'rule 1, step 1: exit: expected a number, found "soon"'],
    ['- do: [{ say: a, done: b }]', 'rule 1, step 1: a step is one behaviour'],
    ['- do: [{ child: wild }]', "'wild' is not one of deaf, holds-stdout, daemon"],
    ['- do: [{ bytes: xyz }]', 'expected pairs of hex digits'],
    ['- on: {}', "rule 1: 'do' is missing"],
    ['just text', 'a script is a list of rules'],
    ['- do: [', 'script.yaml: '],
    ['otherwise: [{ sleep: -1 }]', 'otherwise, step 1: sleep: expected a number'],
  ])('refuses %j and names the entry', async (text, message) => {
    await expect(readScript(text, 'script.yaml')).rejects.toThrow(message)
    await expect(readScript(text, 'script.yaml')).rejects.toThrow(ScriptError)
  })

  it('plays nothing of a script that is wrong anywhere, and leaves with 2', async () => {
    const played = await playsYaml('- do: [{ say: hello }]\n- do: [{ wrte: b }]')
    expect(played.exit).toBe(2)
    expect(played.report.message).toBe('')
    expect(played.report.tail).toMatch(
      /^scripted agent: .*script\.yaml: rule 2, step 1: 'wrte' is not a behaviour; did you mean 'write'\?$/u,
    )
  })

  it('probes the script too', async () => {
    const cwd = folder()
    writeFileSync(path.join(cwd, 's.yaml'), '- do: [{ jump: high }]')
    const probe = await scripted({ program: program(), script: 's.yaml', base: cwd }).probe({
      env: { PATH: process.env.PATH },
      cwd,
    })
    expect(probe).toMatchObject({
      ok: false,
      version: '1.2.3',
      problem: expect.stringContaining("rule 1, step 1: 'jump' is not a behaviour"),
      fix: expect.stringContaining('script'),
    })
  })

  it('tells a sandbox which files it must show', () => {
    const agent = scripted({ program: '/dist/p.js', script: 's.yaml', base: '/b' })
    const request = { promptFile: 'p', cwd: '/', readOnly: false, extraArgs: ['-x'], env: {}, root: false }
    expect(agent.command(request)).toEqual({
      argv: [process.execPath, '/dist/p.js', '/b/s.yaml', '-x'],
      env: {},
      stdin: 'prompt',
      reads: ['/dist', '/b/s.yaml'],
    })
  })
})

describe('scripted: saying', () => {
  it('gives signals in the right form for the asked task', async () => {
    const { report } = await plays(
      [
        'done',
        { done: '9.9' },
        { fail: 'no luck' },
        { learn: 'tests live in spec/' },
        'promise',
        { promise: 'READY' },
        { verdict: 'pass' },
        { verdict: { is: 'fail', findings: 'a.ts: no test' } },
      ],
      { RALPH_TASK: '8.3' },
    )
    expect(report.message.split('\n')).toEqual([
      '<ralph>DONE 8.3</ralph>',
      '<ralph>DONE 9.9</ralph>',
      '<ralph>FAIL 8.3: no luck</ralph>',
      '<ralph>LEARN: tests live in spec/</ralph>',
      '<promise>COMPLETE</promise>',
      '<promise>READY</promise>',
      'VERDICT: pass',
      'VERDICT: fail: a.ts: no test',
    ])
  })

  it('streams, echoes its prompt, prints raw JSON and reports usage', async () => {
    const { report } = await plays(
      [
        { say: { text: 'piece by piece, slowly', every: 1 } },
        'echo-prompt',
        { json: [{ a: 1 }, { b: '{{task}}' }] },
        { usage: { costUsd: 0.5 } },
      ],
      { RALPH_TASK: 'T' },
    )
    expect(report.message).toBe('piece by piece, slowly\nthe prompt\n{"a":1}\n{"b":"T"}')
    expect(report.usage).toEqual({ costUsd: 0.5, inputTokens: null, outputTokens: null })
  })

  it('says the same thing every time', async () => {
    const steps = [{ say: 'x {{task}}' }, { flood: 5000 }, 'done', { usage: { costUsd: 1 } }]
    const [one, two] = await Promise.all([
      plays(steps, { RALPH_TASK: 'a' }),
      plays(steps, { RALPH_TASK: 'a' }),
    ])
    expect(one.report).toEqual(two.report)
  })

  it('reports a usage limit and leaves as told', async () => {
    expect(await plays([{ limit: '3am (UTC)' }, { say: 'never' }])).toMatchObject({
      exit: 1,
      report: { message: "You've hit your limit · resets 3am (UTC)" },
    })
    expect(await plays([{ limit: { resets: '15:00', exit: 0 } }])).toMatchObject({
      exit: 0,
      fault: { kind: 'limit' },
    })
  })
})

describe('scripted: files and git', () => {
  it('writes, appends, replaces, deletes and makes folders', async () => {
    const { cwd, exit } = await plays(
      [
        { write: { path: 'deep/er/a.txt', text: 'one two two\n' } },
        { append: { path: 'deep/er/a.txt', text: 'three $& {{task}}\n' } },
        { replace: { path: 'deep/er/a.txt', find: 'two', with: '$&2' } },
        { write: { path: 'gone.txt' } },
        { delete: ['gone.txt', 'never-was.txt'] },
        { mkdir: 'empty/folder' },
        { 'write-prompt': 'p.txt' },
        { 'write-env': 'env.json' },
      ],
      { RALPH_TASK: 'T' },
    )
    expect(exit).toBe(0)
    expect(readFileSync(path.join(cwd, 'deep/er/a.txt'), 'utf8')).toBe('one $&2 $&2\nthree $& T\n')
    expect(existsSync(path.join(cwd, 'gone.txt'))).toBe(false)
    expect(existsSync(path.join(cwd, 'empty/folder'))).toBe(true)
    expect(readFileSync(path.join(cwd, 'p.txt'), 'utf8')).toBe('the prompt\n')
    expect(JSON.parse(readFileSync(path.join(cwd, 'env.json'), 'utf8'))).toMatchObject({ RALPH_TASK: 'T' })
  })

  it('fails loudly when a step cannot be done', async () => {
    expect(
      await plays([{ write: { path: 'a', text: 'x' } }, { replace: { path: 'a', find: 'y', with: 'z' } }]),
    ).toMatchObject({ exit: 4, report: { tail: expect.stringContaining("'y' is not in a") } })
    expect(await plays([{ run: 'echo why >&2; exit 9' }])).toMatchObject({
      exit: 4,
      report: { tail: expect.stringContaining('exit code 9: why') },
    })
    expect(await plays([{ run: { command: 'exit 9', mayFail: true } }, { say: 'on' }])).toMatchObject({
      exit: 0,
      report: { message: 'on' },
    })
  })

  it('runs commands with and without their output', async () => {
    const { report } = await plays([
      { run: 'echo hidden' },
      { run: { command: 'echo shown', show: true } },
      { run: { command: ['echo', 'a b', '$HOME'], show: true } },
    ])
    expect(report.message).toBe('shown\na b $HOME')
  })

  it('commits given paths or all, and uses git like an agent would', async () => {
    const { cwd, git } = repository()
    const { exit } = await plays(
      [
        { write: { path: 'a.txt', text: 'a' } },
        { write: { path: 'b.txt', text: 'b' } },
        { commit: { message: 'only {{task}}', paths: ['a.txt'] } },
        { git: 'switch --quiet --create other' },
        { commit: 'the rest' },
      ],
      { RALPH_TASK: 'a' },
      cwd,
    )
    expect(exit).toBe(0)
    expect(git('log', '--format=%s', '--name-only', 'main..other')).toBe('the rest\n\nb.txt')
    expect(git('log', '-1', '--format=%s %an', 'main')).toBe('only a Scripted Agent')
    expect(git('status', '--short')).toBe('')
  })
})

describe('scripted: ending badly', () => {
  it('exits, crashes and dies as told', async () => {
    expect(await plays([{ exit: 42 }])).toMatchObject({ exit: 42 })
    expect(await plays([{ crash: 'boom' }])).toMatchObject({
      exit: 1,
      report: { tail: expect.stringContaining('boom') },
    })
    expect(await plays(['segfault'])).toMatchObject({ exit: null, killed: 'SIGSEGV' })
  })

  it('hangs for a while, silently or not', async () => {
    expect(await plays([{ hang: 50 }, { say: 'awake' }])).toMatchObject({
      exit: 0,
      report: { message: 'awake' },
    })
    expect((await plays([{ hang: { ms: 50, every: 10, noise: 'still here' } }])).report.message).toBe(
      Array(5).fill('still here').join('\n'),
    )
  })

  it('hangs for ever until it is killed; deaf, it does not hear TERM', async () => {
    const { cwd } = await plays([])
    const child = (steps: unknown[]) => startScript(cwd, steps)
    const plain = await child([{ say: 'ready' }, 'hang'])
    plain.kill('SIGTERM')
    expect(await plain.ended).toBe('SIGTERM')
    const deaf = await child([{ hang: { deaf: true, noise: 'ready', every: 10 } }])
    deaf.kill('SIGTERM')
    await deaf.output('ready\nready\nready')
    deaf.kill('SIGKILL')
    expect(await deaf.ended).toBe('SIGKILL')
  })

  it('starts children that outlive it: deaf to TERM, holding stdout, or a daemon', async () => {
    const cwd = folder()
    const ms = 20_000
    const { exit } = await plays(
      [
        { child: { kind: 'deaf', ms, pidFile: 'deaf.pid' } },
        { child: { kind: 'daemon', ms, pidFile: 'daemon.pid' } },
        { 'wait-for': 'deaf.pid' },
        { 'wait-for': 'daemon.pid' },
        { sleep: 50 },
      ],
      {},
      cwd,
    )
    expect(exit).toBe(0)
    const [deaf, daemon] = [pidIn(cwd, 'deaf.pid'), pidIn(cwd, 'daemon.pid')]
    try {
      process.kill(deaf, 'SIGTERM')
      await new Promise(resolve => setTimeout(resolve, 100))
      expect([alive(deaf), alive(daemon)]).toEqual([true, true])
      expect(session(daemon)).not.toBe(session(process.pid))
    } finally {
      process.kill(deaf, 'SIGKILL')
      process.kill(daemon, 'SIGKILL')
    }

    const holder = await startScript(cwd, [
      { child: { kind: 'holds-stdout', ms, pidFile: 'holder.pid' } },
      { 'wait-for': 'holder.pid' },
      { sleep: 50 },
      { say: 'gone' },
    ])
    expect(await holder.ended).toBe(0)
    expect(holder.closed()).toBe(false)
    process.kill(pidIn(cwd, 'holder.pid'), 'SIGKILL')
    await holder.close
  })

  it('waits for a file to appear, and not for ever', async () => {
    const cwd = folder()
    const waiting = await startScript(cwd, [{ say: 'ready' }, { 'wait-for': 'go' }, { say: 'went' }])
    mkdirSync(path.join(cwd, 'go'))
    await waiting.output('went')
    expect(await waiting.ended).toBe(0)
    expect(await plays([{ 'wait-for': { path: 'never', ms: 40 } }])).toMatchObject({ exit: 5 })
  })
})

type Started = {
  kill(signal: NodeJS.Signals): void
  /** The exit code, or the signal that ended it. */
  ended: Promise<number | string | null>
  close: Promise<unknown>
  closed(): boolean
  /** Resolves when this has been printed. */
  output(text: string): Promise<void>
}

/** Starts a script and waits until it has printed something or ended. */
async function startScript(cwd: string, steps: unknown[]): Promise<Started> {
  const child = spawn(process.execPath, [program(), writeScript(cwd, steps)], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  let closed = false
  child.stdout.on('data', chunk => {
    printed += String(chunk)
  })
  const ended = new Promise<number | string | null>(resolve =>
    child.on('exit', (code, signal) => resolve(code ?? signal)),
  )
  const close = once(child, 'close').then(() => {
    closed = true
  })
  const output = async (text: string) => {
    while (!printed.includes(text))
      await Promise.race([
        once(child.stdout, 'data'),
        close.then(() => Promise.reject(new Error(`ended after: ${printed}`))),
      ])
  }
  await Promise.race([once(child.stdout, 'data'), ended])
  return { kill: signal => process.kill(child.pid ?? 0, signal), ended, close, closed: () => closed, output }
}

function pidIn(cwd: string, file: string): number {
  return Number(readFileSync(path.join(cwd, file), 'utf8'))
}

/** A zombie is not alive. */
function alive(pid: number): boolean {
  return /^[^Z]/u.test(listed(pid, 'stat'))
}

function session(pid: number): string {
  return listed(pid, 'sid')
}

function listed(pid: number, column: string): string {
  return spawnSync('ps', ['-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8' }).stdout.trim()
}
