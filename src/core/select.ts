import type { TaskState } from './state.ts'
import type { Task } from './task.ts'
import type { SelectionRule, Workflow } from './workflow.ts'

/**
 * The place of a task among its peers as one sortable number, lowest first, so that a store can keep it in an index
 * and the next of ten thousand tasks is found without reading them all.
 */
export function rank(rule: SelectionRule, task: Task): number {
  const order = Math.min(task.order, 999_999)
  switch (rule) {
    case 'order':
      return order
    // A task without a score sorts last.
    case 'complexity':
      return (task.complexity ?? 999_999) * 1_000_000 + order
    case 'priority':
      return (task.priority ?? 999_999) * 1_000_000 + order
    default:
      return rule satisfies never
  }
}

/** The same for a task as it stands: one at a stage that goes first comes before all that are not. */
export function rankOf({ select, first = [] }: Workflow, { task, status, stage }: TaskState): number {
  const at = status === 'open' && stage !== null ? first.indexOf(stage) : -1
  return rank(select, task) - (at < 0 ? 0 : (first.length - at) * 1e13)
}

/** What a selector must know of a task; a store can answer it without the whole state. */
export type Candidate = { id: string; needs: string[]; begun: boolean; waitUntil: number }

export type Choice = { type: 'task'; id: string } | { type: 'wait'; until: number } | { type: 'none' }

/**
 * Takes the first candidate, in rank order, that may go on now: work already begun first (a half-done task blocks the
 * tree), then the first whose needs are all done.
 */
export function choose(
  candidates: Iterable<Candidate>,
  isDone: (id: string) => boolean,
  now: number,
): Choice {
  let first: Candidate | null = null
  let earliest = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    if (candidate.begun) {
      if (candidate.waitUntil > now) return { type: 'wait', until: candidate.waitUntil }
      return { type: 'task', id: candidate.id }
    }
    if (first || !candidate.needs.every(isDone)) continue
    if (candidate.waitUntil > now) earliest = Math.min(earliest, candidate.waitUntil)
    else first = candidate
  }
  if (first) return { type: 'task', id: first.id }
  return Number.isFinite(earliest) ? { type: 'wait', until: earliest } : { type: 'none' }
}

/**
 * Work has begun that must be finished or put back before another task may use the tree. That holds for a task that
 * has ended too, as long as its work waits to be put back.
 */
export function isBegun(state: TaskState): boolean {
  const { status, next, step, base } = state
  if (status !== 'open') return next?.type === 'restore'
  return (
    state.chosen === true ||
    step !== null ||
    base !== null ||
    next?.type === 'restore' ||
    next?.type === 'settle'
  )
}

export type DependencyProblem = { id: string; message: string }

/** Unknown needs and cycles, found before any agent is called. */
export function dependencyProblems(tasks: Task[]): DependencyProblem[] {
  const byId = new Map(tasks.map(task => [task.id, task]))
  const problems: DependencyProblem[] = []
  for (const task of tasks) {
    for (const need of new Set(task.needs)) {
      if (!byId.has(need))
        problems.push({ id: task.id, message: `needs '${need}', which is not in the backlog` })
    }
  }
  for (const cycle of cycles(byId)) {
    problems.push({ id: cycle[0] ?? '', message: `dependency cycle: ${[...cycle, cycle[0]].join(' → ')}` })
  }
  return problems
}

/**
 * One cycle for each need that closes one: without these needs there is no cycle left. Depth-first search without
 * recursion, because a backlog may be a chain of thousands.
 */
function cycles(byId: Map<string, Task>): string[][] {
  const found: string[][] = []
  const state = new Map<string, 'open' | 'closed'>()
  for (const root of byId.keys()) {
    if (state.has(root)) continue
    const entry = (id: string) => ({ id, needs: [...new Set(byId.get(id)?.needs)], next: 0 })
    const path = [entry(root)]
    state.set(root, 'open')
    while (path.length > 0) {
      const top = path[path.length - 1]
      if (!top) break
      const need = top.needs[top.next++]
      if (need === undefined) {
        state.set(top.id, 'closed')
        path.pop()
      } else if (state.get(need) === 'open') {
        found.push(path.slice(path.findIndex(one => one.id === need)).map(one => one.id))
      } else if (!state.has(need) && byId.has(need)) {
        state.set(need, 'open')
        path.push(entry(need))
      }
    }
  }
  return found
}

/**
 * Open tasks that can never be chosen as things stand, each with the needs that are in the way: a need that is not in
 * the backlog, that ended without being done, or that is itself blocked.
 */
export function blockedTasks(states: Iterable<TaskState>): { id: string; missing: string[] }[] {
  const all = [...states]
  const done = new Set(all.filter(state => state.status === 'done').map(state => state.task.id))
  const open = all.filter(state => state.status === 'open')
  const free = new Set(done)
  const waiting = new Map<string, TaskState[]>()
  const missing = new Map(
    open.map(state => [state, new Set(state.task.needs.filter(need => !done.has(need)))]),
  )
  const ready = open.filter(state => isBegun(state) || missing.get(state)?.size === 0)
  for (const [state, needs] of missing) {
    for (const need of needs) {
      const others = waiting.get(need)
      if (others) others.push(state)
      else waiting.set(need, [state])
    }
  }
  for (let state = ready.pop(); state; state = ready.pop()) {
    if (free.has(state.task.id)) continue
    free.add(state.task.id)
    for (const other of waiting.get(state.task.id) ?? []) {
      missing.get(other)?.delete(state.task.id)
      if (missing.get(other)?.size === 0) ready.push(other)
    }
  }
  return open
    .filter(state => !free.has(state.task.id))
    .map(state => ({ id: state.task.id, missing: state.task.needs.filter(need => !free.has(need)) }))
}
