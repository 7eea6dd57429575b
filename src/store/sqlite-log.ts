import type { Proof } from '../core/evidence.ts'
import type { RunState } from '../core/run.ts'
import type { Candidate } from '../core/select.ts'
import type { TaskState } from '../core/state.ts'
import { type TaskStatus, taskStatuses } from '../core/task.ts'
import type { Changes } from './changes.ts'
import { integer, real, text } from './columns.ts'
import type { Database } from './database.ts'
import type { Value } from './driver.ts'
import type { Log, StoredEvent, StoredTask } from './log.ts'
import { upgradeEvent } from './replay.ts'
import { appendEvents } from './sqlite-append.ts'
import { readHead, verifyHead } from './sqlite-head.ts'

export function sqliteLog(db: Database, changes: Changes): Log {
  return {
    append: async (entries, fence) => {
      appendEvents(db, entries, fence)
      changes.announce()
    },
    task: async id => {
      const row = db.get<TaskRow>(`select ${taskRow} from task where id = ?`, id)
      return row ? storedTask(row) : null
    },
    tasks: async filter => {
      const statuses = filter?.status ?? taskStatuses
      const marks = statuses.map(() => '?').join(', ')
      const sql = `select ${taskRow} from task where status in (${marks}) order by task.rank, task.id limit ?`
      return db.all<TaskRow>(sql, ...statuses, filter?.limit ?? -1).map(storedTask)
    },
    counts: async () => {
      const rows = db.all<{ status: TaskStatus; n: number }>(
        `select ${text('status')}, count(*) n from task group by task.status`,
      )
      const counts = Object.fromEntries(taskStatuses.map(status => [status, 0])) as Record<TaskStatus, number>
      for (const { status, n } of rows) counts[status] = n
      return counts
    },
    proofs: async () => {
      const proofs: Record<Proof, number> = { verified: 0, unverified: 0, recorded: 0 }
      const sql = `select ${text('proof')}, count(*) n from task where status = 'done' group by task.proof`
      for (const { proof, n } of db.all<{ proof: Proof; n: number }>(sql)) proofs[proof] = n
      return proofs
    },
    candidates: () => candidates(db),
    isDone: id =>
      db.get<{ status: TaskStatus }>(`select ${text('status')} from task where id = ?`, id)?.status ===
      'done',
    run: async id => parseRun(db.get<RunRow>(`select ${text('state')} from run where id = ?`, id)),
    lastRun: async () =>
      parseRun(
        db.get<RunRow>(`select ${text('state')} from run order by started_at desc, rowid desc limit 1`),
      ),
    head: async stream => readHead(db, stream),
    verifyHead: async (stream, expected) => verifyHead(db, stream, expected),
    events: filter => events(db, filter ?? {}),
    subscribe: listener => changes.subscribe(listener),
    lastId: async () => db.get<{ id: number }>('select max(id) as id from event')?.id ?? 0,
    getNote: async key =>
      db.get<{ value: string }>(`select ${text('value')} from note where key = ?`, key)?.value ?? null,
    setNote: async (key, value) => {
      db.run(
        'insert into note (key, value) values (?, ?) on conflict do update set value = excluded.value',
        key,
        value,
      )
    },
    close: () => {
      changes.close()
      db.close()
    },
  }
}

const taskRow = `${text('id', 'state')}, ${integer('seq')}, ${real('rank')}`
type TaskRow = { id: string; seq: number; rank: number; state: string }
type RunRow = { state: string }
type EventRow = { id: number; stream: string; seq: number; body: string }
type CandidateRow = { id: string; rank: number; needs: string; begun: number; wait_until: number }

function storedTask({ id, seq, rank, state }: TaskRow): StoredTask {
  return { id, seq, rank, state: JSON.parse(state) as TaskState }
}

function parseRun(row: RunRow | undefined): RunState | null {
  return row ? (JSON.parse(row.state) as RunState) : null
}

/**
 * By pages that grow: mostly the first few tasks are enough, and no read is left open while the caller thinks. Begun
 * ones come whatever their status: a task that ended while its work still lies in the tree has that put back first.
 */
function* candidates(db: Database): Generator<Candidate> {
  for (const which of ['begun = 1', "status = 'open' and begun = 0"]) {
    const sql = `select ${text('id', 'needs')}, ${integer('begun', 'wait_until')}, ${real('rank')} from task
      where ${which} and (rank, id) > (?, ?) order by task.rank, task.id limit ?`
    let rank = Number.MIN_SAFE_INTEGER
    let id = ''
    for (let size = 16; ; size = Math.min(size * 4, 1024)) {
      const page = db.all<CandidateRow>(sql, rank, id, size)
      for (const row of page) {
        yield {
          id: row.id,
          needs: JSON.parse(row.needs) as string[],
          begun: row.begun === 1,
          waitUntil: row.wait_until,
        }
      }
      const last = page.at(-1)
      if (!last || page.length < size) break
      rank = last.rank
      id = last.id
    }
  }
}

const pageSize = 500
const eventRow = `id, ${text('stream', 'body')}, ${integer('seq')}`

async function* events(
  db: Database,
  filter: { stream?: string; run?: string; after?: number; limit?: number },
): AsyncGenerator<StoredEvent> {
  const { stream, run, limit = Number.POSITIVE_INFINITY } = filter
  let after = filter.after ?? 0
  let seq = 0
  let left = limit
  while (left > 0) {
    const size = Math.min(left, pageSize)
    const page =
      stream === undefined
        ? pageOf(db, run, after, size)
        : pageOfStream(db, { stream, run, seq, after, size })
    for (const row of page) yield storedEvent(row)
    const last = page.at(-1)
    if (!last || page.length < size) return
    left -= page.length
    after = last.id
    seq = last.seq
  }
}

function pageOf(db: Database, run: string | undefined, after: number, size: number): EventRow[] {
  const columns = `select ${eventRow} from event where`
  if (run === undefined) return db.all<EventRow>(`${columns} id > ? order by id limit ?`, after, size)
  return db.all<EventRow>(`${columns} run = ? and id > ? order by id limit ?`, run, after, size)
}

/** Within a stream, `seq` and `id` grow together, and only `seq` has an index beside the stream. */
function pageOfStream(
  db: Database,
  {
    stream,
    run,
    seq,
    after,
    size,
  }: { stream: string; run: string | undefined; seq: number; after: number; size: number },
): EventRow[] {
  const values: Value[] = [stream, seq, after]
  if (run !== undefined) values.push(run)
  const sql = `select ${eventRow} from event
    where stream = ? and seq > ? and +id > ? ${run === undefined ? '' : 'and +run = ?'} order by event.seq limit ?`
  return db.all<EventRow>(sql, ...values, size)
}

function storedEvent({ id, stream, seq, body }: EventRow): StoredEvent {
  return { id, stream, seq, event: upgradeEvent(JSON.parse(body)) }
}
