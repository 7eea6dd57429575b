import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import { fromFileSystem, StoreError } from '../store/store-error.ts'

/** A full, read-only or damaged disk shows in many ways, in git as in the journal. Whoever meets it first, the user is told the same. */
export function plainError(error: unknown, home: string): unknown {
  if (!(error instanceof Error) || error instanceof StoreError) return error
  // Only the journal's own rows are read without a doubt.
  if (error instanceof SyntaxError)
    return new StoreError('corrupt', join(home, 'ralph.db'), error.message, error)
  const path = 'path' in error && typeof error.path === 'string' ? error.path : home
  return isFull(error, home)
    ? new StoreError('full', path, error.message, error)
    : fromFileSystem(error, path)
}

/** git does not always say why it failed; it needs some room even to answer. */
function isFull(error: Error, home: string): boolean {
  if (/no space left|out of disk ?space|quota exceeded/iu.test(error.message)) return true
  const unexplained = !(error instanceof UserError) || error.message.startsWith('git ')
  return unexplained && freeBytes(home) < 64 * 1024
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
