import { endRecorded } from '../process/descendants.ts'
import type { Context } from './context.ts'
import { performRestore } from './perform-git.ts'
import { stepFiles } from './step-files.ts'

/**
 * Takes up what an engine left that was killed, frozen or cut off: its agents are ended first, then the work of the
 * interrupted step is kept under a ref and the tree is put back to where the step began. It does not count.
 */
export async function recoverInterrupted(context: Context): Promise<number> {
  const { journal, workspace, store } = context
  const open = (await store.log.tasks()).filter(one => one.state.step !== null)
  for (const { id, state } of open) {
    const { step } = state
    if (!step) continue
    await endRecorded(stepFiles(context.home, step.id).processes, { grace: 1_000 })
    await context.lease.assertHeld()
    const agentStep = journal.rules.workflow.stages[step.stage]?.kind === 'agent'
    const kept = agentStep ? await workspace.putBack(step.base, `interrupted/${step.id}`) : null
    await journal.record(id, { type: 'step.interrupted', step: step.id, why: 'was interrupted', kept })
  }
  return open.length
}

/** A task that ended while its failed work still lay in the tree: the putting back comes first. */
export async function finishRestores(context: Context): Promise<void> {
  const ended = await context.store.log.tasks({ status: ['halted', 'failed', 'cancelled', 'held'] })
  for (const { id, state } of ended) if (state.next?.type === 'restore') await performRestore(context, id)
}
