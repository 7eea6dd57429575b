import { existsSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type Preset, presets } from './presets.ts'
import { ralph, type TestProject, until } from './ralph.ts'
import type { Behaviours } from './story-project.ts'

/**
 * The bad agents of bad-agents.test.ts, on the other four presets: in its first call the agent that does the work
 * misbehaves, then all are honest. Whatever it does, it is not believed, does not hang the engine and does not harm the
 * tree, and the task is done in the end.
 */
type Bad = {
  name: string
  does: (preset: Preset) => Behaviours
  /** Why the first call was not enough, as the log tells it. */
  reason: (preset: Preset) => RegExp
  config?: string
  files?: Record<string, string>
  after?: (project: TestProject, preset: Preset) => void | Promise<void>
}

/** Outside of every project: the folder an agent worked in may be gone by then. */
const childFile = path.join(os.tmpdir(), `ralph-bad-child-${process.pid}.pid`)

const oldTest = "import { test } from 'node:test'\ntest('old', () => {})\n"

const bad: Bad[] = [
  { name: 'claims done and did nothing', does: preset => preset.claim, reason: preset => preset.nothingDone },
  {
    name: 'claims done with an unrelated edit',
    does: preset => [
      { write: { path: 'README.md', text: 'hello\n' } },
      { commit: { message: 'docs: hello', paths: ['README.md'] } },
      ...preset.claim,
    ],
    reason: () => /still fails with exit code 1/,
  },
  {
    name: 'does the work, then exits 1',
    does: preset => [...preset.works, { exit: 1 }],
    reason: () => /Agent exited with code 1/,
  },
  { name: 'crashes', does: () => [{ crash: 'boom' }], reason: () => /Agent exited with code \d+/ },
  { name: 'dies of a segmentation fault', does: () => [{ segfault: true }], reason: () => /SIGSEGV/ },
  {
    name: 'hangs silent',
    does: () => [{ hang: true }],
    config: 'limits: { idle: 1s }',
    reason: () => /No output for too long/,
  },
  {
    name: 'hangs noisy and leaves a child that ignores TERM',
    does: () => [
      { child: { kind: 'deaf', pidFile: childFile, ms: 60000 } },
      { hang: { noise: 'still here', every: 50 } },
    ],
    config: 'limits: { timeout: 1500ms, idle: 10s }',
    reason: () => /Timeout/,
    after: goneChild,
  },
  {
    name: 'exits 1, but a child keeps its stdout open',
    does: () => [{ child: { kind: 'holds-stdout', pidFile: childFile, ms: 60000 } }, { exit: 1 }],
    reason: () => /Agent exited with code 1/,
    after: goneChild,
  },
  {
    name: 'switches the branch',
    does: preset => [{ git: 'checkout -q -b elsewhere' }, ...preset.works],
    reason: () => /Switched from \S+ to elsewhere/,
    // In a worktree of its own other branches are not its business: people and agents work elsewhere at the same time.
    after: (project, preset) => {
      if (preset.name !== 'pipeline') expect(project.git('branch', '--list', 'elsewhere').trim()).toBe('')
    },
  },
  {
    name: 'leaves uncommitted and untracked files and fails',
    does: () => [
      { append: { path: 'src/existing.txt', text: 'spoilt\n' } },
      { write: { path: 'junk/a.txt', text: 'junk\n' } },
      { exit: 3 },
    ],
    reason: () => /Agent exited with code 3/,
    after: (project, preset) => {
      if (preset.keeps) return
      expect(project.read('src/existing.txt')).toBe('as it was\n')
      expect(project.exists('junk')).toBe(false)
    },
  },
  {
    name: 'forges the state of the preset',
    does: preset => [...preset.works, ...preset.forge],
    reason: preset => preset.forged,
  },
  {
    name: 'deletes the check script',
    does: preset => [{ delete: 'check.sh' }, ...preset.claim],
    reason: () => /check\.sh, which defines how the work is checked|No commit detected/,
    after: project => expect(project.exists('check.sh')).toBe(true),
  },
  {
    name: 'guts the check script so that it prints success',
    does: preset => [
      { write: { path: 'check.sh', text: '#!/bin/sh\necho "the work is there"\n' } },
      { commit: { message: 'fix: check', paths: ['check.sh'] } },
      ...preset.claim,
    ],
    reason: () => /Changed check\.sh, which defines how the work is checked/,
    after: project => expect(project.read('check.sh')).toContain('exit 1'),
  },
  {
    name: 'deletes tests',
    does: preset => [{ delete: 'test/old.test.js' }, ...preset.works],
    files: { 'test/old.test.js': oldTest },
    reason: () => /Deleted the test file test\/old\.test\.js/,
    after: project => expect(project.exists('test/old.test.js')).toBe(true),
  },
  {
    name: 'skips tests',
    does: preset => [
      { replace: { path: 'test/old.test.js', find: "test('old'", with: "test.skip('old'" } },
      ...preset.works,
    ],
    files: { 'test/old.test.js': oldTest },
    reason: () => /Switched tests off in test\/old\.test\.js/,
  },
  {
    name: 'prints invalid UTF-8, control characters and 5 MB, then fails',
    does: () => [{ bytes: 'fffe80c328001b5b324a0705' }, { flood: 5_000_000 }, { exit: 1 }],
    reason: () => /Agent exited with code 1/,
  },
]

/** A file per preset, so that they can run side by side. */
export function badAgents(name: Preset['name']): void {
  const preset = presets.find(one => one.name === name)
  if (!preset) throw new Error(`no preset ${name}`)
  describe(`bad agents in the preset ${name}`, () => misbehave(preset))
}

function misbehave(preset: Preset): void {
  let project: TestProject | null = null
  afterEach(() => project?.cleanup())

  it.each(bad)('$name: not believed, no harm, and the work is done in the end', async agent => {
    const { config, files } = agent
    project = preset.make([{ on: { call: 1 }, do: agent.does(preset) }, ...preset.honest()], {
      ...(config ? { config } : {}),
      files: { 'honest.json': JSON.stringify(preset.honest()), ...files },
    })
    const first = await ralph(project, ['run'], { timeout: 50_000 })
    // In Ralph's own words: what a preset prints itself is another matter.
    const logs = project.read('ralph.log')
    expect(logs, first.stdout + first.stderr).toMatch(agent.reason(preset))
    const last = preset.stays
      ? await ralph(project, ['run', '--resume', '--script', 'honest.json'], { timeout: 50_000 })
      : first
    expect(last.code, `${first.stdout}${last.stdout}${last.stderr}${logs}`).toBe(0)
    await unharmed(project, preset)
    await agent.after?.(project, preset)
  })

  it('exits 0 with no text: the call is repeated and does not count', async () => {
    project = preset.make([{ on: { call: 1 }, do: [{ exit: 0 }] }, ...preset.honest()])
    const { code, stdout, stderr } = await ralph(project, ['run', '--attempts', '1'])
    expect(code, stdout + stderr).toBe(0)
    await unharmed(project, preset)
  })

  it.each([0, 1])('usage limit with exit %i: waited out and refunded', async exit => {
    project = preset.make([
      { on: { call: 1 }, do: [{ limit: { resets: 'in 2 seconds', exit } }] },
      ...preset.honest(),
    ])
    const { code, stdout, stderr } = await ralph(project, ['run', '--attempts', '1'])
    expect(code, stdout + stderr).toBe(0)
    expect(project.read('ralph.log')).toContain('does not count as a try')
    await unharmed(project, preset)
  })

  it('commits the dirty files of the user: undone, and they stay his', async () => {
    project = preset.make(
      [
        {
          on: { call: 1 },
          do: [
            { git: 'add -A' },
            { git: ['commit', '-q', '--allow-empty', '-m', 'everything'] },
            ...preset.works,
          ],
        },
        ...preset.honest(),
      ],
      { files: { 'honest.json': JSON.stringify(preset.honest()) } },
    )
    const first = await ralph(project, ['run'], { timeout: 50_000 })
    const last = preset.stays
      ? await ralph(project, ['run', '--resume', '--script', 'honest.json'], { timeout: 50_000 })
      : first
    expect(last.code, first.stdout + last.stdout + last.stderr).toBe(0)
    expect(project.git('ls-files')).not.toContain('notes of the user')
    await unharmed(project, preset)
  })

  it('lies in every call: never done, exit 1', async () => {
    const lies = [{ on: { stage: preset.writer }, do: preset.claim }, ...preset.honest()]
    project = preset.make(lies, { config: 'limits: { iterations: 12, requeues: 0 }' })
    const head = project.git('rev-parse', 'HEAD').trim()
    const { code } = await ralph(project, ['run', '--attempts', '2'], { timeout: 50_000 })
    expect(code).toBe(1)
    expect(preset.isDone(project)).toBe(false)
    expect(project.git('rev-parse', 'HEAD').trim()).toBe(head)
  })
}

/** After the run: on the user's branch, the work committed, and the user's own things as they were. */
async function unharmed(project: TestProject, preset: Preset): Promise<void> {
  expect(project.git('branch', '--show-current').trim()).toBe('main')
  expect(project.git('ls-tree', '-r', '--name-only', 'HEAD')).toContain(preset.work)
  expect(project.git('stash', 'list').trim()).toBe('')
  expect(project.read('notes of the user.txt')).toBe('never touch this\n')
  expect(project.git('ls-files')).not.toContain('notes of the user')
  if (!preset.keeps) expect(project.read('src/existing.txt')).toBe('as it was\n')
  expect(preset.isDone(project)).toBe(true)
}

async function goneChild(): Promise<void> {
  if (!existsSync(childFile)) throw new Error('the agent left no child, so this test shows nothing')
  const pid = Number(readFileSync(childFile, 'utf8'))
  rmSync(childFile)
  await until(`the end of process ${pid}`, () => !isAlive(pid), 8_000)
}

function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/su.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
