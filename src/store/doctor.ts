import { rmSync, statSync } from 'node:fs'
import { UserError } from '../core/errors.ts'
import { audit } from './audit.ts'
import { examine, type Health } from './check.ts'
import { type Database, openDatabase } from './database.ts'
import type { DriverName } from './driver.ts'
import type { Append, Log } from './log.ts'
import { attempt } from './readable.ts'
import { entryOf, newFolds } from './replay.ts'
import { migrations } from './schema.ts'
import { openStore } from './sqlite.ts'
import { rawText } from './store-error.ts'

export type Inspection =
  | { type: 'missing' }
  /** Nothing of it can be read as a journal. */
  | { type: 'unreadable'; problem: string }
  | ({ type: 'readable' } & Health)

/** Looks at a journal that may be damaged, without changing it. Never throws, whatever the file holds. */
export function inspectDatabase(path: string, driver?: DriverName): Inspection {
  try {
    if (!statSync(path, { throwIfNoEntry: false })) return { type: 'missing' }
    const problem = whyUnreadable(path, driver)
    if (problem) return { type: 'unreadable', problem }
    return withDamaged(path, driver, db => ({ type: 'readable', ...examine(db) }))
  } catch (error) {
    return { type: 'unreadable', problem: rawText(error) }
  }
}

export type Salvage = {
  /** Events that were carried over, and of those the starts of runs that were made anew from their cached folds. */
  events: number
  rebuilt: number
  tasks: number
  /** Events that were read but left behind, and rows that could not be read. */
  unusable: { stream: string; seq: number; why: string }[]
  lost: number
}

/**
 * Copies what can be believed into a new journal. A task that lost an event goes back to where it was before it, so
 * nothing counts as done without its evidence. Requests, notes and leases are not carried over: they belong to a
 * moment that is past.
 */
export async function salvage(path: string, to: string, driver?: DriverName): Promise<Salvage> {
  if (statSync(to, { throwIfNoEntry: false }))
    throw new UserError(`${to} exists already`, 'Give the name of a new file.')
  const problem = whyUnreadable(path, driver)
  if (problem) throw nothingSaved(path, problem)
  const store = openStore(to, driver ? { driver } : {})
  try {
    const saved = await withDamaged(path, driver, db => carryOver(db, store.log))
    // A start of a run that was made anew is nothing without the rest of the run.
    if (saved.events === saved.rebuilt) throw nothingSaved(path, whyNothing(saved))
    store.close()
    return saved
  } catch (error) {
    store.close()
    for (const end of ['', '-wal', '-shm']) rmSync(`${to}${end}`, { force: true })
    throw error
  }
}

function nothingSaved(path: string, why: string): UserError {
  return new UserError(
    `nothing can be saved from ${path}: ${why}`,
    "Move it away and run again: the backlog's own files are enough to go on.",
  )
}

function whyNothing({ lost, unusable: [first] }: Salvage): string {
  if (first) return `no event can be believed (first: ${first.stream} ${first.seq}: ${first.why})`
  return lost > 0 ? 'no event can be read' : 'it has no events'
}

const batchSize = 500

async function carryOver(db: Database, log: Log): Promise<Salvage> {
  const folds = newFolds()
  const salvage: Salvage = { events: 0, rebuilt: 0, tasks: 0, unusable: [], lost: 0 }
  let batch: Append[] = []
  for (const found of audit(db, folds)) {
    switch (found.type) {
      case 'lost':
        salvage.lost += found.rows
        break
      case 'unusable':
        salvage.unusable.push({ stream: found.stream, seq: found.seq, why: found.why })
        break
      case 'sound':
        salvage.events += 1
        salvage.rebuilt += found.rebuilt ? 1 : 0
        batch.push(entryOf(found, found.folded))
        break
      default:
        found satisfies never
    }
    if (batch.length < batchSize) continue
    await log.append(batch)
    batch = []
  }
  await log.append(batch)
  return { ...salvage, tasks: folds.tasks.size }
}

/** A file that was cut off can only be opened when SQLite is told not to trust its own header. */
function withDamaged<T>(path: string, driver: DriverName | undefined, work: (db: Database) => T): T {
  const db = openDatabase(path, { driver, readOnly: true })
  const close = () => db.close()
  try {
    db.exec('pragma writable_schema = on')
    const result = work(db)
    if (result instanceof Promise) return result.finally(close) as T
    close()
    return result
  } catch (error) {
    close()
    throw error
  }
}

/** Null when there are events to be read. */
function whyUnreadable(path: string, driver: DriverName | undefined): string | null {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat?.isFile()) return stat ? 'it is not a file' : 'there is no such file'
  try {
    return withDamaged(path, driver, whyNotAJournal)
  } catch (error) {
    return rawText(error)
  }
}

function whyNotAJournal(db: Database): string | null {
  const tables = db.get<{ n: number }>(
    "select count(*) as n from sqlite_master where type = 'table' and name = 'event'",
  )
  if (!tables?.n) return 'it has no events of Ralph'
  // A damaged number is no reason to give up the events.
  const sql = "select cast(value as integer) as version from meta where key = 'schema'"
  const schema = attempt(() => db.get<{ version: number }>(sql))
  return schema && schema.version > migrations.length
    ? 'it was written by a newer Ralph; upgrade Ralph'
    : null
}
