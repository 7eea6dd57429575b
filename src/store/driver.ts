import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { UserError } from '../core/errors.ts'

export type DriverName = 'node' | 'libsql'

export type Value = string | number | null

/** What both drivers have in common. */
export interface Connection {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

export interface Statement {
  /** Returns the number of rows that were changed. */
  run(values: Value[]): number
  get(values: Value[]): unknown
  all(values: Value[]): unknown[]
}

/** Node's own SQLite where it is usable without a flag, else libsql. `RALPH_SQLITE` forces one. */
export function chooseDriver(forced: string | undefined = process.env.RALPH_SQLITE): DriverName {
  const fits = nodeHasSqlite(process.versions.node)
  if (!forced) return fits ? 'node' : 'libsql'
  if (forced !== 'node' && forced !== 'libsql') {
    throw new UserError(`RALPH_SQLITE is '${forced}'`, "Set it to 'node' or 'libsql', or unset it.", 2)
  }
  if (forced === 'node' && !fits) {
    throw new UserError(
      `RALPH_SQLITE=node needs Node 22.13 or newer; this is ${process.versions.node}`,
      'Unset RALPH_SQLITE or use a newer Node.',
      2,
    )
  }
  return forced
}

/** From 22.13 on without a flag; the 23 line only from 23.4 on. */
export function nodeHasSqlite(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major === 22) return minor >= 13
  return major === 23 ? minor >= 4 : major > 23
}

/** Loads the driver only now: a command that needs no journal does not pay for it. */
export function connect(driver: DriverName, path: string, readOnly: boolean): Connection {
  return driver === 'node' ? connectNode(path, readOnly) : connectLibsql(path, readOnly)
}

type NodeSqlite = {
  DatabaseSync: new (
    path: string,
    options: { readOnly: boolean; defensive: boolean },
  ) => {
    exec(sql: string): void
    close(): void
    prepare(sql: string): {
      run(...values: Value[]): { changes: number | bigint }
      get(...values: Value[]): unknown
      all(...values: Value[]): unknown[]
    }
  }
}

function connectNode(path: string, readOnly: boolean): Connection {
  const { DatabaseSync } = quietly(() => process.getBuiltinModule('node:sqlite')) as NodeSqlite
  // Newer versions are defensive by themselves, and then a damaged file cannot be looked into.
  const db = new DatabaseSync(path, { readOnly, defensive: !readOnly })
  return {
    exec: sql => db.exec(sql),
    close: () => db.close(),
    prepare: sql => {
      const statement = db.prepare(sql)
      return {
        run: values => Number(statement.run(...values).changes),
        get: values => statement.get(...values),
        all: values => statement.all(...values),
      }
    },
  }
}

/** Node 22 warns that its SQLite is experimental; that is no news for a user of ours. */
function quietly<T>(load: () => T): T {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}

type Libsql = new (
  path: string,
) => {
  exec(sql: string): void
  close(): void
  prepare(sql: string): {
    run(values: Value[]): { changes: number }
    get(values: Value[]): unknown
    all(values: Value[]): unknown[]
  }
}

/**
 * libsql looks for the C library in a report of the whole process, which takes as long as opening a journal. Without one
 * it looks at a file of the system, which will do nearly everywhere.
 */
function loadLibsql(): Libsql {
  const load = () => createRequire(import.meta.url)('libsql') as Libsql
  const { report } = process
  if (!report) return load()
  const { getReport } = report
  try {
    report.getReport = () => ({})
    return load()
  } catch {
    report.getReport = getReport
    return load()
  } finally {
    report.getReport = getReport
  }
}

function connectLibsql(path: string, readOnly: boolean): Connection {
  const Database = loadLibsql()
  // It has no option for read-only, but it understands SQLite's own addresses.
  const db = new Database(readOnly ? `${pathToFileURL(path).href}?mode=ro` : path)
  return {
    exec: sql => db.exec(sql),
    close: () => db.close(),
    prepare: sql => {
      const statement = db.prepare(sql)
      return {
        run: values => statement.run(values).changes,
        get: values => statement.get(values),
        all: values => statement.all(values),
      }
    },
  }
}
