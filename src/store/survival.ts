import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDead, thisHost } from './alive.ts'
import { makeFolder, syncFolder, temporaryName } from './atomic-file.ts'
import { integer, text } from './columns.ts'
import { type Database, openDatabase } from './database.ts'
import type { Holder } from './dispatch.ts'
import { fromFileSystem, StoreError } from './store-error.ts'

/** Whether the open file is still the one at its path. */
export type Survival = 'ok' | 'missing' | 'replaced'

/** The file and SQLite's two side files, each as the system numbers it; null for one that is not there. */
export type Identity = (string | null)[]

export function identify(path: string): Identity {
  return [path, `${path}-wal`, `${path}-shm`].map(file => {
    const stat = statSync(file, { bigint: true, throwIfNoEntry: false })
    return stat ? `${stat.dev}:${stat.ino}` : null
  })
}

/**
 * The first file that is not the same one decides. SQLite deletes the side files only with its last connection, so while
 * ours is open a change is somebody else's doing. One that was not there at the start proves nothing.
 */
export function compareIdentity(opened: Identity, now: Identity): Survival {
  const at = opened.findIndex((file, index) => file !== null && file !== now[index])
  if (at < 0) return 'ok'
  return now[at] === null ? 'missing' : 'replaced'
}

/**
 * Puts the content of a deleted or replaced file back to its path. The open connection still holds all of it. Nothing
 * may come between the steps that could be taken for a whole journal but is none.
 */
export function rescueFile(db: Database): void {
  const { path } = db
  const temporary = temporaryName(path)
  try {
    makeFolder(dirname(path))
    db.run('vacuum into ?', temporary)
    syncFile(temporary)
    const other = otherHolder(path, db)
    if (other) {
      const saved = `${path}.rescued-${process.pid}`
      renameSync(temporary, saved)
      const detail = `pid ${other.pid} (${other.what}) has begun another journal in its place; this one was saved as ${saved}`
      throw new StoreError('other', path, detail)
    }
    // An old -wal file beside the new file would be played into it.
    rmSync(`${path}-wal`, { force: true })
    rmSync(`${path}-shm`, { force: true })
    renameSync(temporary, path)
    syncFolder(dirname(path))
  } catch (error) {
    rmSync(temporary, { force: true })
    throw fromFileSystem(error, path)
  }
}

/** A living process, not this one, that works with the file now at the path. */
function otherHolder(path: string, { driver }: Database): Holder | null {
  if (!statSync(path, { throwIfNoEntry: false })) return null
  try {
    const found = openDatabase(path, { driver, readOnly: true })
    try {
      const holders = found.all<Holder>(
        `select ${text('host', 'started', 'what')}, ${integer('pid')} from lease where held = 1 and expires > ?`,
        Date.now(),
      )
      return holders.find(holder => holder.pid !== process.pid && !isDead(holder, thisHost())) ?? null
    } finally {
      found.close()
    }
  } catch {
    return null
  }
}

function syncFile(path: string): void {
  const file = openSync(path, 'r+')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
