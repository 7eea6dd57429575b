/** The smallest unit that can be completed, as the backlog defines it. How far it is stands in `TaskState`. */
export type Task = {
  id: string
  /** What people call it, where the id holds more than that (`001-feature/TASK-036`). */
  label?: string
  /** Another edition under the same id is another task: it begins anew. */
  edition?: string
  title: string
  /** Path of the spec from the project root; empty when the layout keeps the spec elsewhere. */
  spec: string
  /** Ids of the tasks that must be done before this one. */
  needs: string[]
  /** Place in the backlog as the layout reads it, from 0. */
  order: number
  /** Lower is more urgent. */
  priority?: number
  /** Lower is simpler. */
  complexity?: number
  /** Commands of this task alone; when they pass without any change, the task was satisfied already. */
  verify: string[]
  /** Globs of otherwise protected files that the task's own spec lets the agent change. */
  allows: string[]
}

export const taskStatuses = ['open', 'done', 'halted', 'failed', 'cancelled', 'held', 'removed'] as const

/**
 * open: pending or under work · done: proven, or recorded by the preset's own files · halted: tries used up, a
 * person must look · failed: given up, the run goes on without it · cancelled: a person said so · held: stopped by
 * something that is not the task's fault (login, permission, outage) · removed: no longer in the backlog.
 */
export type TaskStatus = (typeof taskStatuses)[number]

export function sameTask(a: Task, b: Task): boolean {
  return JSON.stringify(normal(a)) === JSON.stringify(normal(b))
}

function normal(task: Task): unknown[] {
  const { id, title, spec, needs, order, priority, complexity, verify, allows, label, edition } = task
  const optional = [priority, complexity, label, edition].map(value => value ?? null)
  return [id, title, spec, needs, order, verify, allows, ...optional]
}

export function labelOf(task: Task): string {
  return task.label ?? task.id
}
