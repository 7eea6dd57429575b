import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { UserIndex } from './position-type.ts'
import type { Repository } from './repository-type.ts'

export function readUserIndex(repository: Repository): UserIndex | null {
  const file = path.join(repository.gitDir, 'index')
  const identity = fileIdentity(file)
  if (identity === null) return null
  if (repository.cache.userIndex?.identity !== identity) {
    const bytes = fs.readFileSync(file)
    repository.cache.userIndex = { identity, bytes, hash: hashOf(bytes), mtimeMs: fs.statSync(file).mtimeMs }
  }
  const { hash, mtimeMs } = repository.cache.userIndex
  return { hash, mtimeMs }
}

export function putBackUserIndex(
  repository: Repository,
  index: UserIndex | null,
  bytes: Buffer | null,
): void {
  const file = path.join(repository.gitDir, 'index')
  if (index === null) fs.rmSync(file, { force: true })
  else if (bytes && readUserIndex(repository)?.hash !== index.hash) writeWhole(file, bytes, index.mtimeMs)
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
  // An agent can guess the name and may have put a link there.
  fs.rmSync(draft, { force: true })
  fs.writeFileSync(draft, bytes, { flag: 'wx' })
  const before = fs.statSync(file, { throwIfNoEntry: false })
  if (before) fs.chmodSync(draft, before.mode & 0o777)
  // Rounded down: an index that looks older than it is makes git look twice, one that looks younger makes it miss changes.
  if (mtimeMs !== undefined) fs.utimesSync(draft, Math.floor(mtimeMs) / 1000, Math.floor(mtimeMs) / 1000)
  fs.renameSync(draft, file)
}
