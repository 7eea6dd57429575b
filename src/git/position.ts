import fs from 'node:fs'
import path from 'node:path'
import type { Base } from '../core/event.ts'
import type { Position, Start } from './position-type.ts'
import type { Repository } from './repository-type.ts'
import { hashOf, readUserIndex, writeWhole } from './user-index.ts'

/** Written beside the reference, so that another process can put back what this one saw. */
export function writeStart(repository: Repository, base: Base, position: Position): void {
  const folder = recordFolder(repository)
  const index = readUserIndex(repository)
  const indexBytes = repository.cache.userIndex?.bytes ?? null
  if (index && indexBytes) writeOnce(path.join(folder, 'index', index.hash), indexBytes)
  const refs = [...position.refs]
    .map(([name, id]) => `${id} ${name}${position.foreign.has(name) ? ' foreign' : ''}\n`)
    .join('')
  writeOnce(path.join(folder, 'refs', hashOf(refs)), refs)
  const { at, stashLog, unfinished, excludes } = position
  const unstored = [...position.unstored]
  const record: PositionRecord = {
    version: 1,
    base,
    at,
    refs: hashOf(refs),
    stashLog,
    index,
    unstored,
    unfinished,
    excludes,
  }
  writeWhole(recordFile(repository, base.snapshot), JSON.stringify(record))

  const { starts } = repository.cache
  starts.set(base.snapshot, { base, position: { ...position, index }, indexBytes })
  const [oldest] = starts.keys()
  if (starts.size > 16 && oldest !== undefined) starts.delete(oldest)
}

export function readStart(repository: Repository, base: Base): Start {
  const known = repository.cache.starts.get(base.snapshot)
  if (known && isSame(known.base, base)) return known
  const record = parseRecord(recordFile(repository, base.snapshot))
  const folder = recordFolder(repository)
  const refs =
    record && isSame(record.base, base) ? readRefsFile(path.join(folder, 'refs', record.refs)) : null
  const indexBytes = record?.index
    ? readCopy(path.join(folder, 'index', record.index.hash), record.index.hash)
    : null
  if (!record || !refs || (record.index && !indexBytes)) return { base, position: null, indexBytes: null }
  const { at, stashLog, index, unfinished, excludes } = record
  const { head, branch, tree } = base
  const seen = { at, head, branch, tree, ...refs, stashLog, index, unfinished, excludes }
  return {
    base,
    position: { ...seen, unstored: new Map(record.unstored), kept: new Set(), delta: null },
    indexBytes,
  }
}

/** The names of all positions that are recorded here. */
export function recordedSnapshots(repository: Repository): string[] {
  return fileNames(recordFolder(repository)).map(name => decodeURIComponent(name.replace(/\.json$/u, '')))
}

/** Deletes records, and the copies that no other record needs. */
export function deleteRecords(repository: Repository, snapshots: string[]): void {
  const folder = recordFolder(repository)
  for (const snapshot of snapshots) {
    repository.cache.starts.delete(snapshot)
    fs.rmSync(recordFile(repository, snapshot), { force: true })
  }
  const left = fileNames(folder).flatMap(name => parseRecord(path.join(folder, name)) ?? [])
  const needed = new Set(left.flatMap(record => [record.refs, record.index?.hash ?? '']))
  for (const kind of ['refs', 'index']) {
    for (const name of fileNames(path.join(folder, kind))) {
      if (!needed.has(name)) fs.rmSync(path.join(folder, kind, name), { force: true })
    }
  }
}

type PositionRecord = Pick<Position, 'at' | 'stashLog' | 'index' | 'unfinished' | 'excludes'> & {
  version: 1
  base: Base
  refs: string
  unstored: [string, { kind: 'large' | 'unreadable' | 'repository'; size: number; mtimeMs: number }][]
}

function recordFolder(repository: Repository): string {
  return path.join(repository.scratch, 'git', 'positions')
}

function recordFile(repository: Repository, snapshot: string): string {
  return path.join(recordFolder(repository), `${encodeURIComponent(snapshot)}.json`)
}

function isSame(a: Base, b: Base): boolean {
  return a.head === b.head && a.branch === b.branch && a.tree === b.tree
}

/** Named by its content, so that what exists is right. */
function writeOnce(file: string, content: Buffer | string): void {
  if (!fs.existsSync(file)) writeWhole(file, content)
}

function readCopy(file: string, hash: string): Buffer | null {
  const bytes = fs.existsSync(file) ? fs.readFileSync(file) : null
  return bytes && hashOf(bytes) === hash ? bytes : null
}

function parseRecord(file: string): PositionRecord | null {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as PositionRecord
  } catch {
    return null
  }
}

function readRefsFile(file: string): Pick<Position, 'refs' | 'foreign'> | null {
  try {
    const lines = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean)
    const parts = lines.map(line => line.split(' '))
    return {
      refs: new Map(parts.map(([id = '', name = '']) => [name, id])),
      foreign: new Set(parts.flatMap(([, name = '', mark]) => (mark ? [name] : []))),
    }
  } catch {
    return null
  }
}

function fileNames(folder: string): string[] {
  if (!fs.existsSync(folder)) return []
  return fs
    .readdirSync(folder, { withFileTypes: true })
    .flatMap(entry => (entry.isFile() ? [entry.name] : []))
}
