import {
  type AnyEvent,
  eventVersion,
  type RunEventBody,
  type TaskEvent,
  type TaskEventBody,
} from '../core/event.ts'
import { foldRun, type RunState } from '../core/run.ts'
import { rankOf } from '../core/select.ts'
import type { TaskState } from '../core/state.ts'
import { type Rules, transition } from '../core/transition.ts'
import type { Reporter } from '../reporters/reporter.ts'
import { type Append, Conflict, type Log, runStream } from '../store/log.ts'
import type { Clock } from './clock.ts'
import { faultPoint } from './fault-point.ts'
import type { Lease } from './lease.ts'

/** The engine's pen: turns an event body into an event, folds it, appends it, tells the listeners. */
export type Journal = {
  rules: Rules
  /** The fold of the run so far. */
  run(): RunState
  task(id: string): Promise<TaskState | null>
  record(id: string, body: TaskEventBody): Promise<TaskState>
  recordAll(entries: { id: string; body: TaskEventBody }[]): Promise<void>
  recordRun(body: RunEventBody): Promise<void>
  /** Last sequence number this engine knows of a stream, to see whether somebody wrote behind its back. */
  known(id: string): number
  /** Events recorded since the last call, each with the fold after it. */
  takeNews(): News[]
}

export type News = { task: string; event: TaskEvent; after: TaskState }

export function openJournal(options: {
  log: Log
  rules: Rules
  run: RunState
  runSeq: number
  lease: Lease
  clock: Clock
  report: Reporter
}): Journal {
  const { log, rules, lease, clock, report } = options
  const cache = new Map<string, { seq: number; state: TaskState }>()
  let run = options.run
  let runSeq = options.runSeq
  let news: News[] = []

  const load = async (id: string) => {
    const known = cache.get(id)
    if (known) return known
    const stored = await log.task(id)
    if (!stored) return null
    const entry = { seq: stored.seq, state: stored.state }
    cache.set(id, entry)
    return entry
  }
  const envelope = () => ({ v: eventVersion, at: clock.now(), run: run.id })
  const tell = (event: AnyEvent, stream: string, state: TaskState | null) =>
    report.event?.(event, { stream, state, run })

  /** Whoever was frozen for too long finds out here at the latest: the log refuses what comes under an old lease. */
  const append = async (entries: Append[]) => {
    try {
      await log.append(entries, lease.fence)
    } catch (error) {
      if (error instanceof Conflict) await lease.confirm()
      throw error
    }
  }

  const recordAll = async (entries: { id: string; body: TaskEventBody }[]) => {
    const appends: Append[] = []
    const fresh = new Map<string, { seq: number; state: TaskState }>()
    const told: { event: TaskEvent; id: string; state: TaskState }[] = []
    let nextRun = run
    for (const { id, body } of entries) {
      const before = fresh.get(id) ?? (await load(id))
      const event: TaskEvent = { ...envelope(), ...body }
      const { state } = transition(rules, before?.state ?? null, event)
      nextRun = foldRun(nextRun, event)
      const seq = (before?.seq ?? 0) + 1
      fresh.set(id, { seq, state })
      told.push({ event, id, state })
      appends.push({
        stream: id,
        seq,
        event,
        state,
        rank: rankOf(rules.workflow, state),
        run: nextRun,
      })
    }
    await append(appends)
    run = nextRun
    for (const [id, entry] of fresh) cache.set(id, entry)
    for (const { event, id, state } of told) {
      news.push({ task: id, event, after: state })
      tell(event, id, state)
      faultPoint('event')
    }
  }

  return {
    rules,
    run: () => run,
    task: async id => (await load(id))?.state ?? null,
    known: id => cache.get(id)?.seq ?? 0,
    recordAll,
    record: async (id, body) => {
      await recordAll([{ id, body }])
      const entry = cache.get(id)
      if (!entry) throw new Error(`no state for task ${id}`)
      return entry.state
    },
    recordRun: async body => {
      const event = { ...envelope(), ...body }
      const next = foldRun(run, event)
      await append([{ stream: runStream(run.id), seq: runSeq + 1, event, run: next }])
      run = next
      runSeq += 1
      tell(event, runStream(run.id), null)
      faultPoint('event')
    },
    takeNews: () => {
      const taken = news
      news = []
      return taken
    },
  }
}
