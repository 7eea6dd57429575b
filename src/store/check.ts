import { isDeepStrictEqual } from 'node:util'
import type { RunState } from '../core/run.ts'
import type { TaskState } from '../core/state.ts'
import { audit } from './audit.ts'
import type { Database } from './database.ts'
import { attempt, bytesToText } from './readable.ts'
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

/** Reads the whole journal. Works on a damaged one too. */
export function examine(db: Database): Health {
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
    const rows = db.all<{ line: ArrayBuffer }>(
      'select cast(quick_check as blob) as line from pragma_quick_check',
    )
    return rows.map(row => attempt(() => bytesToText(row.line)) ?? 'damaged').filter(line => line !== 'ok')
  } catch (error) {
    return [rawText(error)]
  }
}

type Bytes = { id: ArrayBuffer; state: ArrayBuffer }
type TaskBytes = Bytes & {
  status: ArrayBuffer
  begun: number
  wait_until: number
  needs: ArrayBuffer
  proof: ArrayBuffer
}

function differingTasks(db: Database, folds: Folds): string[] {
  const sql = `select cast(id as blob) as id, cast(status as blob) as status, cast(begun as integer) as begun,
    cast(wait_until as integer) as wait_until, cast(needs as blob) as needs, cast(proof as blob) as proof, cast(state as blob) as state from task`
  const cached = new Map<string, { state: unknown; columns: TaskColumns }>()
  attempt(() => {
    for (const row of db.all<TaskBytes>(sql)) {
      const { begun, wait_until } = row
      const [status, needs, proof] = [row.status, row.needs, row.proof].map(bytesToText) as [
        string,
        string,
        string,
      ]
      const columns = { status, begun, wait_until, needs, proof }
      cached.set(bytesToText(row.id), { state: JSON.parse(bytesToText(row.state)), columns })
    }
  })
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
  attempt(() => {
    for (const row of db.all<Bytes>('select cast(id as blob) as id, cast(state as blob) as state from run')) {
      cached.set(bytesToText(row.id), JSON.parse(bytesToText(row.state)))
    }
  })
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
