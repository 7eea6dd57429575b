import type { TaskState } from '../core/state.ts'
import { digest, link } from './chain.ts'
import { integer, text } from './columns.ts'
import type { Database } from './database.ts'
import { type Head, type HeadCheck, isRunStream } from './log.ts'
import { sameColumns, type TaskColumns, taskColumns } from './task-columns.ts'

export function readHead(db: Database, stream: string): Head | null {
  const sql = `select ${integer('seq')}, ${text('chain')} from event where stream = ? order by event.seq desc limit 1`
  const row = db.get<{ seq: number; chain: string }>(sql, stream)
  return row ? { seq: row.seq, hash: row.chain } : null
}

/** The chain is computed anew from the text of the events: whoever changed a text may have left its old hash beside it, or put a new one. */
export function verifyHead(db: Database, stream: string, expected: Head): HeadCheck {
  const sql = `select ${integer('seq')}, ${text('fold', 'chain', 'body')} from event where stream = ? order by event.seq`
  const rows = db.all<{ seq: number; fold: string; chain: string; body: string }>(sql, stream)
  const last = rows.at(-1)
  if (!last || last.seq < expected.seq) return 'missing'
  let hash = ''
  for (const { seq, fold, chain, body } of rows) {
    hash = link(hash, body, fold)
    if (chain !== hash || (seq === expected.seq && hash !== expected.hash)) return 'rewritten'
  }
  if (!isRunStream(stream) && !foldIsIntact(db, stream, last)) return 'rewritten'
  return last.seq === expected.seq ? 'same' : 'moved'
}

type FoldRow = TaskColumns & { seq: number; state: string }

/** The engine goes by the cached fold, so a changed fold is as bad as a changed event. */
function foldIsIntact(db: Database, id: string, last: { seq: number; fold: string }): boolean {
  const row = db.get<FoldRow>(
    `select ${integer('seq', 'begun', 'wait_until')}, ${text('status', 'needs', 'proof', 'state')} from task where id = ?`,
    id,
  )
  if (!row || row.seq !== last.seq || digest(row.state) !== last.fold) return false
  return sameColumns(row, taskColumns(JSON.parse(row.state) as TaskState))
}
