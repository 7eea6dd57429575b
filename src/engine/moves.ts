import type { FoundWork } from '../core/event.ts'
import { matchesAny } from '../core/glob.ts'
import type { TaskState } from '../core/state.ts'
import type { Context } from './context.ts'
import { journalView, missedEvents } from './project-files.ts'

/** What a person changed in the preset's own files since they were written counts: the files are his to edit (S0-06). */
export async function takeMoves(context: Context): Promise<void> {
  const { layout, project, journal } = context
  if (!layout.moves) return
  const moves = layout.moves(project, await journalView(context, await missedEvents(context)))
  for (const { id, ...move } of moves) {
    const state = await journal.task(id)
    const stopped = state?.status === 'halted' || state?.status === 'failed'
    // Whoever sets a task going again that was given up gives it its tries back.
    if (stopped) await journal.record(id, { type: 'task.reopened', why: `set going again by ${move.source}` })
    const work = stopped ? await foundWork(context, state) : {}
    await journal.record(id, { type: 'task.moved', ...move, ...work })
  }
}

/** What a task that was given up has left in the tree, and what a person has done there since. */
export async function foundWork(
  { workspace, layout, settings, protect }: Context,
  { base }: TaskState,
): Promise<{ work?: FoundWork }> {
  if (!base) return {}
  const { tree } = await workspace.position()
  const notWork = [...layout.owned, settings.log, ...protect]
  const changed = await workspace.changedBetween(base.tree, tree)
  const files = changed.filter(file => !matchesAny(file.path, notWork))
  return { work: { tree, files: files.slice(0, 200), more: Math.max(0, files.length - 200) } }
}
