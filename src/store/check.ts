import { isDeepStrictEqual } from 'node:util'
import type { RunState } from '../core/run.ts'
import type { TaskState } from '../core/state.ts'
import { audit } from './audit.ts'
import { type Bytes, integer, text } from './columns.ts'
import type { Database } from './database.ts'
import { attempt, readText } from './readable.ts'
import { type Folds, newFolds } from './replay.ts'
import { rawText } from './store-error.ts'
import { sameColumns, type TaskColumns, taskColumns } from './task-columns.ts'

export type Health = {
  /** What SQLite's own check found, in its words. */
  damage: string[]
  /** Events that can be read, of those the ones that cannot be believed, and rows that are gone. */
  events: number
  unusable: { stream: string; seq: number; why: string }[]
  lost: number
  /** Cached folds that are not what the events amount to: `task <id>`, `run <id>`. */
  differing: string[]
}

export function isSound(health: Health): boolean {
  return (
    health.lost === 0 && [health.damage, health.unusable, health.differing].every(list => list.length === 0)
  )
}

/** Reads the whole journal as it is at one moment: an engine may be writing. Works on a damaged one too. */
export function examine(db: Database): Health {
  return db.snapshot(() => examineAll(db))
}

function examineAll(db: Database): Health {
  const folds = newFolds()
  const health: Health = { damage: quickCheck(db), events: 0, unusable: [], lost: 0, differing: [] }
  for (const found of audit(db, folds)) {
    if (found.type === 'lost') health.lost += found.rows
    if (found.type === 'unusable')
      health.unusable.push({ stream: found.stream, seq: found.seq, why: found.why })
    if (found.type === 'unusable' || (found.type === 'sound' && !found.rebuilt)) health.events += 1
  }
  return { ...health, differing: [...differingTasks(db, folds), ...differingRuns(db, folds)] }
}

function quickCheck(db: Database): string[] {
  try {
    const rows = db.raw<{ line: Bytes }>('select cast(quick_check as blob) as line from pragma_quick_check')
    return rows.map(row => attempt(() => readText(row.line)) ?? 'damaged').filter(line => line !== 'ok')
  } catch (error) {
    return [rawText(error)]
  }
}

type StateBytes = { id: Bytes; state: Bytes }
type TaskBytes = StateBytes & { status: Bytes; begun: number; wait_until: number; needs: Bytes; proof: Bytes }

function differingTasks(db: Database, folds: Folds): string[] {
  const sql = `select ${text('id', 'status', 'needs', 'proof', 'state')}, ${integer('begun', 'wait_until')} from task`
  const cached = new Map<string, { state: unknown; columns: TaskColumns }>()
  for (const row of attempt(() => db.raw<TaskBytes>(sql)) ?? []) {
    attempt(() => {
      const { begun, wait_until } = row
      const columns = {
        ...{ status: readText(row.status), needs: readText(row.needs), proof: readText(row.proof) },
        ...{ begun, wait_until },
      }
      cached.set(readText(row.id), { state: JSON.parse(readText(row.state)), columns })
    })
  }
  const same = (id: string, state: TaskState) => {
    const row = cached.get(id)
    return (
      row !== undefined &&
      isDeepStrictEqual(row.state, plain(state)) &&
      sameColumns(row.columns, taskColumns(state))
    )
  }
  return differing(folds.tasks, cached.keys(), same).map(id => `task ${id}`)
}

function differingRuns(db: Database, folds: Folds): string[] {
  const cached = new Map<string, unknown>()
  const sql = `select ${text('id', 'state')} from run`
  for (const row of attempt(() => db.raw<StateBytes>(sql)) ?? []) {
    attempt(() => cached.set(readText(row.id), JSON.parse(readText(row.state))))
  }
  const same = (id: string, state: RunState) => isDeepStrictEqual(cached.get(id), plain(state))
  return differing(folds.runs, cached.keys(), same).map(id => `run ${id}`)
}

function differing<T>(
  folded: Map<string, T>,
  cached: Iterable<string>,
  same: (id: string, state: T) => boolean,
): string[] {
  const wrong = [...folded].filter(([id, state]) => !same(id, state)).map(([id]) => id)
  const extra = [...cached].filter(id => !folded.has(id))
  return [...wrong, ...extra]
}

/** As it would come back from the database. */
function plain(state: unknown): unknown {
  return JSON.parse(JSON.stringify(state))
}
