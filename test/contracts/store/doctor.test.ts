import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { UserError } from '../../../src/core/errors.ts'
import { examine, isSound } from '../../../src/store/check.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { type Inspection, inspectDatabase, salvage } from '../../../src/store/doctor.ts'
import { runStream } from '../../../src/store/log.ts'
import { driver, open, temporaryFolder } from './home.ts'
import { Journal, newTask } from './journal.ts'

const inspect = (path: string) => inspectDatabase(path, driver)

describe(`doctor (${driver})`, () => {
  let pattern: string
  let whole: Buffer
  let events: number
  let folder: string
  let path: string
  let to: string

  /** One journal of forty finished tasks, copied for every test. */
  beforeAll(async () => {
    pattern = temporaryFolder()
    const file = join(pattern, 'ralph.db')
    const store = open(file)
    const journal = new Journal(store.log)
    await journal.atOnce(() => journal.complete(...Array.from({ length: 40 }, (_, n) => `task-${n}`)))
    events = [...journal.seqs.values()].reduce((sum, seq) => sum + seq, 0)
    store.close()
    whole = readFileSync(file)
  })
  afterAll(() => rmSync(pattern, { recursive: true, force: true }))

  beforeEach(() => {
    folder = temporaryFolder()
    path = join(folder, 'ralph.db')
    to = join(folder, 'saved.db')
    writeFileSync(path, whole)
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  function change(sql: string): void {
    const db = openDatabase(path, { driver })
    db.exec(sql)
    db.close()
  }

  /** What was saved is a sound journal of its own. */
  async function expectSaved(): Promise<{ done: number; open: number }> {
    const store = open(to)
    try {
      expect(isSound(store.check())).toBe(true)
      return await store.log.counts()
    } finally {
      store.close()
    }
  }

  it('finds nothing wrong with a sound journal, and leaves it as it is', () => {
    const found = readable(inspect(path))
    expect(found).toEqual({ type: 'readable', damage: [], events, unusable: [], lost: 0, differing: [] })
    expect(isSound(found)).toBe(true)
    expect(readFileSync(path).equals(whole)).toBe(true)
  })

  it('reads what a killed engine left in the side file', async () => {
    const store = open(path)
    const journal = new Journal(store.log, 'r2')
    await journal.resume()
    await journal.start()
    await journal.add(newTask('late'))
    const crashed = join(folder, 'crashed.db')
    copyFileSync(path, crashed)
    copyFileSync(`${path}-wal`, `${crashed}-wal`)
    store.close()
    expect(readable(inspect(crashed)).events).toBe(events + 2)
  })

  it('H-30 says plainly what is no journal', () => {
    mkdirSync(join(folder, 'folder'))
    writeFileSync(join(folder, 'empty'), '')
    writeFileSync(join(folder, 'short'), 'S')
    writeFileSync(join(folder, 'text'), 'rubbish '.repeat(2000))
    writeFileSync(join(folder, 'head-only'), whole.subarray(0, 100))
    const other = openDatabase(join(folder, 'other'), { driver })
    other.exec('create table customers (name)')
    other.close()
    expect(inspect(join(folder, 'none'))).toEqual({ type: 'missing' })
    for (const name of ['folder', 'empty', 'short', 'text', 'head-only', 'other']) {
      expect(inspect(join(folder, name))).toMatchObject({
        type: 'unreadable',
        problem: expect.stringMatching(/\w/),
      })
    }
    expect(inspect(join(folder, 'text'))).toMatchObject({ problem: 'file is not a database' })
    expect(inspect(join(folder, 'other'))).toMatchObject({ problem: 'it has no events of Ralph' })
  })

  it('does not open a journal of a newer Ralph', () => {
    change("update meta set value = '99' where key = 'schema'")
    expect(inspect(path)).toMatchObject({ type: 'unreadable', problem: expect.stringMatching(/newer Ralph/) })
  })

  it('finds folds that are not what the events say', () => {
    change(`
      update task set state = replace(state, '"status":"done"', '"status":"open"') where id = 'task-3';
      update task set status = 'open' where id = 'task-4';
      delete from task where id = 'task-5';
      update run set state = replace(state, '"costUsd":10', '"costUsd":1');
    `)
    const found = readable(inspect(path))
    expect(found.differing).toEqual(['task task-3', 'task task-4', 'task task-5', 'run r1'])
    expect(found).toMatchObject({ damage: [], lost: 0, unusable: [] })
  })

  it('finds an event that was changed or deleted, and saves what came before it', async () => {
    change(`
      update event set body = replace(body, '"costUsd":0.25', '"costUsd":0') where stream = 'task-7' and type = 'step.finished';
      delete from event where stream = 'task-8' and seq = 3;
    `)
    const found = readable(inspect(path))
    expect(found.lost).toBe(1)
    expect(found.unusable[0]).toMatchObject({ stream: 'task-7', why: 'it was changed after it was written' })
    const saved = await salvage(path, to, driver)
    expect(saved).toMatchObject({ lost: 1, rebuilt: 0, tasks: 40, unusable: found.unusable })
    expect(saved.events + saved.unusable.length + saved.lost).toBe(events)
    expect(await expectSaved()).toMatchObject({ done: 38, open: 2 })
  })

  it('makes the lost start of a run anew', async () => {
    change(`delete from event where stream = '${runStream('r1')}' and seq = 1`)
    const saved = await salvage(path, to, driver)
    expect(saved).toMatchObject({ rebuilt: 1, lost: 1, unusable: [], events })
    expect(await expectSaved()).toMatchObject({ done: 40 })
  })

  it('gives up what has no start, and says so', async () => {
    change(`delete from event where stream = '${runStream('r1')}' and seq = 1; delete from run`)
    await expect(salvage(path, to, driver)).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringMatching(/nothing can be saved from .*: no event .*whose start is not recorded/),
      fix: expect.stringContaining('Move it away'),
      exitCode: 1,
    })
    expect(readdirSync(folder).filter(name => name.startsWith('saved'))).toEqual([])
  })

  it('gives up a file of which only the first page is left', async () => {
    path = join(folder, 'cut.db')
    writeFileSync(path, whole.subarray(0, 4096 + 100))
    await expect(salvage(path, to, driver)).rejects.toThrow(/^nothing can be saved from .*: \w/)
    expect(existsSync(to)).toBe(false)
  })

  it('is not misled by an engine that writes while the journal is read', async () => {
    const store = open(path)
    const journal = new Journal(store.log, 'r2')
    await journal.resume()
    await journal.start()
    const db = openDatabase(path, { driver, readOnly: true })
    let written = 0
    // Between the events and the states that were kept with them.
    const interrupted = {
      ...db,
      raw: <T>(sql: string, ...values: (string | number | null)[]): T[] => {
        if (/from (?:task|run)$/.test(sql)) void journal.add(newTask(`late-${written++}`))
        return db.raw<T>(sql, ...values)
      },
    }
    const health = examine(interrupted)
    expect(written).toBe(2)
    expect(health).toMatchObject({ differing: [], events: events + 1 })
    expect(isSound(health)).toBe(true)
    expect(await store.log.task('late-1')).not.toBeNull()
    db.close()
    store.close()
  })

  it('H-30 is not stopped by text that is no text', async () => {
    const at = whole.indexOf('Done. ', whole.length / 2)
    path = join(folder, 'damaged.db')
    writeFileSync(path, Buffer.from(whole).fill(0xff, at, at + 3))
    expect(readable(inspect(path)).lost).toBe(1)
    expect(await salvage(path, to, driver)).toMatchObject({ lost: 1 })
    await expectSaved()
  })

  it('H-30 saves the beginning of a file that was cut off', async () => {
    const kept: number[] = []
    for (const part of [0.4, 0.55, 0.7]) {
      path = join(folder, `cut-${part}.db`)
      to = join(folder, `saved-${part}.db`)
      writeFileSync(path, whole.subarray(0, Math.floor(whole.length * part)))
      const found = readable(inspect(path))
      expect(found.damage.length).toBeGreaterThan(0)
      expect(found.lost).toBeGreaterThan(0)
      kept.push((await salvage(path, to, driver)).events)
      await expectSaved()
    }
    const [little = 0, half = 0, most = 0] = kept
    expect([0 < little, little < half, half < most, most < events]).toEqual([true, true, true, true])
  })

  it('survives files damaged at random', async () => {
    const random = seeded(7)
    let readableFiles = 0
    for (let round = 0; round < 12; round++) {
      const damaged = Buffer.from(whole)
      for (let n = 0; n < 1 + (round % 10) * 4; n++) {
        // Half of the damage where it hurts most: in the first pages, where the tables are described.
        const at = Math.floor(random() * (round % 2 ? whole.length : 20_000))
        damaged.fill(Math.floor(random() * 256), at, at + 1 + Math.floor(random() * 40))
      }
      path = join(folder, `${round}.db`)
      to = join(folder, `${round}-saved.db`)
      writeFileSync(path, damaged)
      const found = inspect(path)
      if (found.type !== 'readable' || found.events === found.unusable.length) {
        await expect(salvage(path, to, driver)).rejects.toThrow(UserError)
        expect(existsSync(to)).toBe(false)
        continue
      }
      readableFiles += 1
      await salvage(path, to, driver)
      await expectSaved()
    }
    expect(readableFiles).toBeGreaterThan(4)
  })

  it('does not write over a file, and leaves none behind when it cannot help', async () => {
    await expect(salvage(path, path, driver)).rejects.toThrow(/exists already/)
    writeFileSync(path, 'rubbish')
    await expect(salvage(path, to, driver)).rejects.toThrow(/nothing can be saved/)
    expect(existsSync(to)).toBe(false)
  })
})

function readable(found: Inspection): Extract<Inspection, { type: 'readable' }> {
  if (found.type !== 'readable') throw new Error(JSON.stringify(found))
  return found
}

/** Random, but the same every time. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}
