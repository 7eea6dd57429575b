import type { Log } from '../store/log.ts'

/** Finished work that could not be brought to the user's branch. */
export type Unmerged = { task: string; branch: string; why: string; head: string }

export const unmergedNote = 'unmerged'

/** What waits for the user's `git merge`, as it was last known. */
export async function storedUnmerged(log: Log): Promise<Unmerged[]> {
  return JSON.parse((await log.getNote(unmergedNote)) ?? '[]') as Unmerged[]
}
