import type { Context } from './context.ts'

/**
 * Lets go of the snapshots no task needs any more: those of finished steps. What failed or was interrupted stays under
 * its own ref. Done now and then, because each time costs a process.
 */
export async function forgetOldSnapshots(context: Context): Promise<void> {
  const needed = new Set<string>()
  for (const { state } of await context.store.log.tasks()) {
    for (const base of [state.base, state.step?.base]) if (base?.snapshot) needed.add(base.snapshot)
  }
  for (const { workspace } of [context, ...context.folders.open.values()])
    await workspace.forgetAllBut(needed)
}
