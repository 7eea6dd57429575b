import type { Base } from '../core/event.ts'
import type { Log } from '../store/log.ts'
import type { Context } from './context.ts'
import { stepFiles } from './step-files.ts'
import { endStepProcesses } from './step-processes.ts'

/** A reviewer of the whole; on record before it starts, so that the engine that comes after a crash can put it back. */
export const reviewerNote = 'consensus'

export async function wasReviewing(log: Log): Promise<boolean> {
  return Boolean(await log.getNote(reviewerNote))
}

/** A reviewer that was cut off is ended, and what it may have changed is put back; it is asked again. */
export async function recoverReviewer(context: Context): Promise<boolean> {
  const { store, workspace, lease, home } = context
  const note = await store.log.getNote(reviewerNote)
  if (!note) return false
  const { step, base } = JSON.parse(note) as { step: string; base: Base }
  await endStepProcesses(stepFiles(home, step).processes)
  await lease.assertHeld()
  await workspace.putBack(base, `interrupted/${step}`)
  await store.log.setNote(reviewerNote, '')
  return true
}
