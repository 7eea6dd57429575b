import { UserError } from '../core/errors.ts'
import type { RunState } from '../core/run.ts'
import type { TaskState } from '../core/state.ts'
import { digest, link } from './chain.ts'
import { integer } from './columns.ts'
import type { Database } from './database.ts'
import { type Append, Conflict, type Fence, type Head, isRunStream } from './log.ts'
import { readHead } from './sqlite-head.ts'
import { taskColumns } from './task-columns.ts'

/** Events and the folds that belong to them, in one transaction. */
export function appendEvents(db: Database, entries: Append[], fence?: Fence): void {
  if (entries.length === 0) return
  db.transaction(() => {
    if (fence) checkFence(db, fence)
    const last = lastStates(entries)
    const heads = new Map<string, Head | null>()
    for (const entry of entries) {
      const head = heads.get(entry.stream) ?? readHead(db, entry.stream)
      heads.set(entry.stream, insertEvent(db, entry, head, last.get(entry.stream)))
    }
    for (const [stream, { entry, text }] of last) upsertTask(db, stream, entry, text)
    for (const run of new Map(entries.map(entry => [entry.run.id, entry.run])).values()) upsertRun(db, run)
  })
}

type TaskAppend = Extract<Append, { state: TaskState }>

/** Of several events of one task only the last one's fold is kept. */
type LastState = { entry: TaskAppend; text: string; fold: string }

function lastStates(entries: Append[]): Map<string, LastState> {
  const last = new Map<string, TaskAppend>()
  for (const entry of entries) {
    if ('state' in entry) last.set(entry.stream, entry)
  }
  const folded = [...last].map(([stream, entry]): [string, LastState] => {
    const text = JSON.stringify(entry.state)
    return [stream, { entry, text, fold: digest(text) }]
  })
  return new Map(folded)
}

function checkFence(db: Database, { key, token }: Fence): void {
  const sql = `select ${integer('token', 'held')} from lease where key = ?`
  const lease = db.get<{ token: number; held: number }>(sql, key)
  if (lease?.token === token && lease.held === 1) return
  throw new Conflict(`the lease '${key}' is no longer held with token ${token}`)
}

function insertEvent(db: Database, entry: Append, head: Head | null, last: LastState | undefined): Head {
  const { stream, seq, event } = entry
  const next = (head?.seq ?? 0) + 1
  if (seq !== next) throw new Conflict(`'${stream}' goes on with event ${next}, not ${seq}`)
  if ('state' in entry && isRunStream(stream)) {
    throw new UserError(
      `the task id '${stream}' begins with 'run:', which is kept for runs`,
      'Give the task another id.',
      2,
    )
  }
  const body = JSON.stringify(event)
  const fold = last?.entry === entry ? last.fold : ''
  const hash = link(head?.hash ?? '', body, fold)
  db.run(
    'insert into event (stream, seq, at, run, type, fold, chain, body) values (?, ?, ?, ?, ?, ?, ?, ?)',
    ...[stream, seq, event.at, event.run, event.type, fold, hash, body],
  )
  return { seq, hash }
}

function upsertTask(db: Database, id: string, { seq, rank, state }: TaskAppend, text: string): void {
  const { begun, needs, proof, status, wait_until } = taskColumns(state)
  db.run(
    `insert into task (id, seq, rank, status, begun, wait_until, needs, proof, state) values (?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict do update set seq = excluded.seq, rank = excluded.rank, status = excluded.status, begun = excluded.begun,
       wait_until = excluded.wait_until, needs = excluded.needs, proof = excluded.proof, state = excluded.state`,
    ...[id, seq, rank, status, begun, wait_until, needs, proof, text],
  )
}

function upsertRun(db: Database, run: RunState): void {
  db.run(
    `insert into run (id, started_at, state) values (?, ?, ?)
     on conflict do update set started_at = excluded.started_at, state = excluded.state`,
    ...[run.id, run.startedAt, JSON.stringify(run)],
  )
}
