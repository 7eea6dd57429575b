import { afterEach, describe, expect, it } from 'vitest'
import { type Asked, requestText } from '../../src/commands/request-text.ts'
import { attemptCount } from '../../src/commands/stage-words.ts'
import type { StatusData } from '../../src/commands/status-data.ts'
import { newTaskState } from '../../src/core/state.ts'
import { pipeline } from '../../src/presets/pipeline.ts'
import { openJournal, writeJournal } from '../helpers/journal.ts'
import { createProject, ralph, startRalph, type TestProject, until } from '../helpers/ralph.ts'
import { honest, storyProject } from '../helpers/story-project.ts'

let project: TestProject

afterEach(() => project.cleanup())

async function status(): Promise<StatusData> {
  return JSON.parse((await ralph(project, ['status', '--json'])).stdout) as StatusData
}

/** A run whose agent waits for a sign before it does its work. */
function waitingProject(stories: string[]): { go: () => void } {
  project = storyProject({ script: [], stories })
  project.write('agent.json', JSON.stringify([{ do: [{ 'wait-for': `${project.home}/go` }, ...honest()] }]))
  project.git('commit', '-qam', 'script')
  return { go: () => project.write('../home/go', '') }
}

const agentAtWork = () =>
  until('an agent at work', async () => {
    const { working, engine } = await status()
    return engine?.alive && working?.stage === 'implement' && working.step ? working : null
  })

describe('requests to a running engine', () => {
  it('S2-42 cancel of a task reaches the running process and ends its agent', async () => {
    waitingProject(['1.1'])
    const running = startRalph(project, ['run'])
    await agentAtWork()
    const cancelled = await ralph(project, ['cancel', '1.1'])
    expect(cancelled).toMatchObject({
      code: 0,
      stdout: 'Cancelled Ralph loop for 1.1 at iteration 1/3\n',
      stderr: '',
    })
    const { code, stdout } = await running.ended
    expect(code).toBe(1)
    expect(stdout).toContain('1.1 cancelled')
    expect((await status()).counts).toMatchObject({ cancelled: 1, open: 0 })
    // The agent waits for ever; had it not been ended, the engine would still be waiting for it.
    expect(project.exists('work/1.1.txt')).toBe(false)
  })

  it('cancel without a task stops the run, and the next run goes on', async () => {
    const { go } = waitingProject(['1.1', '1.2'])
    const running = startRalph(project, ['run'])
    await agentAtWork()
    const cancelled = await ralph(project, ['cancel', '--json'])
    expect(JSON.parse(cancelled.stdout)).toMatchObject({
      kind: 'cancel',
      task: null,
      answer: 'taken',
      result: 'the run stops',
    })
    expect((await running.ended).code).toBe(1)
    expect(await status()).toMatchObject({ engine: null, run: { end: 'cancelled' }, counts: { open: 2 } })
    go()
    expect((await ralph(project, ['run'])).code).toBe(0)
  })

  it('H-16 pause lets the step end and then waits; resume goes on', async () => {
    const { go } = waitingProject(['1.1', '1.2'])
    const running = startRalph(project, ['run'])
    await agentAtWork()
    const pausing = startRalph(project, ['pause'])
    await until('the request', async () =>
      (await status()).requests.some(request => request.kind === 'pause'),
    )
    go()
    const paused = await pausing.ended
    expect(paused.code).toBe(0)
    expect(paused.stdout).toMatch(
      /^(Paused; `ralph resume` goes on|Asked: the loop pauses when 1\.1 .* is over)\n$/,
    )
    await until('the pause', async () => (await status()).run?.paused)
    const still = await status()
    expect(still.engine?.alive).toBe(true)
    expect(still.working?.step ?? null).toBeNull()
    expect((await ralph(project, ['status'])).stdout).toContain('paused; `ralph resume` goes on')
    const resumed = await ralph(project, ['resume'])
    expect(resumed.stdout).toMatch(/^(Resumed|Asked: the loop goes on .*)\n$/)
    expect((await running.ended).code).toBe(0)
    expect((await status()).counts.done).toBe(2)
  })
})

describe('requests when no engine runs', () => {
  it('cancel without a task: nothing is running, and nothing is kept for the next run', async () => {
    project = storyProject({ script: [{ do: honest() }] })
    const refused = await ralph(project, ['cancel'])
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain('ralph: nothing is running\n  → ')
    expect(project.exists('.ralph')).toBe(false)
    expect((await ralph(project, ['run'])).code).toBe(0)
  })

  it('S2-42 an unknown or inactive task is refused with near matches', async () => {
    project = storyProject({ script: [{ do: honest() }], stories: ['1.1', '1.2', '2.1'] })
    const unknown = await ralph(project, ['retry', '1.7'])
    expect(unknown.code).toBe(1)
    expect(unknown.stderr).toBe(
      'ralph: there is no task 1.7\n  → Did you mean 1.1 or 1.2? `ralph status --all` lists them.\n',
    )
    expect(project.exists('.ralph')).toBe(false)
    expect((await ralph(project, ['run'])).code).toBe(0)
    const done = await ralph(project, ['cancel', '1.1'])
    expect(done.code).toBe(1)
    expect(done.stderr).toContain('task 1.1 is done; there is nothing to cancel')
    const quiet = await ralph(project, ['retry'])
    expect(quiet.code).toBe(1)
    expect(quiet.stderr).toContain('nothing has stopped and nothing waits')
    const deaf = await ralph(project, ['steer', '1.1', 'too', 'late'])
    expect(deaf.code).toBe(1)
    expect(deaf.stderr).toContain('task 1.1 is done; no agent would be told')
  })

  it('cancel, retry and steer are stored, shown, and followed by the next run', async () => {
    project = storyProject({
      stories: ['1.1', '1.2'],
      script: [
        { on: { task: '1.2' }, do: honest() },
        { on: { call: 1 }, do: [{ fail: 'no' }] },
        { do: honest() },
      ],
      config: 'limits: { attempts: 1 }',
      verify: '["true"]',
    })
    // 1.1 has not been seen by any run yet; it is known from its file.
    const cancelled = await ralph(project, ['cancel', '1.1'])
    expect(cancelled.stdout).toBe(
      'no engine is running; the next `ralph run` will leave 1.1 out (until `ralph retry 1.1`)\n',
    )
    expect((await ralph(project, ['status'])).stdout).toMatch(
      /Asked by \S+: cancel 1\.1 \(taken up by the next `ralph run`\)/,
    )
    expect((await ralph(project, ['run'])).code).toBe(1)
    expect((await status()).counts).toMatchObject({ done: 1, cancelled: 1 })

    const steered = await ralph(project, ['steer', '1.1', 'use', 'the', 'date', 'helper'])
    expect(steered.stdout).toBe(
      'no engine is running; the next `ralph run` will tell 1.1 with its first prompt\n',
    )
    const retried = await ralph(project, ['retry', '1.1', '--json'])
    expect(JSON.parse(retried.stdout)).toMatchObject({
      kind: 'retry',
      task: '1.1',
      answer: 'no-engine',
      result: null,
    })
    expect((await ralph(project, ['run'])).code).toBe(1)
    expect((await ralph(project, ['show', '--prompt'])).stdout).toContain('use the date helper')
    expect((await status()).stopped).toMatchObject([{ id: '1.1', status: 'halted', note: 'no' }])
    expect((await status()).requests).toEqual([])
  })
})

describe('the words of an answer', () => {
  const state = {
    ...newTaskState({ id: 'TASK-001', title: '', spec: '', needs: [], order: 0, verify: [], allows: [] }),
    stage: 'coder',
    visits: { coder: 3 },
    base: { head: '', branch: null, tree: '', snapshot: '' },
  }
  const asked: Asked = {
    kind: 'cancel',
    task: 'TASK-001',
    state,
    under: null,
    rules: { workflow: pipeline, verify: [] },
    now: 0,
  }

  it('S2-41 names the task and the iteration of its stage', () => {
    expect(attemptCount(state, asked.rules)).toEqual({ n: 3, of: 15 })
    expect(requestText(asked, { type: 'taken', result: 'done' })).toEqual({
      ok: true,
      text: 'Cancelled Ralph loop for TASK-001 at iteration 3/15',
    })
  })

  it('is a failure when the engine could not follow', () => {
    expect(requestText(asked, { type: 'taken', result: 'no task TASK-001' }).ok).toBe(false)
    expect(requestText(asked, { type: 'taken', result: 'task TASK-001 is done' }).ok).toBe(false)
  })

  it('says what an engine in the middle of a step will do', () => {
    const under = { task: '1.1', stage: 'implement', since: -300_000 }
    const text = requestText({ ...asked, kind: 'pause', task: null, under }, { type: 'waiting' }).text
    expect(text).toBe('Asked: the loop pauses when 1.1 (implement, for 5m) is over')
  })

  it('a stop that comes too late does not stop the next run', async () => {
    project = createProject({}, { git: false })
    await writeJournal(project, Date.now(), writer => writer.run('r1'))
    // An engine that ends while the request waits for its answer.
    const store = openJournal(project)
    const { thisProcess } = await import('../../src/store/alive.ts')
    const claim = await store.dispatch.claim('worktree', thisProcess('ralph run'), 60_000, Date.now())
    const cancelling = startRalph(project, ['cancel'])
    await until('the request', async () => (await store.dispatch.pending()).length > 0)
    if (claim.ok) await store.dispatch.release('worktree', claim.token)
    const { code, stdout } = await cancelling.ended
    expect(code).toBe(0)
    expect(stdout).toContain('Cancelled')
    expect(await store.dispatch.pending()).toEqual([])
    store.close()
  })
})
