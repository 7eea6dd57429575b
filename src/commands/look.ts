import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import { isDead, thisHost } from '../store/alive.ts'
import { type Dispatch, type LeaseInfo, worktreeKey } from '../store/dispatch.ts'
import type { Store } from '../store/sqlite.ts'

export function journalPath(root: string): string {
  return join(root, '.ralph', 'ralph.db')
}

/** Opens the journal for somebody who only looks: where there is none, none is made. */
export async function openForLooking(root: string): Promise<Store | null> {
  if (!existsSync(journalPath(root))) return null
  const { openStore } = await import('../store/sqlite.ts')
  return openStore(journalPath(root))
}

export const nothingYet = 'nothing has run here yet'

/** For a question that has no answer without a journal. */
export async function openOrRefuse(root: string): Promise<Store> {
  const store = await openForLooking(root)
  if (!store) throw new UserError(nothingYet, 'Begin with `ralph run`.')
  return store
}

/** Does the work with the journal and closes it, whatever happens. */
export async function withStore<T>(store: Store, work: (store: Store) => Promise<T>): Promise<T> {
  try {
    return await work(store)
  } finally {
    store.close()
  }
}

/** Who works here now. Null: nobody. `left`: a holder that is dead or shows no sign of life any more. */
export type EngineNow = { holder: LeaseInfo; alive: boolean } | null

export async function engineNow(dispatch: Dispatch, now: number): Promise<EngineNow> {
  const holder = await dispatch.holder(worktreeKey)
  if (!holder) return null
  return { holder, alive: holder.expires > now && !isDead(holder, thisHost()) }
}
