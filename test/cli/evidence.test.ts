import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentOutcome, doneTask, gate, gates, settled, writeJournal } from '../helpers/journal.ts'
import { createProject, ralph, type TestProject } from '../helpers/ralph.ts'

describe('ralph evidence', () => {
  let project: TestProject
  const noon = Date.UTC(2026, 0, 30, 12, 0, 0)

  beforeAll(async () => {
    project = createProject({}, { git: false })
    await writeJournal(project, noon, writer => {
      writer.run('r1')
      writer.add('1.1', { verify: ['sh own.sh'] })
      const before = gate('npm test', { tests: { passed: 10, failed: 0, skipped: 1, names: [] } })
      const after = gate('npm test', { tests: { passed: 12, failed: 0, skipped: 1, names: [] } })
      const own = gate('sh own.sh', { own: true })
      writer.start('1.1', '@baseline')
      writer.finish('1.1', '@baseline', gates([before, { ...own, exit: 1 }], 'baseline'))
      writer.start('1.1', 'implement')
      writer.finish('1.1', 'implement', agentOutcome('1.1'))
      writer.start('1.1', 'verify')
      writer.finish('1.1', 'verify', gates([after, own]))
      writer.finish('1.1', '@settle', settled)
      writer.add('1.2')
      writer.task('1.2', { type: 'task.recorded', source: 'progress.txt' })
      writer.add('1.3')
      writer.start('1.3', '@baseline')
      writer.finish('1.3', '@baseline', gates([gate('npm test')], 'baseline'))
      writer.start('1.3', 'implement')
      writer.finish('1.3', 'implement', agentOutcome('1.3'))
      writer.start('1.3', 'verify')
      writer.finish('1.3', 'verify', gates([gate('npm test', { exit: 1 })]))
      writer.end({ type: 'run.finished', reason: 'interrupted', message: 'interrupted' })
      writer.run('r2', { verify: 'none' })
      doneTask(writer, '1.4', [])
    })
  })

  afterAll(() => project.cleanup())

  it('lists all that proves a done task', async () => {
    const { stdout, code } = await ralph(project, ['evidence', '1.1'])
    expect(code).toBe(0)
    expect(stdout).toContain('1.1 Title of 1.1: done, verified (2026-01-30 12:00:08)')
    expect(stdout).toContain(
      'change   1 file, 1 commit\n             A src/1.1.ts\n             commit dddddddddddd',
    )
    expect(stdout).toContain(
      'gate     ✓ npm test: exit code 0 in 1.2 s, 12 tests passed, 1 skipped; 10 passed before the task',
    )
    expect(stdout).toContain(
      'gate     ✓ sh own.sh (the task’s own): exit code 0 in 1.2 s; red before the task',
    )
    expect(stdout).toContain('seen     2026-01-30 12:00:07, on tree cccccccccccc')
    expect(stdout).toContain('commit   dddddddddddd holds the finished work')
    expect(stdout).toContain('effort   1 attempt, 1 agent call, 1m 01s, $0.25')
  })

  it('says plainly what was only recorded, and what has only the agent’s word', async () => {
    const recorded = await ralph(project, ['evidence', '1.2'])
    expect(recorded.code).toBe(0)
    expect(recorded.stdout).toContain('1.2 Title of 1.2: done, recorded')
    expect(recorded.stdout).toContain(
      'progress.txt said so before this journal began. Ralph has not seen it done.',
    )
    const word = await ralph(project, ['evidence', '1.4'])
    expect(word.stdout).toContain('done, unverified: `verify: none` accepts the agents’ word')
  })

  it('says what is missing for a task that is not done, with exit code 1', async () => {
    const { stdout, code } = await ralph(project, ['evidence', '1.3'])
    expect(code).toBe(1)
    expect(stdout).toContain('1.3 Title of 1.3: not done (open)')
    expect(stdout).toContain('missing  the gates did not run on the final state')
    expect(stdout).toMatch(/attempt 1 \(.*\) failed at verify: `npm test` fails with exit code 1/)
  })

  it('lists every done task, a line each', async () => {
    const { stdout, code } = await ralph(project, ['evidence'])
    expect(code).toBe(0)
    expect(stdout.split('\n').slice(0, 4)).toEqual([
      '✓ 1.1 Title of 1.1 · verified: 1 file, 2 gates green (12 tests), commit dddddddddddd',
      '· 1.2 Title of 1.2 · recorded in progress.txt; not seen by Ralph',
      '? 1.4 Title of 1.4 · unverified: 1 file, no gate ran, commit dddddddddddd',
      '1 task not done: ralph explain',
    ])
  })

  it('gives the same as JSON', async () => {
    const { tasks } = JSON.parse((await ralph(project, ['evidence', '--json'])).stdout)
    expect(tasks.map((task: { id: string; proof: string }) => [task.id, task.proof])).toEqual([
      ['1.1', 'verified'],
      ['1.2', 'recorded'],
      ['1.4', 'unverified'],
    ])
    const open = await ralph(project, ['evidence', '1.3', '--json'])
    expect(open.code).toBe(1)
    expect(JSON.parse(open.stdout).tasks[0]).toMatchObject({
      proof: null,
      status: 'open',
      failures: [{ attempt: 1, stage: 'verify' }],
    })
  })
})
