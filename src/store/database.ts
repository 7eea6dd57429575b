import { resolve } from 'node:path'
import { decoded } from './columns.ts'
import {
  type Connection,
  chooseDriver,
  connect,
  type DriverName,
  type Statement,
  type Value,
} from './driver.ts'
import { fromSqlite, StoreError } from './store-error.ts'

/** One SQLite file, whichever driver opens it. Every error comes out as a `StoreError`. */
export interface Database {
  readonly path: string
  readonly driver: DriverName
  exec(sql: string): void
  /** Returns the number of rows that were changed. */
  run(sql: string, ...values: Value[]): number
  /** Texts must be asked for as bytes (`columns.ts`) and come out as texts; one that is damaged is a `StoreError`. */
  get<T>(sql: string, ...values: Value[]): T | undefined
  all<T>(sql: string, ...values: Value[]): T[]
  /** The same without the reading of bytes, for those who look at each of them. */
  raw<T>(sql: string, ...values: Value[]): T[]
  /** All or nothing. Takes the write lock at once, so that what is read inside still holds when it is written. */
  transaction<T>(work: () => T): T
  /** All that is read inside is of one moment, whoever writes meanwhile. Nothing may be written inside. */
  snapshot<T>(work: () => T): T
  /** Opens the file that is at the path now; the old one may have been deleted. */
  reopen(): void
  close(): void
}

export type DatabaseOptions = {
  driver?: DriverName | undefined
  readOnly?: boolean | undefined
  busyTimeout?: number | undefined
}

export function openDatabase(file: string, options: DatabaseOptions = {}): Database {
  const path = resolve(file)
  const driver = options.driver ?? chooseDriver()
  const { readOnly = false, busyTimeout = 10_000 } = options
  let wrote = false
  let closed = false
  let connection = guard(() => open())
  const statements = new Map<string, Statement>()

  function open(): Connection {
    const fresh = connect(driver, path, readOnly)
    fresh.exec(`pragma busy_timeout = ${busyTimeout}`)
    if (!readOnly) {
      useWriteAheadLog(fresh, path, busyTimeout)
      fresh.exec('pragma synchronous = full')
    }
    return fresh
  }

  function guard<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw fromSqlite(error, path)
    }
  }

  function prepared(sql: string): Statement {
    const known = statements.get(sql)
    if (known) return known
    const statement = connection.prepare(sql)
    statements.set(sql, statement)
    return statement
  }

  const database: Database = {
    path,
    driver,
    exec: sql => guard(() => connection.exec(sql)),
    run: (sql, ...values) => {
      wrote = true
      return guard(() => prepared(sql).run(values))
    },
    get: <T>(sql: string, ...values: Value[]) =>
      guard(() => decoded(prepared(sql).get(values), path) as T | undefined),
    all: <T>(sql: string, ...values: Value[]) =>
      guard(() =>
        prepared(sql)
          .all(values)
          .map(row => decoded(row, path) as T),
      ),
    raw: <T>(sql: string, ...values: Value[]) => guard(() => prepared(sql).all(values) as T[]),
    transaction: work => {
      database.exec('begin immediate')
      try {
        const result = work()
        database.exec('commit')
        return result
      } catch (error) {
        rollBack(connection)
        throw error
      }
    },
    snapshot: work => {
      database.exec('begin')
      try {
        return work()
      } finally {
        rollBack(connection)
      }
    },
    reopen: () => {
      const fresh = guard(() => open())
      statements.clear()
      connection.close()
      connection = fresh
    },
    close: () => {
      if (closed) return
      closed = true
      statements.clear()
      // libsql keeps the connection until its statements are collected, so it would leave everything in the -wal file.
      if (driver === 'libsql' && wrote) checkpoint(connection)
      connection.close()
    },
  }
  return database
}

/** Readers and one writer do not wait for each other. The mode is kept in the file, so it is set once in its life. */
function useWriteAheadLog(connection: Connection, path: string, patience: number): void {
  const deadline = Date.now() + patience
  while (journalMode(connection, 'pragma journal_mode') !== 'wal') {
    try {
      if (journalMode(connection, 'pragma journal_mode = wal') === 'wal') return
      throw new StoreError(
        'other',
        path,
        'its file system cannot hold the journal; move the project to a local disk',
      )
    } catch (error) {
      // Two processes that make the switch at once both fail, without waiting for each other.
      const cause = fromSqlite(error, path)
      if (!(cause instanceof StoreError) || cause.reason !== 'locked' || Date.now() > deadline) throw cause
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}

function journalMode(connection: Connection, sql: string): unknown {
  return (connection.prepare(sql).get([]) as { journal_mode?: unknown } | undefined)?.journal_mode
}

/** SQLite has already rolled back after a full disk or a damaged page; then there is nothing to do. */
function rollBack(connection: Connection): void {
  try {
    connection.exec('rollback')
  } catch {}
}

function checkpoint(connection: Connection): void {
  try {
    connection.exec('pragma busy_timeout = 0')
    connection.prepare('pragma wal_checkpoint(truncate)').get([])
  } catch {}
}
