import { type AnyEvent, isRunEvent } from '../core/event.ts'
import type { RunState } from '../core/run.ts'
import type { TaskState } from '../core/state.ts'
import { type Rules, transition } from '../core/transition.ts'
import { describeEvent, type Line } from '../reporters/describe.ts'
import type { Log, StoredEvent } from '../store/log.ts'

/** An event of the journal with what its task had become right after it, as reporters get them live. */
export type Told = StoredEvent & { state: TaskState | null; rules: Rules | null; line: Line | null }

/** Tells stored events in order. A task's earlier events are read once, when its first one comes. */
export function createTeller(log: Log): (stored: StoredEvent) => Promise<Told> {
  const known = new Map<string, { seq: number; state: TaskState }>()
  const runs = new Map<string, RunState | null>()

  const rulesOf = async (event: AnyEvent): Promise<Rules | null> => {
    if (!runs.has(event.run)) runs.set(event.run, await log.run(event.run))
    return runs.get(event.run)?.rules ?? null
  }
  const fold = async (before: TaskState | null, event: AnyEvent): Promise<TaskState | null> => {
    const rules = await rulesOf(event)
    return isRunEvent(event) || !rules ? before : transition(rules, before, event).state
  }
  const stateAfter = async ({ stream, seq, event }: StoredEvent): Promise<TaskState | null> => {
    const before = known.get(stream)
    let state: TaskState | null = before?.seq === seq - 1 ? await fold(before.state, event) : null
    if (!state) {
      for await (const earlier of log.events({ stream })) {
        if (earlier.seq > seq) break
        state = await fold(state, earlier.event)
      }
    }
    if (state) known.set(stream, { seq, state })
    return state
  }
  return async stored => {
    const state = isRunEvent(stored.event) ? null : await stateAfter(stored)
    const rules = await rulesOf(stored.event)
    return { ...stored, state, rules, line: describeEvent(stored.event, state, rules?.workflow) }
  }
}

/** Pages of events, the newest page first; within a page oldest first. */
export async function* pagesFromEnd(log: Log): AsyncGenerator<StoredEvent[]> {
  let end = await log.lastId()
  for (let size = 250; end > 0; size = Math.min(size * 4, 20_000)) {
    const start = Math.max(0, end - size)
    const page: StoredEvent[] = []
    for await (const stored of log.events({ after: start, limit: end - start })) {
      if (stored.id > end) break
      page.push(stored)
    }
    yield page
    end = start
  }
}
