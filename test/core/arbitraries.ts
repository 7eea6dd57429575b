import fc from 'fast-check'
import { eventVersion, type TaskEvent, type TaskEventBody } from '../../src/core/event.ts'
import type { FaultKind, Outcome, Violation } from '../../src/core/outcome.ts'
import type { Signal } from '../../src/core/signals.ts'
import {
  type AgentStage,
  type Edge,
  type Stage,
  type Workflow,
  workflowProblems,
} from '../../src/core/workflow.ts'
import { agent, bounded, commands, engine } from '../../src/presets/vocabulary.ts'
import { aBase, aChange, anAgent, aResult, aTask, gates } from './build.ts'

/** What an agent call comes to, before the stage gives it words. */
export type AgentMove = {
  says: 'yes' | 'no' | 'other' | 'silent'
  files: number
  commits: number
  fault: FaultKind | null
  ended: 'exit' | 'timeout' | 'idle' | 'stopped'
  exit: number
  violations: Violation[]
  costUsd: number | null
  ms: number
}

export type GateMove = {
  result: 'green' | 'red' | 'timeout' | 'killed' | 'no-tests'
  own: boolean
  broken: boolean
}

/** One turn of the loop: how the next effect goes, and what happens besides. */
export type Move = {
  agent: AgentMove
  gate: GateMove
  cutOff: boolean
  besides: Disturbance | null
}

export const disturbances = [
  'cancel',
  'reopen',
  'steer',
  'change',
  'remove',
  'record',
  'repeat',
  'late',
  'late interruption',
  'stray',
  'add',
] as const
export type Disturbance = (typeof disturbances)[number]

const mostly = <T>(usual: T, other: fc.Arbitrary<T>, weight = 6): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other })

const violation: fc.Arbitrary<Violation> = fc.record({
  rule: fc.constantFrom('protected-file' as const, 'journal' as const, 'read-only' as const),
  path: fc.constantFrom('', 'specs/a.md'),
  detail: fc.constantFrom('Changed the protected file specs/a.md', 'Changed the journal'),
})

export const agentMove: fc.Arbitrary<AgentMove> = fc.record({
  says: fc.oneof(
    { weight: 4, arbitrary: fc.constant('yes' as const) },
    { weight: 3, arbitrary: fc.constantFrom('no' as const, 'other' as const, 'silent' as const) },
  ),
  files: fc.oneof(
    { weight: 2, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 3 }) },
  ),
  commits: fc.integer({ min: 0, max: 1 }),
  fault: mostly<FaultKind | null>(
    null,
    fc.constantFrom('infrastructure', 'limit', 'auth', 'permission', 'crash', 'timeout', 'empty'),
  ),
  ended: mostly<AgentMove['ended']>('exit', fc.constantFrom('timeout', 'idle', 'stopped'), 12),
  exit: mostly(0, fc.constant(1), 12),
  violations: mostly<Violation[]>([], fc.array(violation, { minLength: 1, maxLength: 2 }), 8),
  costUsd: fc.option(fc.integer({ min: 0, max: 400 }).map(cents => cents / 100)),
  ms: fc.integer({ min: 0, max: 1_000_000 }),
})

export const gateMove: fc.Arbitrary<GateMove> = fc.record({
  result: fc.oneof(
    { weight: 3, arbitrary: fc.constant('green' as const) },
    {
      weight: 2,
      arbitrary: fc.constantFrom('red' as const, 'timeout' as const, 'killed' as const, 'no-tests' as const),
    },
  ),
  own: fc.boolean(),
  broken: mostly(false, fc.constant(true), 15),
})

export const move = (disturbed: boolean): fc.Arbitrary<Move> =>
  fc.record({
    agent: agentMove,
    gate: gateMove,
    cutOff: disturbed ? mostly(false, fc.constant(true), 10) : fc.constant(false),
    besides: disturbed
      ? mostly<Disturbance | null>(null, fc.constantFrom(...disturbances), 8)
      : fc.constant(null),
  })

/** Names that a careless lookup would find on every object, among others. */
const names = ['a', 'b', 'constructor', 'toString', 'review-fix', 'x.fail'] as const

const signals: AgentStage['signal'][] = [
  { from: 'tags', legacy: true },
  { from: 'tags', legacy: false },
  { from: 'promise', text: 'COMPLETE', verify: { contradictions: true } },
  { from: 'exit' },
  { from: 'verdict' },
  { from: 'report' },
  { from: 'backlog' },
]

/** Any graph over a few stages; most have an endless cycle or no way to `done` and are refused. */
export const anyWorkflow: fc.Arbitrary<Workflow> = fc.integer({ min: 1, max: 5 }).chain(count => {
  const stageNames = names.slice(0, count)
  const ends = fc.constantFrom('done', 'done', 'retry', 'exhausted', 'approve')
  const target = (from: number) =>
    fc.oneof(
      {
        weight: 6,
        arbitrary: from + 1 < count ? fc.constantFrom(...stageNames.slice(from + 1)) : fc.constant('done'),
      },
      { weight: 2, arbitrary: ends },
      { weight: 1, arbitrary: fc.constantFrom(...stageNames) },
    )
  const edge = (from: number): fc.Arbitrary<Edge> =>
    fc.oneof(
      { weight: 4, arbitrary: target(from) },
      {
        weight: 2,
        arbitrary: fc
          .tuple(fc.constantFrom(...stageNames), fc.integer({ min: 0, max: 3 }), fc.oneof(target(from), ends))
          .map(([to, max, then]) => bounded(to, max, then)),
      },
    )
  const on = (from: number) =>
    fc.record({ pass: edge(from), fail: edge(from), unclear: edge(from) }, { requiredKeys: ['pass', 'fail'] })
  const limit = fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined })
  const stage = (from: number): fc.Arbitrary<Stage> =>
    fc
      .record({
        on: on(from),
        limit,
        kind: fc.constantFrom('agent', 'agent', 'agent', 'commands', 'commands', 'engine'),
        may: fc.constantFrom('write' as const, 'write' as const, 'read' as const),
        gate: fc.constantFrom('hard' as const, 'hard' as const, 'soft' as const),
        signal: fc.constantFrom(...signals),
        review: fc.boolean(),
      })
      .map(({ on, limit, kind, may, gate, signal, review }) => {
        const common = { on, ...(limit === undefined ? {} : { limit }) }
        if (kind === 'commands') return commands({ ...common, gate })
        if (kind === 'engine') return engine({ ...common, action: 'record' })
        return agent({
          ...common,
          role: 'r',
          may,
          prompt: 'p',
          signal,
          gate,
          review: review && may === 'read',
        })
      })
  const stages = fc.tuple(...stageNames.map((_, index) => stage(index)))
  return fc
    .record({
      stages,
      attempts: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
      requeues: fc.integer({ min: 0, max: 2 }),
      faults: fc.integer({ min: 1, max: 4 }),
      hard: fc.constantFrom(0, 0, 900_000),
      taskCost: fc.constantFrom(0, 0, 6),
      onExhausted: fc.constantFrom('halt', 'approve-with-note', 'requeue', 'branch-and-skip'),
      onFail: fc.constantFrom('restore', 'branch', 'keep'),
      iteration: fc.constantFrom('call', 'attempt', 'task'),
      stuck: fc.option(
        fc.record({ same: fc.integer({ min: 1, max: 3 }), shifts: fc.integer({ min: 1, max: 2 }) }),
      ),
    })
    .map(
      (made): Workflow => ({
        name: 'custom',
        layout: 'stories',
        select: 'order',
        start: 'a',
        stages: Object.fromEntries(stageNames.map((name, index) => [name, made.stages[index] as Stage])),
        limits: {
          ...(made.attempts === undefined ? {} : { attempts: made.attempts }),
          requeues: made.requeues,
          faults: made.faults,
          task: { hard: made.hard },
          taskCost: made.taskCost,
        },
        onExhausted: made.onExhausted as Workflow['onExhausted'],
        git: { commit: 'agent', onFail: made.onFail as Workflow['git']['onFail'] },
        iteration: made.iteration as Workflow['iteration'],
        ...(made.stuck ? { stuck: made.stuck } : {}),
      }),
    )
})

/** A user's own workflow that Ralph would accept. */
export const soundWorkflow = anyWorkflow.filter(workflow => workflowProblems(workflow).length === 0)

const signal: fc.Arbitrary<Signal> = fc.oneof(
  fc.record({
    type: fc.constant('done' as const),
    id: fc.constantFrom('1.1', '', '9.9'),
    legacy: fc.boolean(),
  }),
  fc.record({
    type: fc.constant('fail' as const),
    id: fc.constantFrom('1.1', ''),
    reason: fc.string(),
    legacy: fc.boolean(),
  }),
  fc.record({ type: fc.constant('learn' as const), text: fc.string() }),
  fc.record({ type: fc.constant('promise' as const), text: fc.constantFrom('COMPLETE', 'QA_PASSED') }),
  fc.record({ type: fc.constant('verdict' as const), pass: fc.boolean(), findings: fc.string() }),
  fc.record({ type: fc.constant('doubt' as const), reason: fc.string(), text: fc.string() }),
  fc.record({
    type: fc.constant('judged' as const),
    verdict: fc.constantFrom('pass' as const, 'fail' as const, 'unclear' as const),
    reason: fc.string(),
  }),
)

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(agentMove, fc.array(signal, { maxLength: 3 }))
      .map(([move, signals]) => agentWith(move, signals)),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({
        exit: fc.constantFrom(0, 0, 1, null),
        own: fc.boolean(),
        purpose: fc.constantFrom('baseline' as const, 'gate' as const),
      })
      .map(({ exit, own, purpose }) => gates([aResult({ exit, own })], { purpose })),
  },
  fc.constantFrom<Outcome>(
    gates([]),
    { kind: 'engine' },
    { kind: 'restore', kept: null, branch: null },
    { kind: 'settle', head: 'h2', committed: null, paths: [] },
  ),
)

function agentWith(move: AgentMove, signals: Signal[]): Outcome {
  const { fault, exit, ended, violations, ms, files } = move
  const change = aChange(Array.from({ length: files }, (_, index) => `src/${index}.ts`))
  return anAgent({
    exit,
    ended,
    violations,
    ms,
    change,
    signals,
    fault: fault && { kind: fault, message: fault },
  })
}

/** Any event at all, in no sensible order: ids and stages that may or may not be the ones under way. */
export function anyEvent(stages: string[]): fc.Arbitrary<TaskEvent> {
  const step = fc.constantFrom('r1/1', 'r1/2', 'r0/9')
  const stage = fc.constantFrom(...stages, ...stages, '@baseline', '@restore', '@settle', 'no such stage')
  const tree = fc.constantFrom('t0', 't1')
  const body: fc.Arbitrary<TaskEventBody> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant('step.started' as const),
        step,
        stage,
        base: tree.map(aBase),
      }),
    },
    {
      weight: 8,
      arbitrary: fc.record({ type: fc.constant('step.finished' as const), step, stage, outcome }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('step.interrupted' as const),
        step,
        why: fc.string(),
        kept: fc.constant(null),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom<TaskEventBody>(
        { type: 'task.added', task: aTask() },
        { type: 'task.removed' },
      ),
    },
    {
      weight: 1,
      arbitrary: fc
        .array(fc.string(), { maxLength: 1 })
        .map(verify => ({ type: 'task.changed' as const, task: aTask({ verify }) })),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom<TaskEventBody>(
        { type: 'task.reopened', why: 'again' },
        { type: 'task.reopened', why: 'afresh', forget: true },
        {
          type: 'task.continued',
          source: '.ralph_state.md',
          history: [1, 2].map(attempt => ({
            ...{ attempt, stage: 'tests', fingerprint: 'aaaaaaaa', shift: false, reason: '', at: 1 },
          })),
          recent: [{ attempt: 2, stage: 'tests', reason: 'no', detail: 'no', fault: null, at: 1 }],
        },
        { type: 'task.cancelled', why: 'no' },
        { type: 'task.steered', text: 'this way' },
        { type: 'task.recorded', source: 'progress.txt' },
      ),
    },
  )
  return fc
    .tuple(body, fc.integer({ min: 0, max: 2_000_000 }))
    .map(([one, at]): TaskEvent => ({ v: eventVersion, at, run: 'r1', ...one }))
}
