import type { TaskStatus } from '../core/task.ts'
import type { Rules } from '../core/transition.ts'
import { fits } from '../core/walk.ts'
import type { Context } from './context.ts'
import { foundWork } from './moves.ts'

/** What a new run makes of tasks that were given up. */
export type Again = {
  keepRetries: boolean
  /** Tasks that ran out of tries go on where they stopped (`resume`), or begin anew although the preset leaves them (`fresh`). */
  again?: 'resume' | 'fresh'
  /** The tasks this run is about; null = all. */
  only: ReadonlySet<string> | null
}

/** H-26: a new run gives a task that ran out of tries its tries back, unless the user or the preset says otherwise. */
export async function reopenStopped(context: Context, open: Again): Promise<void> {
  const { journal, store } = context
  const { keepRetries, again } = open
  const { workflow } = journal.rules
  const stays = keepRetries || (workflow.halted === 'stay' && again === undefined)
  // Skipped for this run, not for ever.
  const skipped = again || workflow.onExhausted === 'branch-and-skip' ? ['failed' as const] : []
  const statuses: TaskStatus[] = stays ? ['held'] : ['halted', 'held', ...skipped]
  const meant = (id: string) => open.only === null || open.only.has(id)
  for (const { id, state } of await store.log.tasks({ status: statuses })) {
    const { endedIn, status } = state
    if ((status === 'failed' || (status === 'halted' && workflow.halted === 'stay')) && !meant(id)) continue
    const why = again === 'resume' ? 'resumed' : 'a new run'
    const fresh = again === 'fresh' && status !== 'held' ? { forget: true as const } : {}
    await journal.record(id, { type: 'task.reopened', why, ...fresh })
    // Where failed work was put back there is nothing to go on with at a later stage.
    if (again === 'resume' && status !== 'held' && endedIn !== undefined && workflow.git.onFail === 'keep')
      await journal.record(id, {
        ...{ type: 'task.moved', stage: endedIn, source: 'a person' },
        ...(await foundWork(context, state)),
      })
  }
  if (again === 'fresh') await forgetFailures(context, meant)
  if (workflow.git.onFail === 'branch') await archivePast(context)
}

/** A task under way that has failed before begins as if it never had. */
async function forgetFailures({ journal, store }: Context, meant: (id: string) => boolean): Promise<void> {
  for (const { id, state } of await store.log.tasks({ status: ['open'] }))
    if (state.history.length > 0 && meant(id))
      await journal.record(id, { type: 'task.reopened', why: 'begun afresh', forget: true })
}

/** What keeps the failure of a task that is tried again, or done by now, is past. */
async function archivePast({ store, workspace, report }: Context): Promise<void> {
  const past = async () => (await store.log.tasks({ status: ['open', 'held', 'done'] })).map(one => one.id)
  const names = await workspace.archiveFailures(past)
  for (const name of names)
    report.note({ level: 'info', text: `the branch of an earlier failure is now ${name}` })
}

/** The workflow was changed since the last run: tasks that stand at a stage that is no more begin again. */
export async function refit(context: Context, earlier: Rules | null): Promise<void> {
  const { rules } = context.journal
  if (!earlier || JSON.stringify(earlier.workflow) === JSON.stringify(rules.workflow)) return
  for (const { id, state } of await context.store.log.tasks({ status: ['open'] })) {
    if (!fits(rules, state))
      await context.journal.record(id, { type: 'task.reopened', why: 'another workflow' })
  }
}
