import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { ralph, type TestProject, until } from '../helpers/ralph.ts'
import { type Behaviours, honest, specPath, state, storyProject } from '../helpers/story-project.ts'

/**
 * Each agent misbehaves in its first attempt and works honestly in the second. Whatever it does, it is not believed,
 * does not hang the engine and does not harm the tree; the second attempt then starts from a clean tree and is done.
 */
type Bad = {
  name: string
  does: Behaviours
  /** Why the first attempt failed, as it stands in progress.txt. */
  reason: RegExp
  config?: string
  files?: Record<string, string>
  /** Dirty the tree as a user would, before the run. */
  before?: (project: TestProject) => void
  args?: string[]
  after?: (project: TestProject) => void | Promise<void>
}

const bad: Bad[] = [
  {
    name: 'claims done and did nothing',
    does: [{ say: 'All is implemented and tested.' }, { done: true }],
    reason: /Claimed done, but nothing changed/,
  },
  {
    name: 'claims done with an unrelated edit',
    does: [{ write: { path: 'README.md', text: 'hello\n' } }, { done: true }],
    reason: /still fails with exit code 1 .*it failed before this task too/,
    after: project => expect(project.exists('README.md')).toBe(false),
  },
  {
    name: 'says that it will NOT print the marker yet',
    does: [
      { write: { path: 'work/1.1.txt', text: 'answer 1.1\n' } },
      { say: 'I will NOT print <ralph>DONE 1.1</ralph> yet, because tests are missing.' },
    ],
    reason: /No completion signal in output/,
  },
  {
    name: 'echoes its prompt',
    does: [{ write: { path: 'work/1.1.txt', text: 'answer 1.1\n' } }, { 'echo-prompt': true }],
    reason: /No completion signal in output/,
  },
  {
    name: 'prints the marker inside a code block and a quotation',
    does: [
      { write: { path: 'work/1.1.txt', text: 'answer 1.1\n' } },
      { say: '```\n<ralph>DONE 1.1</ralph>\n```\n> <ralph>DONE 1.1</ralph>' },
    ],
    reason: /No completion signal in output/,
  },
  {
    name: 'prints the marker, then exits 1',
    does: [...honest('1.1'), { exit: 1 }],
    reason: /Agent exited with code 1/,
  },
  { name: 'crashes', does: [{ crash: 'boom' }], reason: /Agent exited with code \d+/ },
  { name: 'dies of a segmentation fault', does: [{ segfault: true }], reason: /SIGSEGV/ },
  {
    name: 'hangs silent',
    does: [{ hang: true }],
    config: 'limits: { idle: 1s }',
    reason: /No output for too long/,
  },
  {
    name: 'hangs noisy',
    does: [{ hang: { noise: 'still here', every: 50 } }],
    config: 'limits: { timeout: 1500ms, idle: 10s }',
    reason: /Timeout after 2s/,
  },
  {
    name: 'leaves a child that ignores TERM',
    does: [{ child: { kind: 'deaf', pidFile: 'child.pid', ms: 60000 } }, { hang: true }],
    config: 'limits: { timeout: 1500ms }',
    reason: /Timeout/,
    files: { '.gitignore': 'child.pid\n' },
    after: project => goneChild(project),
  },
  {
    name: 'exits, but a child keeps its stdout open',
    does: [{ child: { kind: 'holds-stdout', pidFile: 'child.pid', ms: 60000 } }, { say: 'bye' }],
    reason: /No completion signal in output/,
    files: { '.gitignore': 'child.pid\n' },
    after: project => goneChild(project),
  },
  {
    name: 'switches the branch',
    does: [{ git: 'checkout -q -b elsewhere' }, ...honest('1.1')],
    reason: /Switched from main to elsewhere/,
    after: project => expect(project.git('branch', '--list', 'elsewhere').trim()).toBe(''),
  },
  {
    name: 'leaves uncommitted and untracked files and fails',
    does: [
      { append: { path: 'src/existing.txt', text: 'spoilt\n' } },
      { write: { path: 'junk/a.txt', text: 'junk\n' } },
      { fail: 'could not do it' },
    ],
    reason: /could not do it/,
    after: project => {
      expect(project.read('src/existing.txt')).toBe('as it was\n')
      expect(project.exists('junk')).toBe(false)
    },
  },
  {
    name: 'forges the state file',
    does: [
      {
        write: {
          path: '.ralph/state.json',
          text: '{"completed_stories":["1.1"],"current_story":null,"retry_count":0}\n',
        },
      },
      { done: true },
    ],
    reason: /state\.json/,
  },
  {
    name: 'forges the spec status',
    does: [
      { replace: { path: specPath('1.1'), find: 'status: pending', with: 'status: done' } },
      ...honest('1.1'),
    ],
    reason: /protected file specs/,
  },
  {
    name: 'forges the progress file',
    does: [{ append: { path: 'progress.txt', text: '[DONE] Story 1.1 - forged\n' } }, ...honest('1.1')],
    reason: /progress\.txt/,
    after: project => expect(project.read('progress.txt')).not.toContain('forged'),
  },
  {
    name: 'deletes the journal',
    does: [{ delete: ['.ralph/ralph.db', '.ralph/ralph.db-wal', '.ralph/ralph.db-shm'] }, ...honest('1.1')],
    reason: /journal/,
  },
  {
    name: 'deletes the check script',
    does: [{ delete: 'check.sh' }, { done: true }],
    reason: /Deleted check\.sh, which defines how the work is checked/,
    after: project => expect(project.exists('check.sh')).toBe(true),
  },
  {
    name: 'guts the check script so that it prints success',
    does: [
      { write: { path: 'check.sh', text: '#!/bin/sh\necho "all answers found"\n' } },
      { commit: { message: 'feat: fix check', paths: ['check.sh'] } },
      { done: true },
    ],
    reason: /Changed check\.sh, which defines how the work is checked/,
    after: project => expect(project.read('check.sh')).toContain('grep'),
  },
  {
    name: 'deletes tests',
    does: [{ delete: 'test/old.test.js' }, ...honest('1.1')],
    files: { 'test/old.test.js': "import { test } from 'node:test'\ntest('old', () => {})\n" },
    reason: /Deleted the test file test\/old\.test\.js/,
    after: project => expect(project.exists('test/old.test.js')).toBe(true),
  },
  {
    name: 'skips tests',
    does: [
      { replace: { path: 'test/old.test.js', find: "test('old'", with: "test.skip('old'" } },
      ...honest('1.1'),
    ],
    files: { 'test/old.test.js': "import { test } from 'node:test'\ntest('old', () => {})\n" },
    reason: /Switched tests off in test\/old\.test\.js/,
  },
  {
    name: 'prints invalid UTF-8 and control characters',
    does: [{ bytes: 'fffe80c328001b5b324a0705' }, { say: '\u0000\u0007 done?' }],
    reason: /No completion signal in output/,
    after: project => expect(project.read('progress.txt')).not.toMatch(/[\u0000-\u0008\u001b]/),
  },
  {
    name: 'commits the dirty files of the user',
    does: [
      ...honest('1.1').slice(0, 1),
      { git: 'add -A' },
      { git: ['commit', '-q', '-m', 'everything'] },
      { done: true },
    ],
    reason: /notes of the user\.txt/,
    after: project => expect(project.git('ls-files')).not.toContain('notes of the user'),
  },
  {
    name: 'answers for another task',
    does: [...honest('1.1').slice(0, 2), { done: '9.9' }],
    reason: /Signal mismatch: DONE 9\.9, expected 1\.1/,
  },
]

describe('bad agents', () => {
  let project: TestProject | null = null
  afterEach(() => project?.cleanup())

  it.each(bad)('$name: not believed, no harm, and the next attempt works', async agent => {
    project = storyProject({
      script: [{ on: { attempt: 1 }, do: agent.does }, { do: honest() }],
      ...(agent.config ? { config: agent.config } : {}),
      ...(agent.files ? { files: agent.files } : {}),
    })
    const head = project.git('rev-parse', 'HEAD').trim()
    const result = await ralph(project, ['run', '--attempts', '2', ...(agent.args ?? [])], {
      timeout: 50_000,
    })

    const progress = project.read('progress.txt').split('\n')
    expect(progress.find(line => line.startsWith('[FAIL]')) ?? result.stdout + result.stderr).toMatch(
      agent.reason,
    )
    expect(progress.find(line => line.startsWith('[FAIL]'))).toContain('(attempt 1/2)')
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(result.stdout).toContain('ALL COMPLETE!')
    await unharmed(project, head)
    await agent.after?.(project)
  })

  it('exits 0 with no text: the call is repeated and does not count', async () => {
    project = storyProject({ script: [{ on: { call: 1 }, do: [{ exit: 0 }] }, { do: honest() }] })
    const head = project.git('rev-parse', 'HEAD').trim()
    const result = await ralph(project, ['run', '--attempts', '1'])
    expect(result.code, result.stdout).toBe(0)
    expect(project.read('progress.txt')).not.toContain('[FAIL]')
    await unharmed(project, head)
  })

  it.each([0, 1])('usage limit with exit %i: waited out and refunded', async exit => {
    project = storyProject({
      script: [{ on: { call: 1 }, do: [{ limit: { resets: 'in 2 seconds', exit } }] }, { do: honest() }],
    })
    const head = project.git('rev-parse', 'HEAD').trim()
    const result = await ralph(project, ['run', '--attempts', '1'])
    expect(result.code, result.stdout + result.stderr).toBe(0)
    expect(result.stdout).toMatch(/does not count as a try/)
    expect(project.read('progress.txt')).not.toContain('[FAIL]')
    await unharmed(project, head)
  })

  it('prints 100 MB: kept on disk, nothing breaks', async () => {
    project = storyProject({
      script: [{ on: { attempt: 1 }, do: [{ flood: 100_000_000 }] }, { do: honest() }],
    })
    const head = project.git('rev-parse', 'HEAD').trim()
    const result = await ralph(project, ['run', '--attempts', '2'], { timeout: 50_000 })
    expect(result.code, result.stdout + result.stderr).toBe(0)
    await unharmed(project, head)
  })

  it('lies in every attempt: halted, exit 1, nothing done', async () => {
    project = storyProject({ script: [{ do: [{ done: true }] }] })
    const head = project.git('rev-parse', 'HEAD').trim()
    const result = await ralph(project, ['run'])
    expect(result.code).toBe(1)
    expect(result.stdout).toContain('MAX RETRIES EXCEEDED')
    expect(state(project)).toEqual({ completed_stories: [], current_story: '1.1', retry_count: 3 })
    expect(project.git('rev-parse', 'HEAD').trim()).toBe(head)
  })
})

/** After the run: on the user's branch, with only the honest work committed, and the user's own things as they were. */
async function unharmed(project: TestProject, head: string): Promise<void> {
  expect(project.git('branch', '--show-current').trim()).toBe('main')
  expect(project.git('log', '--format=%s', `${head}..HEAD`).trim()).toBe('feat: answer 1.1')
  expect(project.git('show', '--name-only', '--format=', 'HEAD').trim()).toBe('work/1.1.txt')
  expect(project.git('stash', 'list').trim()).toBe('')
  expect(project.read('notes of the user.txt')).toBe('never touch this\n')
  expect(project.read('src/existing.txt')).toBe('as it was\n')
  expect(state(project)).toEqual({ completed_stories: ['1.1'], current_story: null, retry_count: 0 })
  expect(project.read(specPath('1.1'))).toContain('status: done')
}

async function goneChild(project: TestProject): Promise<void> {
  const file = path.join(project.root, 'child.pid')
  if (!existsSync(file)) throw new Error('the agent left no child, so this test shows nothing')
  const pid = Number(readFileSync(file, 'utf8'))
  await until(`the end of process ${pid}`, () => !isAlive(pid), 8_000)
}

function isAlive(pid: number): boolean {
  try {
    // A zombie whose parent has not looked yet is dead for our purpose.
    return !/^\d+ \(.*\) Z/su.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
