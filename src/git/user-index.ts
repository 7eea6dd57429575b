import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { Repository } from './repository.ts'

/** The user's index as bytes: what he staged, put back exactly. */
export type UserIndex = {
  /** Hash of the bytes. */
  hash: string
  /** git compares it with the times of the files to know which of them it cannot trust. */
  mtimeMs: number
}

export function readUserIndex(repository: Repository): UserIndex | null {
  const file = path.join(repository.gitDir, 'index')
  const identity = fileIdentity(file)
  if (identity === null) return null
  const known = repository.cache.userIndex
  const hash = known?.identity === identity ? known.hash : hashOf(fs.readFileSync(file))
  repository.cache.userIndex = { identity, hash }
  return { hash, mtimeMs: fs.statSync(file).mtimeMs }
}

/** Keeps a copy under its hash, so that equal ones are kept once. Returns what was really copied. */
export function saveUserIndex(repository: Repository, folder: string): UserIndex | null {
  const index = readUserIndex(repository)
  if (index === null || fs.existsSync(path.join(folder, index.hash))) return index
  const bytes = fs.readFileSync(path.join(repository.gitDir, 'index'))
  const hash = hashOf(bytes)
  writeWhole(path.join(folder, hash), bytes)
  return { hash, mtimeMs: index.mtimeMs }
}

export function putBackUserIndex(repository: Repository, folder: string, index: UserIndex | null): void {
  const file = path.join(repository.gitDir, 'index')
  if (index === null) fs.rmSync(file, { force: true })
  else if (readUserIndex(repository)?.hash !== index.hash)
    writeWhole(file, fs.readFileSync(path.join(folder, index.hash)), index.mtimeMs)
}

/** Tells whether a file is the very same one, untouched: not even the time of its last change can be forged. */
export function fileIdentity(file: string): string | null {
  const stat = fs.statSync(file, { bigint: true, throwIfNoEntry: false })
  return stat ? `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}` : null
}

export function hashOf(bytes: Buffer | string): string {
  return crypto.createHash('sha1').update(bytes).digest('hex')
}

/** All or nothing: a reader sees the old file or the new one. */
export function writeWhole(file: string, bytes: Buffer | string, mtimeMs?: number): void {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  const draft = `${file}.ralph-${process.pid}`
  fs.writeFileSync(draft, bytes)
  const before = fs.statSync(file, { throwIfNoEntry: false })
  if (before) fs.chmodSync(draft, before.mode & 0o777)
  // Rounded down: an index that looks older than it is makes git look twice, one that looks younger makes it miss changes.
  if (mtimeMs !== undefined) fs.utimesSync(draft, Math.floor(mtimeMs) / 1000, Math.floor(mtimeMs) / 1000)
  fs.renameSync(draft, file)
}
