import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { choose } from '../../../src/core/select.ts'
import { openDatabase } from '../../../src/store/database.ts'
import type { Store } from '../../../src/store/sqlite.ts'
import { driver, open, temporaryFolder } from './home.ts'
import { Journal, newTask } from './journal.ts'

describe(`ten thousand tasks (${driver})`, () => {
  let folder: string
  let store: Store
  let journal: Journal

  beforeAll(async () => {
    folder = temporaryFolder()
    store = open(join(folder, 'ralph.db'))
    journal = new Journal(store.log)
    await journal.start()
    await journal.add(...Array.from({ length: 10_000 }, (_, order) => newTask(`t${order}`, { order })))
  })
  afterAll(() => {
    store.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('are counted, and all of them can be chosen', async () => {
    expect((await store.log.counts()).open).toBe(10_000)
    const ids = Array.from(store.log.candidates() as Iterable<{ id: string }>, one => one.id)
    expect(ids).toEqual(Array.from({ length: 10_000 }, (_, order) => `t${order}`))
  })

  it('are not read to find the first one', () => {
    // A row that cannot be read shows who reads it.
    spoil("update task set needs = 'spoiled' where id = 't500'")
    const candidates = store.log.candidates() as Iterable<{ id: string }>
    const [first, second] = candidates
    expect([first?.id, second?.id]).toEqual(['t0', 't1'])
    expect(() => [...candidates, ...(store.log.candidates() as Iterable<unknown>)]).toThrow(/JSON/)
    spoil("update task set needs = '[]' where id = 't500'")
  })

  it('are not read to find the one that was begun', async () => {
    await journal.begin('t9999')
    spoil("update task set needs = 'spoiled' where id = 't0'")
    const candidates = store.log.candidates() as Iterable<
      Parameters<typeof choose>[0] extends Iterable<infer C> ? C : never
    >
    expect(choose(candidates, () => true, 0)).toEqual({ type: 'task', id: 't9999' })
  })

  function spoil(sql: string): void {
    const db = openDatabase(join(folder, 'ralph.db'), { driver })
    db.exec(sql)
    db.close()
  }
})
