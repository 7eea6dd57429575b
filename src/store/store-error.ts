import { accessSync, constants, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorText } from '../core/errors.ts'

export type StoreReason = 'full' | 'read-only' | 'corrupt' | 'locked' | 'other'

/** The journal or a state file could not be read or written. The message is for people; there is nothing to debug. */
export class StoreError extends Error {
  override name = 'StoreError'
  readonly reason: StoreReason
  readonly path: string

  constructor(reason: StoreReason, path: string, detail: string, cause?: unknown) {
    super(wording(reason, path, detail), { cause })
    this.reason = reason
    this.path = path
  }
}

/** What the system said, without our words and our advice. */
export function rawText(error: unknown): string {
  return errorText(error instanceof StoreError && error.cause instanceof Error ? error.cause : error)
}

/** What SQLite said, in our words. Anything that did not come from SQLite is passed on as it is. */
export function fromSqlite(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || error instanceof StoreError) return error
  const code = sqliteCode(error)
  return code === null ? error : new StoreError(reasonOf(code, path), path, error.message, error)
}

/** What the file system said, in our words. */
export function fromFileSystem(error: unknown, path: string): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (typeof code !== 'string') return error
  if (code === 'ENOSPC' || code === 'EDQUOT') return new StoreError('full', path, code, error)
  if (code === 'EROFS' || code === 'EACCES' || code === 'EPERM')
    return new StoreError('read-only', path, code, error)
  return error
}

function wording(reason: StoreReason, path: string, detail: string): string {
  switch (reason) {
    case 'full':
      return `The disk is full: ${path} could not be written. What was recorded before is kept; free some space and run again.`
    case 'read-only':
      return `${path} cannot be written: read-only file system or missing permission. Make it writable and run again.`
    case 'corrupt':
      return `${path} is damaged (${detail}). Run 'ralph doctor' to see what can be saved.`
    case 'locked':
      return `${path} is kept locked by another process. Wait for it or end it, then run again.`
    case 'other':
      return `${path}: ${detail}`
    default:
      return reason satisfies never
  }
}

/** SQLite's primary result codes. */
const busy = 5
const locked = 6
const readOnly = 8
const ioError = 10
const corrupt = 11
const full = 13
const cannotOpen = 14
const notADatabase = 26

function reasonOf(code: number, path: string): StoreReason {
  switch (code) {
    case full:
      return 'full'
    case readOnly:
      return 'read-only'
    case corrupt:
    case notADatabase:
      return 'corrupt'
    case busy:
    case locked:
      return 'locked'
    // A full disk also shows as a failed write of a side file, a read-only one as a file that cannot be created.
    case ioError:
      return isFull(path) ? 'full' : 'other'
    case cannotOpen:
      return isWritable(dirname(path)) ? 'other' : 'read-only'
    default:
      return 'other'
  }
}

/** node:sqlite has `errcode`, libsql `rawCode`, and libsql's failure to open only a number at the end of its text. */
function sqliteCode(error: Error): number | null {
  const { errcode, rawCode } = error as { errcode?: unknown; rawCode?: unknown }
  const code = errcode ?? rawCode ?? Number(/^ConnectionFailed\(.*: (\d+)"\)$/s.exec(error.message)?.[1])
  // The higher bytes only refine the primary code.
  return typeof code === 'number' && Number.isInteger(code) ? code & 0xff : null
}

function isFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize < 64 * 1024
  } catch {
    return false
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}
