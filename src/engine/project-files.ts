import type { TaskState } from '../core/state.ts'
import { transition } from '../core/transition.ts'
import type { Log } from '../store/log.ts'
import type { Context } from './context.ts'
import { guardFiles } from './file-guard.ts'
import type { News } from './journal.ts'

/** Number of the last event whose consequences stand in the preset's files. */
const cursor = 'projected'

/** Brings the preset's own files up to date with what was just recorded. */
export async function projectFiles(context: Context): Promise<void> {
  const news = context.journal.takeNews()
  if (news.length > 0) await write(context, news)
}

/** At the start: what was recorded but perhaps not written before a crash comes again; layouts write each thing once. */
export async function catchUpFiles(context: Context): Promise<void> {
  const from = Number((await context.store.log.getNote(cursor)) ?? '0')
  context.journal.takeNews()
  await write(context, await missedSince(context.store.log, from))
}

async function write(context: Context, events: News[]): Promise<void> {
  const { journal, layout, project, store } = context
  await context.lease.assertHeld()
  const upTo = await store.log.lastId()
  const tasks = await store.log.tasks()
  const view = {
    tasks: tasks.map(one => one.state),
    events,
    attempts: journal.rules.workflow.limits.attempts ?? 0,
  }
  await guardFiles(context.lease.assertNotOver, () => layout.write(project, view))
  context.workspace.wrote(events.map(one => one.after.task.spec))
  await store.log.setNote(cursor, String(upTo))
}

async function missedSince(log: Log, from: number): Promise<News[]> {
  const streams = new Set<string>()
  for await (const { stream } of log.events({ after: from }))
    if (!stream.startsWith('run:')) streams.add(stream)
  const missed: (News & { id: number })[] = []
  for (const stream of streams) {
    let state: TaskState | null = null
    for await (const { id, event } of log.events({ stream })) {
      if (event.type.startsWith('run.')) continue
      const rules = (await log.run(event.run))?.rules
      if (!rules) continue
      const taskEvent = event as News['event']
      state = transition(rules, state, taskEvent).state
      if (id > from) missed.push({ id, task: stream, event: taskEvent, after: state })
    }
  }
  return missed.sort((a, b) => a.id - b.id)
}
