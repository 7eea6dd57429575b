import fs from 'node:fs'
import path from 'node:path'
import type { Base } from '../core/event.ts'
import type { Repository } from './repository.ts'
import { hashOf, type UserIndex, writeWhole } from './user-index.ts'
import type { Unstored, WorkingTree } from './working-tree.ts'

/** Where a repository stands at one moment: everything an attempt could change and that can be put back. */
export type Position = {
  /** Milliseconds since the epoch, taken before anything was read. */
  at: number
  /** Empty when the branch has no commit. */
  head: string
  branch: string | null
  /** The content of the project folder, byte for byte, tracked and untracked. */
  tree: string
  /** Branches, tags, stash and notes. */
  refs: Map<string, string>
  /** Those that other worktrees work on. */
  foreign: Set<string>
  /** The list of stash entries, which is more than the reference `refs/stash`. */
  stashLog: string | null
  index: UserIndex | null
  unstored: Unstored
  /** A merge, rebase, … that waits to be finished. */
  unfinished: string | null
  /** The user's ignore rules at that time. */
  excludes: string
  /** What `refs/ralph/…` already keeps. */
  kept: Set<string>
  delta: WorkingTree['delta']
}

/** A recorded start, or the little that a `Base` alone tells when the record is lost. */
export type Start = { base: Base; position: Position | null }

/** Written beside the reference, so that another process can put back what this one saw. */
export function writeRecord(repository: Repository, base: Base, position: Position): void {
  const folder = recordFolder(repository)
  const refs = [...position.refs]
    .map(([name, id]) => `${id} ${name}${position.foreign.has(name) ? ' foreign' : ''}\n`)
    .join('')
  const refsHash = hashOf(refs)
  const refsFile = path.join(folder, 'refs', refsHash)
  if (!fs.existsSync(refsFile)) writeWhole(refsFile, refs)
  const record: PositionRecord = {
    version: 1,
    base,
    at: position.at,
    refs: refsHash,
    stashLog: position.stashLog,
    index: position.index,
    unstored: [...position.unstored],
    unfinished: position.unfinished,
    excludes: position.excludes,
  }
  writeWhole(recordFile(repository, base.snapshot), JSON.stringify(record))
}

export function readStart(repository: Repository, base: Base): Start {
  const record = parseRecord(recordFile(repository, base.snapshot))
  const same =
    record?.base.head === base.head && record.base.tree === base.tree && record.base.branch === base.branch
  const refs = record && same ? readRefsFile(path.join(recordFolder(repository), 'refs', record.refs)) : null
  if (!record || !refs) return { base, position: null }
  const { at, stashLog, index, unfinished, excludes } = record
  return {
    base,
    position: {
      at,
      head: base.head,
      branch: base.branch,
      tree: base.tree,
      ...refs,
      stashLog,
      index,
      unstored: new Map(record.unstored),
      unfinished,
      excludes,
      kept: new Set(),
      delta: null,
    },
  }
}

/** Deletes records, and the copies that no other record needs. */
export function deleteRecords(repository: Repository, snapshots: string[]): void {
  const folder = recordFolder(repository)
  for (const snapshot of snapshots) fs.rmSync(recordFile(repository, snapshot), { force: true })
  const left = fileNames(folder).flatMap(name => parseRecord(path.join(folder, name)) ?? [])
  const needed = new Set(left.flatMap(record => [record.refs, record.index?.hash ?? '']))
  for (const kind of ['refs', 'index']) {
    for (const name of fileNames(path.join(folder, kind))) {
      if (!needed.has(name)) fs.rmSync(path.join(folder, kind, name), { force: true })
    }
  }
}

export function indexCopies(repository: Repository): string {
  return path.join(recordFolder(repository), 'index')
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
