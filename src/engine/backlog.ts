import type { TaskEventBody } from '../core/event.ts'
import { sameTask, type Task } from '../core/task.ts'
import type { Continued, Recorded } from '../layouts/layout.ts'
import type { Log } from '../store/log.ts'
import type { Context } from './context.ts'
import type { Journal } from './journal.ts'

/**
 * Brings the journal in line with the backlog's files: new, changed and removed tasks, and those that the preset's own
 * files record as done although the journal knows nothing of it (a lost `.ralph/`, a project that the seed's own script ran).
 */
export async function syncBacklog(options: {
  tasks: Task[]
  recorded: Recorded[]
  continued: Continued[]
  log: Log
  journal: Journal
}): Promise<void> {
  const { tasks, recorded, continued, log, journal } = options
  const stored = new Map((await log.tasks()).map(one => [one.id, one.state]))
  const entries: { id: string; body: TaskEventBody }[] = []
  const present = new Set<string>()
  const added = new Set<string>()
  for (const task of tasks) {
    present.add(task.id)
    const known = stored.get(task.id)
    if (!known) {
      added.add(task.id)
      entries.push({ id: task.id, body: { type: 'task.added', task } })
    } else if (known.status === 'removed' || !sameTask(known.task, task)) {
      entries.push({ id: task.id, body: { type: 'task.changed', task } })
    }
  }
  for (const [id, state] of stored) {
    if (!present.has(id) && state.status !== 'removed') entries.push({ id, body: { type: 'task.removed' } })
  }
  // Only a task the journal has never seen is taken on the files' word: afterwards the journal is the truth.
  for (const { id, source, stage } of recorded) {
    if (!added.has(id)) continue
    if (stage === undefined) entries.push({ id, body: { type: 'task.recorded', source } })
    else entries.push({ id, body: { type: 'task.moved', stage, source } })
  }
  for (const { id, ...earlier } of continued)
    if (added.has(id)) entries.push({ id, body: { type: 'task.continued', ...earlier } })
  if (entries.length > 0) await journal.recordAll(entries)
}

/** An agent may have added to the backlog, or split a task of it. */
export async function readBacklogAgain({ layout, project, store, journal }: Context): Promise<void> {
  const { tasks, problems } = layout.read(project)
  // A backlog that cannot be read says nothing about its tasks, least of all that they are gone.
  if (tasks.length === 0 && problems.length > 0) return
  await syncBacklog({ tasks, recorded: [], continued: [], log: store.log, journal })
}
