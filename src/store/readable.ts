import { statSync } from 'node:fs'
import { type Bytes, bytesToText, integer, text } from './columns.ts'
import type { Database } from './database.ts'

export type EventRow = { stream: string; seq: number; run: string; fold: string; chain: string; body: string }

/** Rows in a row that are not there, or cannot be read. */
export type LostRows = { lost: number }

/**
 * Every event that a damaged file still gives out, in order. Where a page of the file is broken, its neighbours are
 * asked for one by one.
 */
export function* readableEvents(db: Database): Generator<EventRow | LostRows> {
  const highest = highestId(db)
  let after = 0
  let lost = 0
  for (const { id, row } of rowsUpTo(
    db,
    Math.min(highest ?? Number.POSITIVE_INFINITY, mostEvents(db.path)),
  )) {
    lost += id - after - (row ? 1 : 0)
    after = id
    if (!row) continue
    if (lost > 0) yield { lost }
    lost = 0
    yield row
  }
  // Without the file's own count nobody knows how many came behind the last one.
  const behind = highest === null ? 0 : lost + highest - after
  if (behind > 0) yield { lost: behind }
}

const size = 200

const columns = `select id, ${integer('seq')}, ${text('stream', 'run', 'fold', 'chain', 'body')} from event`

type RawRow = { id: number; seq: number } & Record<'stream' | 'run' | 'fold' | 'chain' | 'body', Bytes>

function* rowsUpTo(db: Database, end: number): Generator<{ id: number; row: EventRow | null }> {
  for (let after = 0; after < end; ) {
    const page = attempt(() => db.raw<RawRow>(`${columns} where id > ? order by id limit ?`, after, size))
    if (page?.length === 0) return
    if (page && grows(page, after, end)) {
      for (const raw of page) yield { id: raw.id, row: decode(raw) }
      after = page.at(-1)?.id ?? end
      continue
    }
    const stop = Math.min(after + size, end)
    while (after < stop) {
      after += 1
      const raw = attempt(() => db.raw<RawRow>(`${columns} where id = ?`, after)[0])
      yield { id: after, row: raw ? decode(raw) : null }
    }
  }
}

/** A damaged page may give out rows in any order. */
function grows(page: RawRow[], after: number, end: number): boolean {
  return page.every(({ id }, index) => id > (page[index - 1]?.id ?? after) && id <= end)
}

function decode(raw: RawRow): EventRow | null {
  return attempt(() => ({
    stream: readText(raw.stream),
    seq: raw.seq,
    run: readText(raw.run),
    fold: readText(raw.fold),
    chain: readText(raw.chain),
    body: readText(raw.body),
  }))
}

export function readText(bytes: Bytes): string {
  const found = bytesToText(bytes)
  if (found === null) throw new Error('not valid UTF-8')
  return found
}

/** Null when the file does not say. */
function highestId(db: Database): number | null {
  const ask = (sql: string) => attempt(() => db.get<{ id: number | null }>(sql)?.id ?? null)
  const id =
    ask("select cast(seq as integer) as id from sqlite_sequence where name = 'event'") ??
    ask('select max(id) as id from event')
  return id !== null && Number.isSafeInteger(id) && id >= 0 ? id : null
}

/** A bound for a damaged count: no event takes less room than its hash and the shortest text. */
function mostEvents(path: string): number {
  const bytes = [path, `${path}-wal`].map(file => statSync(file, { throwIfNoEntry: false })?.size ?? 0)
  return Math.ceil(bytes.reduce((sum, one) => sum + one, 0) / 128)
}

/** The drivers fail on damaged data in ways of their own, not only with a `StoreError`. */
export function attempt<T>(work: () => T): T | null {
  try {
    return work()
  } catch {
    return null
  }
}
