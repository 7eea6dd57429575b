import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { smallDisk } from '../contracts/store/mount.ts'
import { type FakeSandbox, fakeDocker, fakeSbx } from '../helpers/fake-sandbox/fake-sandbox.ts'
import { program, ralph, startRalph, type TestProject, until } from '../helpers/ralph.ts'
import { aStory, honestScript, mark, reviewedProject } from '../helpers/reviewed-project.ts'
import { honest, storyProject } from '../helpers/story-project.ts'

/** Where agents and gates run, through the whole program. */

let project: TestProject
let fake: FakeSandbox | null = null

afterEach(() => {
  fake?.end()
  fake = null
  project.cleanup()
})

/**
 * A project of two stories whose `claude` does what the loop's marker says, as it lies before it: in a box with copies
 * of the files that is the copy.
 */
function loop(stories = [aStory('US-001')]): { agents: string } {
  project = reviewedProject({ stories, files: { 'agent.json': JSON.stringify(honestScript()) } })
  project.write('ralph.config.yaml', 'preset: reviewed\nagent: claude\n')
  project.git('commit', '-qam', 'claude')
  const agents = path.join(project.home, 'agents')
  mkdirSync(agents)
  const scripted = path.join(path.dirname(program), 'scripted-agent.js')
  const script = `#!${process.execPath}
const { execFileSync } = require('node:child_process')
const { appendFileSync, mkdirSync, readFileSync } = require('node:fs')
const prompt = process.argv.includes('-p') && !process.argv[process.argv.indexOf('-p') + 1]?.startsWith('-')
  ? process.argv[process.argv.indexOf('-p') + 1] : readFileSync(0, 'utf8')
const active = JSON.parse(readFileSync('.ralph-active', 'utf8'))
mkdirSync('seen', { recursive: true })
appendFileSync('seen/calls', JSON.stringify({ active, args: process.argv.slice(2), prompt: prompt.length, pid: process.pid }) + '\\n')
execFileSync(process.execPath, [${JSON.stringify(path.resolve(scripted))}, 'agent.json'], {
  input: prompt, stdio: ['pipe', 'ignore', 'inherit'],
  env: { ...process.env, RALPH_STAGE: active.iterationMode, RALPH_TASK: active.storyId },
})
console.log(JSON.stringify({ type: 'result', subtype: 'success', is_error: false, result: 'done', session_id: 's', total_cost_usd: 0.01, usage: { input_tokens: 1, output_tokens: 1 } }))
`
  writeFileSync(path.join(agents, 'claude'), script, { mode: 0o755 })
  return { agents }
}

type Seen = { active: Record<string, unknown>; args: string[]; prompt: number; pid: number }

const calls = (): Seen[] =>
  project
    .read('seen/calls')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Seen)

describe('Docker sandboxes', () => {
  it('S1-13 S1-16 S1-T29 `--sandbox`: created once, each iteration a new process in it, and the loop comes to its end', async () => {
    const { agents } = loop([aStory('US-001'), aStory('US-002')])
    const made = fakeSbx(path.join(project.home, 'tool'), { path: `${agents}:${process.env.PATH}` })
    fake = made
    const env = { PATH: `${made.path}:${agents}:${process.env.PATH}` }
    const first = await ralph(project, ['run', '--sandbox', '--max-iterations', '1'], { env })
    expect(first.code, first.stdout + first.stderr).toBe(1)
    expect(first.stdout).toContain('sandbox: sbx')
    expect(mark(project)).toEqual([false, 'needs_review', 0])
    const rest = await ralph(project, ['run', '--sandbox'], { env, timeout: 60_000 })
    expect(rest.code, rest.stdout + rest.stderr).toBe(0)
    expect(mark(project, 'US-002')).toEqual([true, 'approved', 1])
    expect(made.called('create').filter(args => args[0] !== '--help')).toHaveLength(1)
    const seen = calls()
    expect(seen.map(one => one.active.iterationMode)).toEqual(['implement', 'review', 'implement', 'review'])
    expect(new Set(seen.map(one => one.pid)).size).toBe(4)
    // S1-18: the marker says where the loop runs.
    expect(new Set(seen.map(one => one.active.mode))).toEqual(new Set(['sandbox']))
    // The gates run what the agent wrote: in there as well.
    expect(made.called('exec').filter(args => args.join(' ').includes('check.sh')).length).toBeGreaterThan(2)
    expect(project.git('status', '--porcelain', '-uno')).toBe('')
  })

  it('C-42 S1-26 S1-50 a `docker sandbox` with copies of the files sees what the loop writes between iterations', async () => {
    const { agents } = loop()
    const made = fakeDocker(path.join(project.home, 'tool'), {
      path: `${agents}:${process.env.PATH}`,
      files: 'synced',
      syncDelay: 800,
    })
    fake = made
    const env = { PATH: `${made.path}:${agents}:${process.env.PATH}` }
    const result = await ralph(project, ['run', '--sandbox', 'sbx'], { env, timeout: 120_000 })
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(mark(project)).toEqual([true, 'approved', 1])
    const seen = calls()
    expect(seen.map(one => one.active.iterationMode)).toEqual(['implement', 'review'])
    const snapshot = seen[1]?.active.preIterationSnapshot as Record<string, unknown>
    expect(snapshot['US-001']).toMatchObject({ reviewStatus: 'needs_review' })
    // S1-13: the template skips permissions, so nobody passes it.
    const runs = made.called('run')
    expect(runs.length).toBeGreaterThan(0)
    for (const args of runs) expect(args).not.toContain('--dangerously-skip-permissions')
    expect(made.called('create')).toHaveLength(1)
  })
})

it.each([
  ['sbx', '--sandbox read-only'],
  ['bubblewrap', '--dangerously-bypass-approvals-and-sandbox'],
])(
  'a reviewer in a box of %s is held by the box, or else by the rules of its CLI: codex gets %s',
  async (use, given) => {
    project = storyProject({ script: [{ do: honest() }], config: '' })
    const agents = path.join(project.home, 'agents')
    mkdirSync(agents)
    // It tells what it was started with, and judges.
    writeFileSync(
      path.join(agents, 'codex'),
      `#!/bin/sh\n[ "$1" = exec ] || { echo codex-cli 1.0; exit; }\ncat > /dev/null\nprintf '%s\\n' "{\\"type\\":\\"item.completed\\",\\"item\\":{\\"id\\":\\"1\\",\\"type\\":\\"agent_message\\",\\"text\\":\\"started with $*\\"}}"\n`,
      { mode: 0o755 },
    )
    const made = fakeSbx(path.join(project.home, 'tool'), { path: `${agents}:${process.env.PATH}` })
    fake = made
    project.write(
      'ralph.config.yaml',
      JSON.stringify({
        preset: 'reads',
        extends: 'stories',
        agent: 'codex',
        verify: 'true',
        sandbox: use,
        start: 'look',
        stages: {
          look: {
            kind: 'agent',
            role: 'reviewer',
            may: 'read',
            prompt: 'story',
            on: { pass: 'implement', fail: 'exhausted' },
          },
        },
      }),
    )
    project.git('commit', '-qam', 'a reader')
    const env = { PATH: `${made.path}:${agents}:${process.env.PATH}` }
    const run = await ralph(project, ['run', '--attempts', '1'], { env, timeout: 60_000 })
    const { stdout } = await ralph(project, ['show', '--output'], { env })
    expect(stdout, run.stdout + run.stderr).toContain('started with exec --json')
    expect(stdout).toContain(given)
  },
)

describe('bubblewrap', () => {
  const boxed = { env: { RALPH_SANDBOX: 'bubblewrap' }, timeout: 60_000 }

  it('an agent and a gate reach neither the home folder, nor the rest of the machine, nor Ralph’s own state', async () => {
    const lines = [
      'cat "$HOME/secret"',
      'rm -rf .ralph/runs',
      'echo "[alias]" >> .git/config',
      'echo "#!/bin/sh" > .git/hooks/post-commit',
      `cat ../canary.txt`,
    ]
    const tries = lines.map((line, number) => `(${line}) > /dev/null 2>&1 && echo ${number} >> found.txt`)
    project = storyProject({
      script: [{ do: [{ run: 'sh tries.sh' }, ...honest()] }],
      verify: 'sh tries.sh',
      config: '',
      files: {
        'tries.sh': `${tries.join('\n')}\necho out > "$HOME/../outside.txt"\ntrue\n`,
        '.gitignore': 'found.txt\n',
      },
    })
    writeFileSync(path.join(project.home, 'secret'), 'token\n')
    writeFileSync(path.join(path.dirname(project.root), 'canary.txt'), 'of the user\n')
    const config = project.read('ralph.config.yaml')
    project.write('ralph.config.yaml', config.replace('sandbox: none', 'sandbox: auto'))
    project.git('commit', '-qam', 'auto')
    const before = project.read('.git/config')
    const result = await ralph(project, ['run'], boxed)
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(result.stdout).toMatch(/sandbox: bubblewrap .*home folder is hidden/)
    expect(project.exists('found.txt') ? project.read('found.txt') : '').toBe('')
    expect(existsSync(path.join(path.dirname(project.root), 'outside.txt'))).toBe(false)
    expect(project.read('.git/config')).toBe(before)
    expect(existsSync(path.join(project.root, '.git/hooks/post-commit'))).toBe(false)
    expect(readdirSync(path.join(project.root, '.ralph/runs'))).not.toHaveLength(0)
  })

  it('a gate that needs something outside is red, and the way on is told; `gates: outside` lets it', async () => {
    project = storyProject({ script: [{ do: honest() }], config: '', verify: 'cat "$HOME/fixture"' })
    writeFileSync(path.join(project.home, 'fixture'), 'x\n')
    const config = project.read('ralph.config.yaml')
    const run = async (sandbox: string) => {
      project.write('ralph.config.yaml', config.replace('sandbox: none', `sandbox: ${sandbox}`))
      project.git('commit', '-qam', 'sandbox')
      return ralph(project, ['run', '--attempts', '1'], { timeout: 60_000 })
    }
    const inside = await run('bubblewrap')
    expect(inside.stdout).toMatch(
      /is red in the sandbox before the task; where it is green outside, name what it needs/,
    )
    const outside = await run('{ use: bubblewrap, gates: outside }')
    expect(outside.code, outside.stdout + outside.stderr).toBe(0)
    expect(outside.stdout).not.toContain('is red in the sandbox')
  })

  it('`ralph verify` proves again in a box, too', async () => {
    project = storyProject({ script: [{ do: honest() }], config: '', verify: 'test ! -e "$HOME/secret"' })
    writeFileSync(path.join(project.home, 'secret'), 'token\n')
    const config = project.read('ralph.config.yaml')
    project.write('ralph.config.yaml', config.replace('sandbox: none', 'sandbox: bubblewrap'))
    project.git('commit', '-qam', 'boxed')
    expect((await ralph(project, ['run'], boxed)).code).toBe(0)
    const inside = await ralph(project, ['verify', '--all'])
    expect(inside.code, inside.stdout + inside.stderr).toBe(0)
    project.write('ralph.config.yaml', config)
    expect((await ralph(project, ['verify', '--all'])).code).toBe(1)
  })

  it('G-11 H-30 when the engine is killed with -9 even a daemon is gone at once, and the next run goes on', async () => {
    const daemon = "setsid sh -c 'while :; do echo x >> beat; sleep 0.1; done' > /dev/null 2>&1 &"
    project = storyProject({
      script: [{ do: [{ run: `[ -e beat ] || { ${daemon} sleep 60; }` }, ...honest()] }],
      config: '',
      files: { '.gitignore': 'beat\n' },
    })
    const running = startRalph(project, ['run', '--sandbox', 'bubblewrap'])
    await until('the daemon', () => project.exists('beat'))
    running.kill('SIGKILL')
    await running.ended
    await new Promise(resolve => setTimeout(resolve, 1_000))
    const beats = project.read('beat')
    await new Promise(resolve => setTimeout(resolve, 500))
    expect(project.read('beat')).toBe(beats)
    const next = await ralph(project, ['run', '--sandbox', 'bubblewrap'], { timeout: 60_000 })
    expect(next.code, next.stdout + next.stderr).toBe(0)
    expect(next.stdout).toContain('an earlier run was cut off')
  })

  it('with no room for it the disk that is full is named, and nothing is started', async () => {
    project = storyProject({ script: [{ do: honest() }], config: '' })
    const disk = smallDisk(1)
    try {
      writeFileSync(path.join(disk.folder, 'filler'), Buffer.alloc(1024 * 1024 - 16 * 1024))
      for (let n = 0; n < 8; n++)
        try {
          writeFileSync(path.join(disk.folder, `filler-${n}`), Buffer.alloc(4096))
        } catch {}
      const env = { TMPDIR: disk.folder }
      const full = await ralph(project, ['run', '--sandbox', 'bubblewrap'], { env })
      expect(full.code, full.stdout).toBe(1)
      expect(full.stderr).toContain(`the disk of ${disk.folder} is full`)
      expect(full.stdout).not.toContain('attempt 1')
    } finally {
      disk.remove()
    }
    const again = await ralph(project, ['run', '--sandbox', 'bubblewrap'], { timeout: 60_000 })
    expect(again.code, again.stdout + again.stderr).toBe(0)
  })

  it('what is refused is named once, with the way to allow it', async () => {
    const ask = `const { hostname, port } = new URL(process.env.HTTP_PROXY)
require('node:http').get({ hostname, port, path: 'http://example.invalid/x' }, answer => answer.resume())`
    project = storyProject({
      script: [{ do: [{ run: 'node ask.cjs; node ask.cjs' }, ...honest()] }],
      config: '',
      files: { 'ask.cjs': ask },
    })
    const result = await ralph(project, ['run', '--sandbox', 'bubblewrap'], { timeout: 60_000 })
    expect(result.code, result.stdout + result.stderr).toBe(0)
    const told = result.stdout.split('\n').filter(line => line.includes('example.invalid'))
    expect(told).toHaveLength(1)
    expect(told[0]).toMatch(/sandbox: refused example\.invalid/)
  })
})

it.each<[string, RegExp]>([
  [
    '{ use: bubblewrap, hosts: ["http://x.y/z"] }',
    /ralph\.config\.yaml:\d+: sandbox\.hosts\.0: expected example\.com/,
  ],
  ['{ use: bubblewrap, reads: [relative/x] }', /ralph\.config\.yaml:\d+: sandbox\.reads\.0: expected a path/],
  ['{ use: bubblewrap, writes: ["/"] }', /ralph\.config\.yaml:\d+: sandbox\.writes\.0: expected a path/],
  ['{ use: bubblewrap, gates: maybe }', /ralph\.config\.yaml:\d+: sandbox\.gates: /],
  ['7', /ralph\.config\.yaml:\d+: sandbox: /],
])('`sandbox: %s` is told with its line and field, by validate and by run', async (sandbox, told) => {
  project = storyProject({ script: [{ do: honest() }], config: '' })
  const config = project.read('ralph.config.yaml')
  project.write('ralph.config.yaml', config.replace('sandbox: none', `sandbox: ${sandbox}`))
  expect((await ralph(project, ['validate'])).stdout).toMatch(told)
  const run = await ralph(project, ['run'])
  expect(run.code).toBe(2)
  expect(run.stderr).toMatch(told)
})

it('a folder that holds the home is not opened, for then there is no sandbox', async () => {
  project = storyProject({ script: [{ do: honest() }], config: '' })
  const config = project.read('ralph.config.yaml')
  const above = path.dirname(project.home)
  project.write('ralph.config.yaml', config.replace('sandbox: none', `sandbox: { reads: [${above}] }`))
  project.git('commit', '-qam', 'all of it')
  expect((await ralph(project, ['validate'])).stdout).toContain('holds your whole home folder')
  const run = await ralph(project, ['run', '--sandbox', 'bubblewrap'])
  expect(run.code).toBe(2)
  expect(run.stderr).toContain(`sandbox: ${above} holds your whole home folder`)
  expect(project.exists('.ralph')).toBe(false)
})

describe('direct mode', () => {
  it('S1-34 `--no-sandbox` although a sandbox works here: the agent runs outside, its commands are looked at', async () => {
    const { agents } = loop()
    const env = { PATH: `${agents}:${process.env.PATH}` }
    const result = await ralph(project, ['run', '--no-sandbox'], { env })
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(result.stdout).not.toContain('sandbox: bubblewrap')
    const [first] = calls()
    expect(first?.active.mode).toBe('direct')
    expect(first?.args).toContain('--dangerously-skip-permissions')
    const settings = first?.args[(first?.args.indexOf('--settings') ?? -1) + 1] ?? ''
    const { hooks } = JSON.parse(settings) as { hooks: { PreToolUse: { hooks: { command: string }[] }[] } }
    const hook = hooks.PreToolUse[0]?.hooks[0]?.command ?? ''
    const asked = JSON.stringify({
      ...{ hook_event_name: 'PreToolUse', cwd: project.root, tool_name: 'Bash' },
      tool_input: { command: 'rm -rf ~' },
    })
    const answer = execFileSync('sh', ['-c', hook], { input: asked, encoding: 'utf8' })
    expect(JSON.parse(answer).hookSpecificOutput.permissionDecision).toBe('deny')
  })
})
