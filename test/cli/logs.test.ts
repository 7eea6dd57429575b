import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { doneTask, openJournal, writeJournal } from '../helpers/journal.ts'
import { createProject, ralph, startRalph, type TestProject, until } from '../helpers/ralph.ts'
import { honest, storyProject } from '../helpers/story-project.ts'

describe('ralph logs', () => {
  let project: TestProject
  const noon = Date.UTC(2026, 0, 30, 12, 0, 0)

  beforeAll(async () => {
    project = createProject({}, { git: false })
    await writeJournal(project, noon, writer => {
      writer.run('r1')
      doneTask(writer, '1.1')
      doneTask(writer, '1.2')
      writer.end({ type: 'run.finished', reason: 'complete', message: '2 of 2 tasks done with evidence' })
    })
  })

  afterAll(() => project.cleanup())

  it('tells the events in the run’s own words, each with its local time', async () => {
    const { stdout, code } = await ralph(project, ['logs'], { env: { TZ: 'Asia/Tokyo' } })
    expect(code).toBe(0)
    const lines = stdout.trimEnd().split('\n')
    expect(lines[0]).toBe('2026-01-30 21:00:00 · Run r1 started (preset stories)')
    expect(lines).toContain(
      '2026-01-30 21:00:08 ● Story 1.1 done, with evidence: 1 file changed, 1 gate green',
    )
    expect(lines.at(-1)).toMatch(/^2026-01-30 21:00:\d\d ● Run ended: 2 of 2 tasks done with evidence$/)
  })

  it('shows one task, and only the last lines when asked', async () => {
    const one = (await ralph(project, ['logs', '1.2'])).stdout
    expect(one).toContain('Story 1.2')
    expect(one).not.toContain('Story 1.1')
    const last = (await ralph(project, ['logs', '--lines', '2'])).stdout.trimEnd().split('\n')
    expect(last).toHaveLength(2)
    expect(last[0]).toContain('Story 1.2 done')
  })

  it('prints events as JSON lines', async () => {
    const { stdout } = await ralph(project, ['logs', '--json', '--lines', '3'])
    const events = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(events).toHaveLength(3)
    expect(events[1]).toMatchObject({ task: '1.2', type: 'step.finished', run: 'r1', status: 'done' })
    expect(events[2]).toMatchObject({ type: 'run.finished', reason: 'complete' })
    expect(events[2].id).toBe(events[1].id + 1)
  })

  it('names near matches for an unknown task', async () => {
    const { code, stderr } = await ralph(project, ['logs', '1.9'])
    expect(code).toBe(1)
    expect(stderr).toBe(
      'ralph: there is no task 1.9\n  → Did you mean 1.1 or 1.2? `ralph status --all` lists them.\n',
    )
  })

  it('finds the last lines behind thousands of events that say nothing', async () => {
    const big = createProject({}, { git: false })
    try {
      await writeJournal(big, noon, writer => {
        writer.run('r1')
        doneTask(writer, '1.1')
        for (let n = 0; n < 3_000; n++) writer.add(`2.${n}`)
      })
      const { stdout } = await ralph(big, ['logs', '--lines', '1'])
      expect(stdout).toContain('Story 1.1 done, with evidence')
      const store = openJournal(big)
      expect(await store.log.lastId()).toBeGreaterThan(3_000)
      store.close()
    } finally {
      big.cleanup()
    }
  })
})

describe('ralph logs --follow', () => {
  it('waits for a run of another process and goes on with it, until Ctrl-C', async () => {
    const project = storyProject({ script: [{ do: honest() }] })
    try {
      const follower = startRalph(project, ['logs', '-f'])
      await until('the follower', () =>
        follower.stderr().includes('nothing has run here yet; waiting for it'),
      )
      expect((await ralph(project, ['run'])).code).toBe(0)
      await until('the last line', () => follower.stdout().includes('Run ended: 1 of 1 task'))
      follower.kill('SIGTERM')
      const { code, stdout } = await follower.ended
      expect(code).toBe(143)
      const starts = stdout.split('\n').filter(line => line.includes('· implement · attempt 1'))
      expect(starts).toHaveLength(1)
      const all = (await ralph(project, ['logs'])).stdout
      expect(stdout).toBe(all)
    } finally {
      project.cleanup()
    }
  })
})
