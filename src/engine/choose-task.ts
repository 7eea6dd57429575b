import { type Candidate, type Choice, choose } from '../core/select.ts'
import type { Log } from '../store/log.ts'

/** What the user asked a run to cover. */
export type Scope = {
  /** Only these tasks; null = all. */
  only: Set<string> | null
  /** Tasks whose needs are not done are passed over. */
  strict: boolean
}

/** The next task, without reading more of the backlog than needed: the store gives candidates in order, begun ones first. */
export async function chooseTask(log: Log, scope: Scope, now: number): Promise<Choice> {
  const waiting: Candidate[] = []
  for await (const candidate of log.candidates()) {
    // Work already begun comes first whatever was asked for: it occupies the tree.
    const inScope = candidate.begun || scope.only === null || scope.only.has(candidate.id)
    if (!inScope || (scope.strict && !candidate.begun && !(await allDone(log, candidate.needs)))) continue
    const ready = { ...candidate, needs: [] }
    if (candidate.begun || candidate.waitUntil <= now) return choose([ready], () => true, now)
    waiting.push(ready)
  }
  return choose(waiting, () => true, now)
}

async function allDone(log: Log, ids: string[]): Promise<boolean> {
  for (const id of ids) if (!(await log.isDone(id))) return false
  return true
}
