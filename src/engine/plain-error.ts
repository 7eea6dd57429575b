import { fromFileSystem, StoreError } from '../store/store-error.ts'

/** A full or read-only disk shows in many ways, in git as in the journal. Whoever meets it first, the user is told the same. */
export function plainError(error: unknown, home: string): unknown {
  if (!(error instanceof Error) || error instanceof StoreError) return error
  const path = 'path' in error && typeof error.path === 'string' ? error.path : home
  return fullInGit.test(error.message)
    ? new StoreError('full', path, error.message, error)
    : fromFileSystem(error, path)
}

const fullInGit = /no space left|out of disk ?space|quota exceeded/iu
