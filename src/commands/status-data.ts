import { type BudgetLine, budgetLines } from '../core/budget.ts'
import type { RunEnd } from '../core/event.ts'
import type { Proof } from '../core/evidence.ts'
import type { RunState } from '../core/run.ts'
import type { TaskState } from '../core/state.ts'
import { labelOf, type TaskStatus, taskStatuses } from '../core/task.ts'
import type { Rules } from '../core/transition.ts'
import { stageOf } from '../core/workflow.ts'
import { storedUnmerged } from '../engine/unmerged.ts'
import type { Log } from '../store/log.ts'
import type { Store } from '../store/sqlite.ts'
import { engineNow } from './look.ts'
import { attemptCount } from './stage-words.ts'

/** What `ralph status --json` prints. Moments are milliseconds since the epoch, durations milliseconds. */
export type StatusData = {
  /** False: nothing has run here yet, and all else is empty. */
  journal: boolean
  counts: Record<TaskStatus, number>
  /** The done tasks by what proves them. */
  proofs: Record<Proof, number>
  engine: EngineView | null
  run: RunView | null
  /** The task whose work has begun and is not finished; whether it goes on now is said by `engine`. */
  working: TaskView | null
  /** The loops under way, where the preset has stages with a limit of their own; null where it has none. */
  loops: LoopView[] | null
  /** Finished work that waits for the user's own `git merge`. */
  unmerged: { task: string; branch: string; why: string }[]
  /** Tasks that stopped and need a person, and how many more there are than listed. */
  stopped: TaskView[]
  stoppedMore: number
  open: TaskView[]
  openMore: number
  /** What was asked for and nobody has taken up yet. */
  requests: { kind: string; task: string | null; text: string; by: string; at: number }[]
}

export type EngineView = { alive: boolean; what: string; pid: number; host: string; since: number }

/** One stage that is repeated until its promise is kept. */
export type LoopView = { task: string; stage: string; iteration: number; max: number; startedAt: number }

export type RunView = {
  id: string
  preset: string
  status: 'open' | 'finished'
  end: RunEnd | null
  message: string
  paused: boolean
  startedAt: number
  endedAt: number
  iterations: number
  calls: number
  costUsd: number
  /** Calls whose cost is not known; `costUsd` is then a lower bound. */
  unknownCosts: number
  tokens: number
  budgets: BudgetLine[]
}

export type TaskView = {
  id: string
  title: string
  status: TaskStatus
  stage: string | null
  attempt: number
  attempts: number
  /** Id of the step under way, and since when; null between steps. */
  step: string | null
  since: number | null
  /** Nothing is done before this moment; null when it need not wait. */
  waitUntil: number | null
  needs: string[]
  /** Why it is where it is. */
  note: string
  lastFailure: { attempt: number; stage: string; reason: string; at: number } | null
  /** The gates that passed in this attempt so far. */
  gates: number
  changedFiles: number
}

export function emptyStatus(): StatusData {
  return {
    journal: false,
    counts: Object.fromEntries(taskStatuses.map(status => [status, 0])) as Record<TaskStatus, number>,
    proofs: { verified: 0, unverified: 0, recorded: 0 },
    engine: null,
    run: null,
    working: null,
    loops: null,
    unmerged: [],
    stopped: [],
    stoppedMore: 0,
    open: [],
    openMore: 0,
    requests: [],
  }
}

const stoppedStatuses: TaskStatus[] = ['halted', 'failed', 'held', 'cancelled']

/** Reads as little as it can: with ten thousand tasks, only those that are listed. */
export async function readStatus(store: Store, options: { now: number; most: number }): Promise<StatusData> {
  const { log, dispatch } = store
  const { now, most } = options
  const [counts, proofs, run, engine, pending] = await Promise.all([
    log.counts(),
    log.proofs(),
    log.lastRun(),
    engineNow(dispatch, now),
    dispatch.pending(),
  ])
  const rules = run?.rules ?? null
  const open = await firstOpen(log, most)
  const begun = open.find(one => one.begun)
  const stopped = stoppedStatuses.some(status => counts[status] > 0)
    ? await log.tasks({ status: stoppedStatuses, limit: most })
    : []
  return {
    journal: true,
    counts,
    proofs,
    engine: engine && {
      alive: engine.alive,
      what: engine.holder.what,
      pid: engine.holder.pid,
      host: engine.holder.host,
      since: engine.holder.since,
    },
    run: run && runView(run, now),
    working: begun ? taskView(begun.state, rules) : null,
    loops: loopsOf(
      open.map(one => one.state),
      rules,
      engine?.alive === true,
    ),
    unmerged: (await storedUnmerged(log)).map(({ task, branch, why }) => ({ task, branch, why })),
    stopped: stopped.map(one => taskView(one.state, rules)),
    stoppedMore: stoppedStatuses.reduce((sum, status) => sum + counts[status], 0) - stopped.length,
    open: open.map(one => taskView(one.state, rules)),
    openMore: Math.max(0, counts.open - open.length),
    requests: pending.map(({ kind, task, text, by, at }) => ({ kind, task, text, by, at })),
  }
}

function loopsOf(states: TaskState[], rules: Rules | null, alive: boolean): LoopView[] | null {
  const looping = Object.values(rules?.workflow.stages ?? {}).some(
    stage => stage.kind === 'agent' && stage.limit !== undefined,
  )
  if (!rules || !looping) return null
  return (alive ? states : []).flatMap(({ task, loop, visits }) => {
    const max = loop ? stageOf(rules.workflow, loop.stage)?.limit : undefined
    if (!loop || max === undefined) return []
    return [
      {
        task: labelOf(task),
        stage: loop.stage,
        iteration: visits[loop.stage] ?? 1,
        max,
        startedAt: loop.startedAt,
      },
    ]
  })
}

async function firstOpen(log: Log, most: number): Promise<{ begun: boolean; state: TaskState }[]> {
  const found: { begun: boolean; state: TaskState }[] = []
  for await (const candidate of log.candidates()) {
    if (found.length >= most) break
    const task = await log.task(candidate.id)
    if (task?.state.status === 'open') found.push({ begun: candidate.begun, state: task.state })
  }
  return found
}

function runView(run: RunState, now: number): RunView {
  const { id, status, end, message, paused, startedAt, endedAt, iterations, calls, costUsd, unknownCosts } =
    run
  return {
    id,
    preset: run.rules?.workflow.name ?? '',
    status,
    end,
    message,
    paused,
    startedAt,
    endedAt,
    iterations,
    calls,
    costUsd,
    unknownCosts,
    tokens: run.tokens,
    budgets: run.rules ? budgetLines(run.rules.workflow.limits, run, endedAt || now) : [],
  }
}

export function taskView(state: TaskState, rules: Rules | null): TaskView {
  const { n, of } = attemptCount(state, rules)
  const failure = state.recent.at(-1)
  const { change, gates } = state.evidence
  return {
    id: state.task.id,
    title: state.task.title,
    status: state.status,
    stage: state.step?.stage ?? state.stage,
    attempt: n,
    attempts: of,
    step: state.step?.id ?? null,
    since: state.step?.at ?? null,
    waitUntil: state.waitUntil > 0 ? state.waitUntil : null,
    needs: state.task.needs,
    note: state.note,
    lastFailure: failure
      ? { attempt: failure.attempt, stage: failure.stage, reason: failure.reason, at: failure.at }
      : null,
    gates: gates?.results.length ?? 0,
    changedFiles: (change?.files.length ?? 0) + (change?.more ?? 0),
  }
}
