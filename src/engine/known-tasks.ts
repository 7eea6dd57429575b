import type { TaskState } from '../core/state.ts'
import type { Log, StoredTask } from '../store/log.ts'

/** What was read of a journal before, by the journal itself: losing it costs time, nothing else. */
const known = new WeakMap<Log, { upTo: number; tasks: Map<string, StoredTask> }>()

/**
 * The states of all tasks, in rank order. Asked for at each writing of the preset's files, of which only a few tasks have
 * changed: only those are read again.
 */
export async function allTasks(log: Log): Promise<TaskState[]> {
  const upTo = await log.lastId()
  const before = known.get(log)
  const tasks = before?.tasks ?? byId(await log.tasks())
  let ordered = true
  if (before && before.upTo !== upTo) {
    const touched = new Set<string>()
    for await (const { stream } of log.events({ after: before.upTo })) touched.add(stream)
    for (const id of touched) {
      const task = id.startsWith('run:') ? null : await log.task(id)
      if (!task) continue
      if (tasks.get(id)?.rank !== task.rank) ordered = false
      tasks.set(id, task)
    }
  }
  const current = ordered ? tasks : byId([...tasks.values()].sort(byRank))
  known.set(log, { upTo, tasks: current })
  return [...current.values()].map(one => one.state)
}

function byId(tasks: StoredTask[]): Map<string, StoredTask> {
  return new Map(tasks.map(task => [task.id, task]))
}

function byRank(a: StoredTask, b: StoredTask): number {
  return a.rank - b.rank || (a.id < b.id ? -1 : 1)
}
