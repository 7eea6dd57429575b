import { dirname, resolve } from 'node:path'
import { makeFolder } from './atomic-file.ts'
import { watchChanges } from './changes.ts'
import { examine, type Health } from './check.ts'
import { openDatabase } from './database.ts'
import type { Dispatch } from './dispatch.ts'
import type { DriverName } from './driver.ts'
import type { Log } from './log.ts'
import { refuseNetworkFileSystem } from './network-file-system.ts'
import { migrate } from './schema.ts'
import { sqliteDispatch } from './sqlite-dispatch.ts'
import { sqliteLog } from './sqlite-log.ts'
import { compareIdentity, identify, rescueFile, type Survival } from './survival.ts'

/** The two ports over one SQLite file, and what only a file needs. */
export type Store = {
  log: Log
  dispatch: Dispatch
  driver: DriverName
  /** Reads the whole journal: is the file sound, are the events as they were written, are the folds what they amount to? */
  check(): Health
  /** Whether the file at the path is still the open one. Costs three calls of `stat`. */
  survives(): Survival
  /** Puts a deleted or replaced file back from the open one. */
  rescue(): Promise<void>
  close(): void
}

export type StoreOptions = {
  driver?: DriverName
  /** How long to wait for another process's transaction, and how often to look for its events. Milliseconds. */
  busyTimeout?: number
  pollInterval?: number
  /** The list of mounted file systems. */
  mountinfo?: string
}

/** Opens the journal, and makes it when there is none. */
export function openStore(path: string, options: StoreOptions = {}): Store {
  refuseNetworkFileSystem(path, options.mountinfo)
  makeFolder(dirname(resolve(path)))
  const db = openDatabase(path, options)
  try {
    migrate(db)
  } catch (error) {
    db.close()
    throw error
  }
  let identity = identify(db.path)
  let working = false
  let reopened = false

  const survives = () => compareIdentity(identity, identify(db.path))
  const reopen = () => {
    db.reopen()
    migrate(db)
    identity = identify(db.path)
    reopened = true
  }
  /** A mere onlooker goes on with the file that is there now; the holder of a lease must decide for itself. */
  const follow = () => {
    if (!working && survives() === 'replaced') reopen()
    const moved = reopened
    reopened = false
    return moved
  }
  const changes = watchChanges(db, options.pollInterval ?? 200, follow)
  const dispatch = sqliteDispatch(db, changes)
  const log = sqliteLog(db, changes)
  return {
    log,
    dispatch: {
      ...dispatch,
      claim: async (...claim) => {
        const claimed = await dispatch.claim(...claim)
        working ||= claimed.ok
        return claimed
      },
    },
    driver: db.driver,
    check: () => examine(db),
    survives,
    rescue: async () => {
      if (survives() === 'ok') return
      rescueFile(db)
      reopen()
    },
    close: () => log.close(),
  }
}
