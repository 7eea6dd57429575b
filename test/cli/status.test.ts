import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { StatusData } from '../../src/commands/status-data.ts'
import { thisProcess } from '../../src/store/alive.ts'
import { worktreeKey } from '../../src/store/dispatch.ts'
import { agentOutcome, doneTask, gate, gates, openJournal, writeJournal } from '../helpers/journal.ts'
import { createProject, ralph, startRalph, type TestProject, until } from '../helpers/ralph.ts'
import { honest, storyProject } from '../helpers/story-project.ts'

let project: TestProject

afterEach(() => project?.cleanup())

describe('ralph status in a project where nothing has run', () => {
  it('says so, names the next command and makes nothing', async () => {
    project = createProject()
    const seen = await ralph(project, ['status'])
    expect(seen).toMatchObject({ code: 0, stderr: '' })
    expect(seen.stdout).toBe('nothing has run here yet\n  → next: ralph run\n')
    const json = await ralph(project, ['status', '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({ journal: false, run: null, counts: { done: 0 } })
    expect(project.exists('.ralph')).toBe(false)
  })
})

describe('ralph status from a journal', () => {
  const minutesAgo = (count: number) => Date.now() - count * 60_000

  it('tells the kinds of proof apart', async () => {
    project = createProject({}, { git: false })
    await writeJournal(project, minutesAgo(10), writer => {
      writer.run('r1')
      doneTask(writer, '1.1')
      writer.add('1.2')
      writer.task('1.2', { type: 'task.recorded', source: 'progress.txt' })
      writer.end({ type: 'run.finished', reason: 'interrupted', message: 'interrupted' })
      writer.run('r2', { verify: 'none' })
      doneTask(writer, '1.3', [])
      writer.add('1.4')
    })
    const { stdout } = await ralph(project, ['status'])
    expect(stdout).toContain('3 of 4 tasks done')
    expect(stdout).toContain(
      '1 verified · 1 unverified (the agents’ word) · 1 recorded (done before this journal)',
    )
    expect(stdout).toContain('left:  1 open')
    expect(stdout.trimEnd().endsWith('→ ralph run')).toBe(true)
    const data = JSON.parse((await ralph(project, ['status', '--json'])).stdout) as StatusData
    expect(data.proofs).toEqual({ verified: 1, unverified: 1, recorded: 1 })
  })

  it('says what a waiting task waits for, and until when', async () => {
    project = createProject({}, { git: false })
    await writeJournal(project, Date.now() - 5_000, writer => {
      writer.run('r1')
      writer.add('1.1')
      writer.start('1.1', '@baseline')
      writer.finish('1.1', '@baseline', gates([gate('npm test')], 'baseline'))
      writer.start('1.1', 'implement')
      const fault = { kind: 'limit', message: 'usage limit reached', until: Date.now() + 3_600_000 } as const
      writer.finish('1.1', 'implement', agentOutcome('1.1', { fault, signals: [] }))
    })
    const data = JSON.parse((await ralph(project, ['status', '--json'])).stdout) as StatusData
    expect(data.open[0]?.waitUntil).toBeGreaterThan(Date.now() + 3_000_000)
    const { stdout } = await ralph(project, ['status'])
    expect(stdout).toMatch(
      /1\.1 Title of 1\.1 · waits (59m|1h): usage limit reached\n {2}→ ralph retry ends the wait now/,
    )
  })

  it('shows the budget and names the commands for tasks that need a person', async () => {
    project = createProject({}, { git: false })
    await writeJournal(project, minutesAgo(30), writer => {
      writer.run('r1')
      for (const id of ['1.1', '1.2', '1.3']) writer.add(id)
      for (let attempt = 1; attempt <= 3; attempt++) {
        if (attempt === 1) {
          writer.start('1.1', '@baseline')
          writer.finish('1.1', '@baseline', gates([gate('npm test')], 'baseline'))
        }
        writer.start('1.1', 'implement')
        writer.finish('1.1', 'implement', agentOutcome('1.1'))
        writer.start('1.1', 'verify')
        writer.finish('1.1', 'verify', gates([gate('npm test', { exit: 1 })]))
        writer.finish('1.1', '@restore', { kind: 'restore', kept: null, branch: null })
      }
      writer.task('1.2', { type: 'task.cancelled', why: 'not wanted' })
      writer.end({ type: 'run.finished', reason: 'halted', message: 'story 1.1 failed 3 times' })
    })
    const { stdout, code } = await ralph(project, ['status'])
    expect(code).toBe(0)
    expect(stdout).toContain('3 of 45 iterations used · $0.75 spent')
    expect(stdout).toMatch(/Last run: {2}halted, \d+m ago: story 1\.1 failed 3 times/)
    expect(stdout).toContain('1.1 Title of 1.1 · halted: `npm test` fails with exit code 1')
    expect(stdout).toContain('→ ralph explain 1.1    ralph retry 1.1')
    expect(stdout).toContain('1.2 Title of 1.2 · cancelled: not wanted')
    expect(stdout).toContain('No engine is running.')
  })

  it('lists twenty open tasks, and all with --all', async () => {
    project = createProject({}, { git: false })
    await writeJournal(project, minutesAgo(1), writer => {
      writer.run('r1')
      for (let n = 1; n <= 33; n++) writer.add(`1.${n}`)
    })
    const some = (await ralph(project, ['status'])).stdout
    expect(some).toContain('1.20 Title')
    expect(some).not.toContain('1.21 Title')
    expect(some).toContain('… and 13 more (--all)')
    const all = (await ralph(project, ['status', '--all'])).stdout
    expect(all).toContain('1.33 Title')
    expect(all).not.toContain('more (--all)')
  })

  it('says when the engine that holds the lease is gone', async () => {
    project = createProject({}, { git: false })
    await writeJournal(project, minutesAgo(1), writer => {
      writer.run('r1')
      writer.add('1.1')
      writer.start('1.1', '@baseline')
    })
    const store = openJournal(project)
    const dead = { ...thisProcess('ralph run'), started: 'another time' }
    await store.dispatch.claim(worktreeKey, dead, 600_000, Date.now())
    store.close()
    const { stdout } = await ralph(project, ['status'])
    expect(stdout).toContain('No engine is running.')
    expect(stdout).toContain(`The last one (pid ${process.pid}) is gone`)
    expect(stdout).toContain('gates before the task · attempt 1/3 · cut off')
  })
})

describe('ralph status beside a running engine', () => {
  let watched: TestProject

  beforeAll(() => {
    watched = storyProject({ script: [], stories: ['1.1', '1.2'] })
    const wait = { 'wait-for': `${watched.home}/go` }
    watched.write('agent.json', JSON.stringify([{ do: [wait, ...honest()] }]))
    watched.git('commit', '-qam', 'script')
  })

  afterAll(() => watched.cleanup())

  it('shows who works, on what, since when; --watch prints again on change and ends on Ctrl-C', async () => {
    const running = startRalph(watched, ['run'])
    const view = startRalph(watched, ['status', '--watch'])
    const status = await until('a step of the agent', async () => {
      const data = JSON.parse((await ralph(watched, ['status', '--json'])).stdout) as StatusData
      return data.working?.stage === 'implement' && data.working.step ? data : null
    })
    expect(status.engine).toMatchObject({ alive: true, pid: running.pid, what: 'ralph run' })
    expect(status.working).toMatchObject({ id: '1.1', stage: 'implement', attempt: 1, attempts: 3 })
    const text = (await ralph(watched, ['status'])).stdout
    expect(text).toContain(`ralph run is working (pid ${running.pid}`)
    expect(text).toMatch(/implement · attempt 1\/3 · for \d/)

    await until('the work in the view', () => view.stdout().includes('0 of 2 tasks done'))
    watched.write('../home/go', '')
    expect((await running.ended).code).toBe(0)
    await until('the end in the view', () => view.stdout().includes('2 of 2 tasks done'))
    view.kill('SIGINT')
    const seen = await view.ended
    expect(seen.code).toBe(130)
    expect(seen.stdout).toContain('0 of 2 tasks done')
    expect(seen.stdout).toContain('2 verified')
  })
})
