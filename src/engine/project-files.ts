import type { TaskState } from '../core/state.ts'
import { transition } from '../core/transition.ts'
import type { JournalView } from '../layouts/layout.ts'
import type { Log } from '../store/log.ts'
import type { Context } from './context.ts'
import { guardFiles } from './file-guard.ts'
import type { News } from './journal.ts'
import { allTasks } from './known-tasks.ts'

/** Number of the last event whose consequences stand in the preset's files. */
const cursor = 'projected'

/** Brings the preset's own files up to date with what was just recorded. */
export async function projectFiles(context: Context): Promise<void> {
  const news = context.journal.takeNews()
  if (news.length > 0) await write(context, news)
}

/** At the start: what was recorded but perhaps not written before a crash comes again; layouts write each thing once. */
export async function catchUpFiles(context: Context): Promise<void> {
  const missed = await missedEvents(context)
  context.journal.takeNews()
  await write(context, missed)
}

/** What was recorded since the preset's files were last written. */
export async function missedEvents({ store }: Context): Promise<News[]> {
  return missedSince(store.log, Number((await store.log.getNote(cursor)) ?? '0'))
}

/** The last writing of a run: its end is known now. */
export async function closeFiles(context: Context): Promise<void> {
  await write(context, context.journal.takeNews())
}

async function write(context: Context, events: News[]): Promise<void> {
  const { layout, project, store } = context
  await context.lease.assertHeld()
  const upTo = await store.log.lastId()
  const view = await journalView(context, events)
  await guardFiles(context.lease.assertNotOver, () => layout.write(project, view))
  // A backlog that agents write in may lie where git does not look; then it must not come into a position this way.
  if (layout.growing) context.workspace.outdated()
  else context.workspace.wrote(events.map(one => one.after.task.spec))
  // That a step has begun may be written twice; what follows it soon is noted in any case.
  const begun = events.length > 0 && events.every(one => one.event.type === 'step.started')
  if (!begun) await store.log.setNote(cursor, String(upTo))
}

export async function journalView(
  { journal, store, clock }: Pick<Context, 'journal' | 'store' | 'clock'>,
  events: News[] = [],
): Promise<JournalView> {
  const run = journal.run()
  return {
    tasks: await allTasks(store.log),
    events,
    attempts: journal.rules.workflow.limits.attempts ?? 0,
    rules: journal.rules,
    run,
    end: run.end,
    now: clock.now(),
  }
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
