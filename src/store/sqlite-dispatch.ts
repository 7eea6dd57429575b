import { isDead } from './alive.ts'
import type { Changes } from './changes.ts'
import { integer, text } from './columns.ts'
import type { Database } from './database.ts'
import type { Dispatch, Holder, LeaseInfo, RequestKind, StoredRequest } from './dispatch.ts'

export function sqliteDispatch(db: Database, changes: Changes): Dispatch {
  return {
    claim: async (key, holder, ttl, now) =>
      db.transaction(() => {
        const row = readLease(db, key)
        const held = row?.held === 1 ? leaseInfo(row) : null
        if (held && !mayReplace(held, holder, now)) return { ok: false, by: held }
        const token = (row?.token ?? 0) + 1
        const { host, pid, started, what } = holder
        db.run(
          `insert into lease (key, token, held, host, pid, started, what, since, expires) values (?, ?, 1, ?, ?, ?, ?, ?, ?)
           on conflict do update set token = excluded.token, held = 1, host = excluded.host, pid = excluded.pid,
             started = excluded.started, what = excluded.what, since = excluded.since, expires = excluded.expires`,
          ...[key, token, host, pid, started, what, now, now + ttl],
        )
        return { ok: true, token, takenFrom: held }
      }),
    heartbeat: async (key, token, ttl, now) =>
      db.run('update lease set expires = ? where key = ? and token = ? and held = 1', now + ttl, key, token) >
      0,
    // The row stays: its token must go on growing.
    release: async (key, token) => {
      db.run('update lease set held = 0 where key = ? and token = ?', key, token)
    },
    holder: async key => {
      const row = readLease(db, key)
      return row?.held === 1 ? leaseInfo(row) : null
    },
    file: async ({ kind, task, text, by, at }) => {
      const sql = 'insert into request (kind, task, text, author, at) values (?, ?, ?, ?, ?) returning id'
      const [row] = db.transaction(() => db.all<{ id: number }>(sql, kind, task, text, by, at))
      changes.announce()
      return row?.id ?? 0
    },
    pending: async () =>
      db
        .all<RequestRow>(`select ${requestRow} from request where taken_at is null order by id`)
        .map(storedRequest),
    take: async (id, result, now) =>
      db.run(
        'update request set taken_at = ?, result = ? where id = ? and taken_at is null',
        now,
        result,
        id,
      ) > 0,
    requests: async limit =>
      db
        .all<RequestRow>(`select ${requestRow} from request order by id desc limit ?`, limit)
        .map(storedRequest),
  }
}

/** A process that claims its own lease again began anew (it lost track of the old token), so it gets a new one. */
function mayReplace(held: LeaseInfo, claimer: Holder, now: number): boolean {
  const own = held.host === claimer.host && held.pid === claimer.pid && held.started === claimer.started
  return own || held.expires <= now || isDead(held, claimer.host)
}

type LeaseRow = Holder & { key: string; token: number; held: number; since: number; expires: number }

function readLease(db: Database, key: string): LeaseRow | undefined {
  return db.get<LeaseRow>(
    `select ${text('key', 'host', 'started', 'what')}, ${integer('token', 'held', 'pid', 'since', 'expires')}
     from lease where key = ?`,
    key,
  )
}

function leaseInfo({ key, token, host, pid, started, what, since, expires }: LeaseRow): LeaseInfo {
  return { key, token, host, pid, started, what, since, expires }
}

const requestRow = `id, ${text('kind', 'task', 'text', 'author', 'result')}, ${integer('at', 'taken_at')}`
type RequestRow = {
  id: number
  kind: RequestKind
  task: string | null
  text: string
  author: string
  at: number
  taken_at: number | null
  result: string | null
}

function storedRequest({ id, kind, task, text, author, at, taken_at, result }: RequestRow): StoredRequest {
  return { id, kind, task, text, by: author, at, takenAt: taken_at, result }
}
