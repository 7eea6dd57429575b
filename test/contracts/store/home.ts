import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../../src/store/database.ts'
import type { Dispatch } from '../../../src/store/dispatch.ts'
import type { DriverName } from '../../../src/store/driver.ts'
import type { Log } from '../../../src/store/log.ts'
import { openStore, type Store, type StoreOptions } from '../../../src/store/sqlite.ts'

/** One empty store, and as many connections to it as a test wants. What a contract suite needs to know of a home. */
export type Home = {
  connect(): Promise<{ log: Log; dispatch: Dispatch; close(): void }>
  /** Changes the tables behind the store's back. */
  tamper(sql: string): Promise<void>
  remove(): Promise<void>
}

/** libsql in this process; the same tests run again under a newer Node with its own SQLite (node-sqlite.test.ts). */
export const driver: DriverName = process.env.RALPH_SQLITE === 'node' ? 'node' : 'libsql'

export async function sqliteHome(): Promise<Home> {
  const folder = temporaryFolder()
  const path = join(folder, 'ralph.db')
  const opened: Store[] = []
  return {
    connect: async () => {
      const store = open(path)
      opened.push(store)
      return store
    },
    tamper: async sql => {
      const db = openDatabase(path, { driver })
      db.exec(sql)
      db.close()
    },
    remove: async () => {
      for (const store of opened) store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export function open(path: string, options: StoreOptions = {}): Store {
  return openStore(path, { driver, ...options })
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'ralph-store-'))
}
