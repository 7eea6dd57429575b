import { UserError } from '../core/errors.ts'
import type { TaskEvent } from '../core/event.ts'
import type { Outcome } from '../core/outcome.ts'
import type { TaskState } from '../core/state.ts'
import type { Log, StoredEvent } from '../store/log.ts'
import { createTeller, pagesFromEnd } from './event-lines.ts'

/** One step as the journal tells it. */
export type StepRecord = {
  step: string
  task: string
  stage: string
  startedAt: number
  /** Null while it is under way, or when nobody has found yet that it was cut off. */
  endedAt: number | null
  outcome: Outcome | null
  interrupted: { why: string; kept: string | null } | null
  /** The task before the step's end, and right after it (or as it is now). */
  before: TaskState
  after: TaskState
}

type Started = Extract<TaskEvent, { type: 'step.started' }>

/** By `<run>/<number>`, by number alone (of the run that made the last step), or the last step of all. */
export async function findStep(log: Log, wanted: string | undefined): Promise<StepRecord> {
  const later: StoredEvent[] = []
  let id = wanted === undefined || !wanted.includes('/') ? null : fullId(wanted)
  for await (const page of pagesFromEnd(log)) {
    for (const stored of page.toReversed()) {
      const { event } = stored
      if (event.type === 'step.finished' || event.type === 'step.interrupted') later.push(stored)
      if (event.type !== 'step.started') continue
      id ??= wanted === undefined ? event.step : fullId(`${event.run}/${wanted}`)
      if (event.step === id) return record(log, stored, event, later)
    }
  }
  if (id === null) throw new UserError('no step was made here yet', 'Begin with `ralph run`.')
  throw new UserError(
    `there is no step ${wanted}`,
    '`ralph show` shows the last one; `ralph logs` tells of all.',
  )
}

/** Folders have four digits or more: `…/7` is `…/0007`. */
function fullId(step: string): string {
  const cut = step.lastIndexOf('/')
  return `${step.slice(0, cut)}/${step.slice(cut + 1).padStart(4, '0')}`
}

async function record(
  log: Log,
  stored: StoredEvent,
  started: Started,
  later: StoredEvent[],
): Promise<StepRecord> {
  const tell = createTeller(log)
  const before = (await tell(stored)).state
  if (!before) throw new Error(`no state for task ${stored.stream}`)
  const end = later.findLast(
    one => one.stream === stored.stream && 'step' in one.event && one.event.step === started.step,
  )
  const after = end ? (await tell(end)).state : null
  const event = end?.event
  return {
    step: started.step,
    task: stored.stream,
    stage: started.stage,
    startedAt: started.at,
    endedAt: event?.at ?? null,
    outcome: event?.type === 'step.finished' ? event.outcome : null,
    interrupted: event?.type === 'step.interrupted' ? { why: event.why, kept: event.kept } : null,
    before,
    after: after ?? before,
  }
}

export type StepVerdict = {
  verdict: 'accepted' | 'rejected' | 'refunded' | 'interrupted' | 'running' | 'seen'
  reason: string
}

/** What came of the step, read from how the task stood before and after it. */
export function stepVerdict({ outcome, interrupted, after, endedAt }: StepRecord): StepVerdict {
  if (interrupted) return { verdict: 'interrupted', reason: `${interrupted.why}; it does not count` }
  if (!outcome) return { verdict: 'running', reason: 'no end is recorded; it is under way, or was cut off' }
  if (outcome.kind === 'commands' && outcome.purpose === 'baseline') {
    const red = outcome.results.filter(result => result.exit !== 0).length
    return {
      verdict: 'seen',
      reason: red === 0 ? 'all gates green before the task' : `${red} red before the task`,
    }
  }
  const failure = after.recent.at(-1)
  if (failure && failure.at === endedAt) return { verdict: 'rejected', reason: failure.reason }
  if (outcome.kind === 'agent' && outcome.fault && (after.status === 'held' || after.waitUntil > 0)) {
    return { verdict: 'refunded', reason: `${outcome.fault.message}; it does not count as a try` }
  }
  return { verdict: 'accepted', reason: outcome.kind === 'agent' ? 'goes on to be verified' : '' }
}
