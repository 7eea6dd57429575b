import { afterEach, describe, expect, it } from 'vitest'
import { judgeToday, lastTouches, type Today } from '../../src/commands/verify-judge.ts'
import type { Evidence } from '../../src/core/evidence.ts'
import { newTaskState, type TaskState } from '../../src/core/state.ts'
import { gate } from '../helpers/journal.ts'
import { ralph, type TestProject } from '../helpers/ralph.ts'
import { honest, storyProject } from '../helpers/story-project.ts'

describe('ralph verify', () => {
  let project: TestProject

  afterEach(() => project.cleanup())

  async function finished(script = [{ do: honest() }]): Promise<void> {
    // Counts how often the gate runs; the file lies outside, so that it changes nothing.
    project = storyProject({ script, stories: ['1.1', '1.2'] })
    project.write(
      'ralph.config.yaml',
      project
        .read('ralph.config.yaml')
        .replace('sh check.sh', `echo x >> ${project.home}/count; sh check.sh`),
    )
    project.git('commit', '-qam', 'count')
    expect((await ralph(project, ['run'])).code).toBe(0)
    project.write('../home/count', '')
  }

  const snapshot = () => project.git('rev-parse', 'HEAD') + project.git('status', '--porcelain')

  it('runs each command once for all tasks, says that all hold, and changes nothing', async () => {
    await finished()
    const was = snapshot()
    const events = (await ralph(project, ['logs', '--json'])).stdout
    const { code, stdout } = await ralph(project, ['verify', '--all'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/✓ 1\.1 .*: holds\n✓ 1\.2 .*: holds\n2 tasks verified again: all hold\n$/)
    expect(project.read('../home/count')).toBe('x\n')
    expect(snapshot()).toBe(was)
    expect((await ralph(project, ['logs', '--json'])).stdout).toBe(events)
  })

  it('says what no longer holds: gate, file, commit', async () => {
    await finished()
    project.git('rm', '-q', 'work/1.1.txt')
    project.git('commit', '-qm', 'oops')
    const red = await ralph(project, ['verify', '1.1'])
    expect(red.code).toBe(1)
    expect(red.stdout).toMatch(/✗ 1\.1 .*: no longer holds/)
    expect(red.stdout).toContain('✗ work/1.1.txt is gone')
    expect(red.stdout).toMatch(/✗ `.*sh check\.sh` is red: exit code 1/)
    expect(red.stdout).not.toContain('is not in the history')
    expect(red.stderr).toContain('what the gates printed: ')

    project.git('reset', '-q', '--hard', 'HEAD~3')
    const json = await ralph(project, ['verify', '--json'])
    expect(json.code).toBe(1)
    const { ok, tasks } = JSON.parse(json.stdout)
    expect(ok).toBe(false)
    expect(tasks[1]).toMatchObject({ id: '1.2', holds: false })
    expect(tasks[1].checks).toContainEqual({
      name: 'commit',
      holds: false,
      text: expect.stringContaining('is not in the history of HEAD'),
    })
  })

  it('refuses a task that is not done, and one that does not exist', async () => {
    project = storyProject({ script: [{ do: [{ fail: 'no' }] }], config: 'limits: { attempts: 1 }' })
    const early = await ralph(project, ['verify'])
    expect(early.code).toBe(1)
    expect(early.stderr).toContain('nothing has run here yet')
    await ralph(project, ['run'])
    const open = await ralph(project, ['verify', '1.1'])
    expect(open.code).toBe(1)
    expect(open.stderr).toContain('task 1.1 is halted: there is nothing to prove again')
    expect((await ralph(project, ['verify'])).stderr).toContain('no task is done yet')
    expect((await ralph(project, ['verify', '1.4'])).stderr).toContain('there is no task 1.4')
    expect((await ralph(project, ['verify', '1.1', '--all'])).code).toBe(2)
  })
})

describe('the judgement of today', () => {
  const tests = (passed: number) => ({ passed, failed: 0, skipped: 0, names: [] })

  function done(id: string, evidence: Evidence, endedAt = 1): TaskState {
    const task = { id, title: id, spec: '', needs: [], order: 0, verify: [], allows: [] }
    return { ...newTaskState(task), status: 'done', evidence, endedAt }
  }
  const proven = (command: string, passed: number | null, exit = 0): Evidence => ({
    gates: {
      tree: '',
      results: [gate(command, { exit, tests: passed === null ? null : tests(passed) })],
      notes: [],
      unverified: false,
      at: 1,
    },
  })
  const today = (results: ReturnType<typeof gate>[], more: Partial<Today> = {}): Today => ({
    results: new Map(results.map(result => [result.command, result])),
    commands: results.map(result => result.command),
    isInHistory: () => true,
    exists: () => true,
    touchedBy: () => null,
    ...more,
  })
  const bad = (state: TaskState, now: Today) =>
    judgeToday(state, now)
      .checks.filter(check => !check.holds)
      .map(check => check.text)

  it('does not take fewer tests for the same proof', () => {
    expect(bad(done('1', proven('t', 12)), today([gate('t', { tests: tests(12) })]))).toEqual([])
    expect(bad(done('1', proven('t', 12)), today([gate('t', { tests: tests(11) })]))).toEqual([
      '`t` ran 11 tests; it ran 12 when the task was done',
    ])
    expect(bad(done('1', proven('t', 12)), today([gate('t')]))).toEqual([
      '`t` reports no tests; it ran 12 when the task was done',
    ])
    expect(bad(done('1', proven('t', null)), today([gate('t', { tests: tests(0) })]))).toEqual([
      '`t` ran 0 tests',
    ])
    expect(bad(done('1', proven('t', null)), today([gate('t', { ended: 'timeout', exit: null })]))).toEqual([
      '`t` did not end in time',
    ])
  })

  it('does not blame a task for what was red when it was done', () => {
    const state = done('1', proven('t', null, 1))
    expect(judgeToday(state, today([gate('t', { exit: 1 })]))).toMatchObject({ holds: true })
    expect(bad(done('1', proven('t', null)), today([gate('t', { exit: 1 })]))).toHaveLength(1)
  })

  it('lets a later task remove what an earlier one made', () => {
    const file = (how: 'added' | 'deleted') => ({
      change: { from: '', to: '', files: [{ path: 'a.ts', how }], more: 0, commits: [] },
    })
    const first = done('1', { ...proven('t', null), ...file('added') }, 1)
    const later = done('2', { ...proven('t', null), ...file('deleted') }, 2)
    const now = today([gate('t')], { exists: () => false, touchedBy: lastTouches([first, later]) })
    expect(judgeToday(first, now).checks).toContainEqual({
      name: 'files',
      holds: true,
      text: 'a.ts was deleted by 2 since',
    })
    expect(judgeToday(later, now).holds).toBe(true)
    expect(bad(first, today([gate('t')], { exists: () => false }))).toEqual(['a.ts is gone'])
    expect(bad(later, today([gate('t')]))).toEqual(['a.ts is there again, although the task deleted it'])
  })

  it('names gates that proved it then and are none any more, and proof that never was', () => {
    const checks = judgeToday(done('1', proven('old', null)), today([gate('t')])).checks.map(
      check => check.text,
    )
    expect(checks).toContain('`old` proved it then and is no gate any more; it was not run')
    const recorded = judgeToday(done('1', { recorded: 'progress.txt' }), today([gate('t')]))
    expect(recorded).toMatchObject({ proof: 'recorded', holds: true })
    expect(recorded.checks[0]?.text).toContain('was recorded in progress.txt before this journal began')
  })
})
