import { describe, expect, it } from 'vitest'
import type { TaskEventBody } from '../../../src/core/event.ts'
import { newTaskState, type TaskState } from '../../../src/core/state.ts'
import type { Workflow } from '../../../src/core/workflow.ts'
import { stateMarkdown } from '../../../src/layouts/state-markdown.ts'
import { gated } from '../../../src/presets/gated.ts'
import {
  anAgent,
  approves,
  aResult,
  aReviewer,
  gates,
  green,
  rejects,
  someRules,
  walk,
} from '../../core/build.ts'
import { tempProject } from './temp-project.ts'

const project = () => ({
  root: tempProject({
    'plan.md':
      '## Task 1: A\n## Task 2: B\n### Task 3: Add authentication {#auth}\n### Task 5: Rate limiting {#ratelimit}\n',
  }),
  settings: {},
})
const task = (id: string, title: string) => ({
  id,
  title,
  spec: 'plan.md',
  needs: [],
  order: 0,
  verify: [],
  allows: [],
})
const journal = (tasks: TaskState[], workflow: Workflow = gated) =>
  ({
    tasks,
    events: [],
    attempts: 5,
    rules: { workflow, verify: 'none' },
    run: {},
    end: 'failed',
    now: 0,
  }) as never

/** Runs a task by hand and collects what the layout prints for each event. */
function printed(
  workflow: Workflow,
  outcomes: Parameters<ReturnType<typeof walk>['step']>[0][],
): { lines: string[]; state: TaskState } {
  const rules = someRules(workflow)
  const one = walk(rules, task('auth', 'Add authentication'))
  for (const outcome of outcomes) one.step(outcome)
  const place = project()
  const again = walk(rules, task('auth', 'Add authentication'))
  const lines = one.events.slice(1).flatMap(event => {
    const { v: _, at: __, run: ___, ...body } = event
    const state = again.tell(body as TaskEventBody)
    return (
      stateMarkdown
        .print?.(
          place,
          { ...event },
          { state: { ...state, history: state.history }, run: {} as never, rules },
        )
        ?.split('\n') ?? []
    )
  })
  return { lines, state: one.state() }
}

const red = (fingerprint = 'aaaaaaaa') =>
  gates([aResult({ exit: 1, fingerprint, tail: 'Error: Race condition in token bucket' })])

describe('what is printed', () => {
  it('S3-10 S3-12 a line for each iteration, and one for success', () => {
    const { lines } = printed(gated, [
      anAgent(),
      red(),
      anAgent(),
      green,
      aReviewer(approves),
      aReviewer(approves),
    ])
    expect(lines.filter(line => !line.startsWith('FAILED'))).toEqual([
      'Ralph Loop: Iteration 1/5 for auth',
      'Ralph Loop: Iteration 2/5 for auth',
      'SUCCESS: auth completed in 2 iterations',
    ])
  })

  it('S3-13 S3-14 a line when it is stuck, and one when the cap is hit', () => {
    const { lines } = printed(
      gated,
      [1, 2, 3, 4, 5].flatMap(() => [anAgent(), red()]),
    )
    expect(lines.filter(line => !line.startsWith('FAILED'))).toEqual([
      'Ralph Loop: Iteration 1/5 for auth',
      'Ralph Loop: Iteration 2/5 for auth',
      'Ralph Loop: Iteration 3/5 for auth',
      'STUCK: Escalating to strategy shift',
      'Ralph Loop: Iteration 4/5 for auth',
      'STUCK: Escalating to strategy shift',
      'Ralph Loop: Iteration 5/5 for auth',
      'CAP HIT: auth failed after 5 attempts',
    ])
  })

  it('S3-18 H-33 says which limit ended it when it was not the cap', () => {
    const slow = anAgent({ ms: 61 * 60_000, ended: 'timeout', exit: null })
    expect(printed(gated, [slow]).lines.at(-1)).toBe(
      'GLOBAL TIMEOUT: auth failed after 1 attempt: its 1h 00m are used up',
    )
    const patient = { ...gated, limits: { attempts: 20 } }
    expect(
      printed(
        patient,
        [1, 2, 3, 4, 5].flatMap(() => [anAgent(), red()]),
      ).lines.at(-1),
    ).toBe('STUCK: auth failed after 5 attempts: same error 5x, strategy shift failed')
  })

  it('S3-36 S3-T11 the warnings of the quality check, which do not block', () => {
    const found = anAgent({
      ...aReviewer(rejects('two warnings')),
      message: 'WARNING: a.ts:1 is long\n- WARNING: b.ts:2 swallows\nVERDICT: fail',
    })
    const { lines, state } = printed(gated, [anAgent(), green, aReviewer(approves), found])
    expect(lines.slice(1)).toEqual([
      'code-quality: 2 warnings',
      'WARNING: a.ts:1 is long',
      'WARNING: b.ts:2 swallows',
      'SUCCESS: auth completed in 1 iterations',
    ])
    expect(state).toMatchObject({ status: 'done', warnings: ['a.ts:1 is long', 'b.ts:2 swallows'] })
  })
})

describe('the failure report', () => {
  const failed = (id: string, title: string, over: Partial<TaskState>): TaskState => ({
    ...newTaskState(task(id, title)),
    status: 'failed',
    failures: 5,
    limit: 'attempts',
    ...over,
  })
  const row = (stage: string) => ({
    attempt: 5,
    stage,
    fingerprint: 'aaaaaaaa',
    shift: false,
    reason: '',
    at: 1,
  })
  const last = (stage: string, reason: string, detail = '') => ({
    attempt: 5,
    stage,
    reason,
    detail,
    fault: null,
    at: 1,
  })

  it('S3-45 is the seed’s, byte for byte', () => {
    const done = ['a', 'b', 'c', 'd'].map(id => ({ ...newTaskState(task(id, id)), status: 'done' as const }))
    const auth = failed('auth', 'Add authentication', {
      branch: 'wip/ralph-fail-auth-20260121-103045',
      history: [row('spec')],
      recent: [last('spec', 'Missing password reset flow')],
      warnings: ['one', 'two'],
    })
    const limit = failed('ratelimit', 'Rate limiting', {
      branch: 'wip/ralph-fail-ratelimit-20260121-104532',
      history: [row('tests')],
      recent: [
        last(
          'tests',
          '`npm test` fails with exit code 1',
          '$ npm test\nok 1\nError: Race condition in token bucket',
        ),
      ],
      limit: 'stuck',
      stuck: { fingerprint: 'aaaaaaaa', same: 5, shifts: 2 },
    })
    expect(
      stateMarkdown.report?.(project(), journal([...done, auth, limit])),
    ).toBe(`# Ralph Loop Execution Summary

## Completed: 4/6 tasks

## Failed Tasks (require human attention):

### Task 3: Add authentication
- Attempts: 5/5
- Last gate: spec-compliance
- Branch: wip/ralph-fail-auth-20260121-103045
- Error: Missing password reset flow
- Stuck: No
- Quality warnings: 2

### Task 5: Rate limiting
- Attempts: 5/5
- Last gate: tests
- Branch: wip/ralph-fail-ratelimit-20260121-104532
- Error: Race condition in token bucket
- Stuck: Yes (same error 3x, strategy shift failed)
- Quality warnings: 0
`)
  })

  it('H-33 names the limit that ended a task before its tries were used up', () => {
    const auth = failed('auth', 'Add authentication', { failures: 3, limit: 'time', history: [row('tests')] })
    expect(stateMarkdown.report?.(project(), journal([auth]))).toContain(
      '- Attempts: 3/5 (ended by the global time limit of 1h 00m)\n',
    )
  })

  it('is printed at the end of a run with failures, and of no other', () => {
    const auth = failed('auth', 'Add authentication', { history: [row('tests')] })
    expect(stateMarkdown.closing?.(project(), journal([auth]))).toContain('## Completed: 0/1 tasks')
    expect(stateMarkdown.closing?.(project(), journal([{ ...auth, status: 'done' }]))).toBe(null)
  })

  it('S3-43 the failure branch has the seed’s message and the state file', () => {
    const auth = failed('auth', 'Add authentication', {
      history: [row('spec')],
      recent: [last('spec', 'Missing: x', 'Missing: x')],
    })
    const work = stateMarkdown.failed?.({ state: auth, rules: { workflow: gated, verify: 'none' } })
    expect(work?.message).toBe(
      'Ralph Loop failed: auth\n\nIterations: 5/5\nLast gate: spec-review\nError hash: aaaaaaaa\n\nSee .ralph_state.md for full history\n',
    )
    expect(work?.files['.ralph_state.md']).toContain('task_id: auth\niteration: 5\n')
  })
})

describe('the preset', () => {
  it('S3-02 S3-11 S3-15 S3-16 has the seed’s gates, cap and time limits', () => {
    const minutes = (ms: number | undefined) => (ms ?? 0) / 60_000
    const times = Object.entries(gated.stages).map(([name, { time }]) => [
      name,
      minutes(time?.soft),
      minutes(time?.hard),
    ])
    expect(times).toEqual([
      ['implement', 12, 20],
      ['tests', 5, 10],
      ['spec', 3, 5],
      ['quality', 2, 3],
    ])
    expect([
      minutes(gated.limits.task?.soft),
      minutes(gated.limits.task?.hard),
      gated.limits.attempts,
    ]).toEqual([45, 60, 5])
    expect(gated.stuck).toEqual({ same: 3, shifts: 2 })
    const { tests, spec, quality } = gated.stages
    expect([tests, spec, quality].map(stage => (stage && 'gate' in stage ? stage.gate : ''))).toEqual([
      'hard',
      'hard',
      'soft',
    ])
  })
})
