import { blockedTasks } from '../../core/select.ts'
import type { TaskState } from '../../core/state.ts'
import { labelOf } from '../../core/task.ts'
import { type Rules, stageOf } from '../../core/workflow.ts'
import { isStep, type Step, type StoredFacts } from './plan-file.ts'

/** Where the loop of one spec stands: the head of `state` in `fix_plan.json`. */
export type Position = {
  step: Step
  /** The task that is worked on, or that failed. */
  current: TaskState | null
  error: string | null
}

export type Standing = {
  /** All tasks of the journal, in rank order. */
  tasks: readonly TaskState[]
  /** Ids of the spec's tasks, and of those in range. */
  own: (id: string) => boolean
  scope: ReadonlySet<string>
  rules: Rules
  /** How the run over this scope ended, and its last words; null while it goes on. */
  end: { reason: string; message: string } | null
  /** What the file said before, when it is of the same range. */
  before: StoredFacts | null
}

/** Derived from the journal. What only a file can know is taken from there: that the end was reached, or what was in the way. */
export function positionOf(standing: Standing): Position {
  const { tasks, own, scope, rules, end, before } = standing
  const current = tasks.find(state => own(state.task.id) && isCurrent(rules, state))
  if (current) return { step: stepOf(rules, current.stage ?? ''), current, error: null }
  const meant = tasks.filter(state => scope.has(state.task.id) && state.status !== 'removed')
  const failed = meant
    .filter(state => state.status === 'halted' || state.status === 'failed')
    .reduce<TaskState | null>((last, state) => (last && last.endedAt > state.endedAt ? last : state), null)
  if (failed) return { step: 'failed', current: failed, error: errorOf(rules, failed) }
  const left = meant.filter(state => !isDone(state))
  if (left.length === 0) {
    const reached = end?.reason === 'complete' || before?.step === 'complete'
    return { step: reached ? 'complete' : 'choose_task', current: null, error: null }
  }
  if (!hasReady(tasks, left)) {
    if (end && isStop(end.reason)) return { step: 'failed', current: null, error: end.message }
    if (before?.step === 'failed' && before.error)
      return { step: 'failed', current: null, error: before.error }
  }
  return { step: 'choose_task', current: null, error: null }
}

/** Nothing is left to choose, though not all is done (H-02). */
function isStop(reason: string): boolean {
  return reason === 'blocked' || reason === 'cancelled' || reason === 'failed'
}

/** Chosen and not ended. Done, but for the commit, is done: the files that go into the commit say so (H-07). */
function isCurrent({ workflow }: Rules, { status, stage, next }: TaskState): boolean {
  const live = status === 'open' || status === 'held'
  return live && stage !== null && stage !== workflow.start && next?.type !== 'settle'
}

export function isDone({ status, next, evidence }: TaskState): boolean {
  if (status === 'removed') return evidence.head !== undefined || evidence.recorded !== undefined
  return status === 'done' || next?.type === 'settle'
}

/** Some task can be chosen. */
export function hasReady(tasks: readonly TaskState[], left: readonly TaskState[]): boolean {
  const done = new Set(tasks.filter(isDone).map(state => state.task.id))
  return left.some(state => state.status === 'open' && state.task.needs.every(need => done.has(need)))
}

/** A workflow of the user's own may have other stages; they are shown as the nearest of the ten. */
function stepOf({ workflow }: Rules, stage: string): Step {
  if (isStep(stage)) return stage
  const found = stageOf(workflow, stage)
  if (found?.kind === 'agent') return found.review === true ? 'review' : 'implementation'
  return 'update_done'
}

/** The seed's words (S0-23 to S0-25); the engine's own gates have no words in it. */
function errorOf(rules: Rules, { endedIn, note }: TaskState): string {
  if (endedIn === 'implementation' || endedIn === 'fix') return `${endedIn} failed`
  if (endedIn === 'review') return `review failed after ${reviewCap(rules)} retries`
  if (endedIn === 'update_done') return `verification failed: ${note}`
  return note || 'unknown'
}

/** Reviews per task, in total. */
export function reviewCap({ workflow }: Rules): number {
  const review = stageOf(workflow, 'review')
  const edge = review?.on.fail
  return typeof edge === 'object' ? edge.max + 1 : 3
}

/** Failed reviews of this pass; the last one leads nowhere and is counted by its end (S0-28). */
export function retriesOf({ taken, status, endedIn }: TaskState): number {
  const counted = Object.hasOwn(taken, 'review.fail') ? (taken['review.fail'] ?? 0) : 0
  return counted + (status === 'halted' && endedIn === 'review' ? 1 : 0)
}

/** `TASK-040 needs TASK-035`, for what can never be chosen as things stand. */
export function blockedText(tasks: readonly TaskState[], scope: ReadonlySet<string>): string[] {
  const labels = new Map(tasks.map(state => [state.task.id, labelOf(state.task)]))
  const named = (id: string) => labels.get(id) ?? id.split('/').pop() ?? id
  return blockedTasks(tasks)
    .filter(({ id }) => scope.has(id))
    .map(({ id, missing }) => `${named(id)} needs ${missing.map(named).join(', ')}`)
}
