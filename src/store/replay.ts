import { UserError } from '../core/errors.ts'
import { type AnyEvent, eventVersion, isRunEvent, type TaskEvent } from '../core/event.ts'
import { foldRun, newRunState, type RunState } from '../core/run.ts'
import { rankOf } from '../core/select.ts'
import type { TaskState } from '../core/state.ts'
import { transition } from '../core/transition.ts'
import type { Append } from './log.ts'

/** What the events of a journal amount to. */
export type Folds = { tasks: Map<string, TaskState>; runs: Map<string, RunState> }

/** Folds a journal from its start, each event by the workflow of the run that wrote it. */
export function replay(events: Iterable<{ stream: string; event: AnyEvent }>): Folds {
  const folds = newFolds()
  for (const { stream, event } of events) foldEvent(folds, stream, event)
  return folds
}

export function newFolds(): Folds {
  return { tasks: new Map(), runs: new Map() }
}

export type Folded = { run: RunState; state: TaskState | null }

/** Adds one event to the folds, and says what its task and its run have become. */
export function foldEvent(folds: Folds, stream: string, event: AnyEvent): Folded {
  const run = foldRun(folds.runs.get(event.run) ?? newRunState(event.run), event)
  const state = isRunEvent(event) ? null : foldTask(folds, stream, event, run)
  folds.runs.set(event.run, run)
  if (state) folds.tasks.set(stream, state)
  return { run, state }
}

function foldTask(folds: Folds, stream: string, event: TaskEvent, run: RunState): TaskState {
  if (!run.rules) throw new Error(`'${stream}' has an event of run '${run.id}', whose start is not recorded`)
  return transition(run.rules, folds.tasks.get(stream) ?? null, event).state
}

/** A folded event as the log takes it. */
export function entryOf(
  { stream, seq, event }: { stream: string; seq: number; event: AnyEvent },
  { run, state }: Folded,
): Append {
  if (isRunEvent(event)) return { stream, seq, event, run }
  if (!state || !run.rules) throw new Error(`'${stream}' has no state`)
  return { stream, seq, event, state, rank: rankOf(run.rules.workflow, state), run }
}

/** Lifts an event of an older version to today's shape. Version 1 is the only one so far. */
export function upgradeEvent(raw: unknown): AnyEvent {
  if (!isEnvelope(raw)) throw new Error('not an event')
  if (raw.v > eventVersion || !Object.hasOwn(knownTypes, raw.type)) {
    throw new UserError(
      `the journal has an event '${raw.type}' of version ${raw.v}, which this Ralph does not know`,
      'Upgrade Ralph.',
    )
  }
  return raw as AnyEvent
}

function isEnvelope(raw: unknown): raw is { v: number; type: string } {
  if (typeof raw !== 'object' || raw === null) return false
  const { v, at, run, type } = raw as Record<string, unknown>
  return (
    Number.isInteger(v) &&
    Number(v) >= 1 &&
    typeof at === 'number' &&
    typeof run === 'string' &&
    typeof type === 'string'
  )
}

/** The core takes every event for one it knows; what comes from outside is looked at here. */
const knownTypes: Record<AnyEvent['type'], true> = {
  'run.started': true,
  'run.finished': true,
  'run.reviewed': true,
  'run.paused': true,
  'run.resumed': true,
  'task.added': true,
  'task.changed': true,
  'task.removed': true,
  'task.recorded': true,
  'task.continued': true,
  'task.reopened': true,
  'task.cancelled': true,
  'task.steered': true,
  'task.moved': true,
  'step.started': true,
  'step.finished': true,
  'step.interrupted': true,
}
