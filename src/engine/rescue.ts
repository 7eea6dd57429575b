import { makeFolder } from '../store/atomic-file.ts'
import type { Context } from './context.ts'
import { makeHome } from './home.ts'

/**
 * Puts `.ralph/` back when an agent deleted it, or a gate did (`git clean -xdf`): the open journal still holds all that
 * was recorded, but what is written to a deleted file is lost with the process. True when the journal was gone.
 */
export async function rescueHome(context: Context, stepFolder: string): Promise<boolean> {
  makeHome(context.project.root)
  makeFolder(stepFolder)
  if (context.store.survives() === 'ok') return false
  await context.store.rescue()
  return true
}
