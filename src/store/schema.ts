import { randomUUID } from 'node:crypto'
import { UserError } from '../core/errors.ts'
import type { Database } from './database.ts'

export type Migration = (db: Database) => void

/** One step per schema version, never changed once released. */
export const migrations: readonly Migration[] = [createTables]

/** Brings the file to the newest schema. Writes nothing when it is there already, so a read-only file can be looked at. */
export function migrate(db: Database, steps: readonly Migration[] = migrations): void {
  if (currentVersion(db, steps.length) === steps.length) return
  db.transaction(() => {
    // Another process may have been faster while this one waited for the lock.
    const from = currentVersion(db, steps.length)
    for (const step of steps.slice(from)) step(db)
    db.run(
      "insert into meta (key, value) values ('schema', ?) on conflict do update set value = excluded.value",
      `${steps.length}`,
    )
  })
}

/** 0 for an empty file. Asks for numbers only: libsql ends the whole process when a damaged text is not valid UTF-8. */
function currentVersion(db: Database, known: number): number {
  const sql = "select count(*) as n, sum(name = 'meta') as meta from sqlite_master where type = 'table'"
  const tables = db.get<{ n: number; meta: number }>(sql)
  if (!tables?.n) return 0
  const version = tables.meta ? versionInMeta(db) : 0
  if (version === 0) {
    throw new UserError(
      `${db.path} is a database, but not a journal of Ralph`,
      'Move it away, or give another path.',
    )
  }
  if (version > known) {
    throw new UserError(
      `${db.path} was written by a newer Ralph (schema ${version}; this one knows ${known})`,
      'Upgrade Ralph.',
    )
  }
  return version
}

function versionInMeta(db: Database): number {
  const sql = "select cast(value as integer) as version from meta where key = 'schema'"
  return db.get<{ version: number }>(sql)?.version ?? 0
}

/**
 * `event` is the truth, and its key (stream, seq) the fence. `task` and `run` are folds of it, kept so that nobody has
 * to read ten thousand tasks to know which one is next. The big column comes last: SQLite reads a row from its start.
 */
function createTables(db: Database): void {
  db.exec(`
    create table event (
      id integer primary key autoincrement,
      stream text not null,
      seq integer not null,
      at integer not null,
      run text not null,
      type text not null,
      fold text not null,
      chain text not null,
      body text not null,
      unique (stream, seq)
    );
    create index event_run on event (run);
    create table task (
      id text primary key,
      seq integer not null,
      rank real not null,
      status text not null,
      begun integer not null,
      wait_until integer not null,
      needs text not null,
      proof text not null,
      state text not null
    );
    create index task_proof on task (status, proof);
    create index task_order on task (status, begun, rank, id);
    create index task_begun on task (begun, rank, id);
    create table run (id text primary key, started_at integer not null, state text not null);
    create index run_started on run (started_at);
    create table request (
      id integer primary key autoincrement,
      kind text not null,
      task text,
      text text not null,
      author text not null,
      at integer not null,
      taken_at integer,
      result text
    );
    create index request_pending on request (id) where taken_at is null;
    create table lease (
      key text primary key,
      token integer not null,
      held integer not null,
      host text not null,
      pid integer not null,
      started text not null,
      what text not null,
      since integer not null,
      expires integer not null
    );
    create table note (key text primary key, value text not null);
    create table meta (key text primary key, value text not null);
  `)
  db.run("insert into meta (key, value) values ('id', ?)", randomUUID())
}
