import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { isSound } from '../../../src/store/check.ts'
import { Conflict } from '../../../src/store/log.ts'
import type { Store } from '../../../src/store/sqlite.ts'
import { driver, open, temporaryFolder } from './home.ts'
import { Journal, newTask } from './journal.ts'
import { type Program, program, type Running } from './program.ts'

describe(`several processes on one store (${driver})`, () => {
  let writer: Program
  let folder: string
  let path: string
  const stores: Store[] = []

  beforeAll(async () => {
    writer = await program('writer')
  })
  afterAll(() => writer.remove())
  beforeEach(() => {
    folder = temporaryFolder()
    path = join(folder, 'ralph.db')
  })
  afterEach(() => {
    for (const store of stores.splice(0)) store.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function withSharedTask(): Promise<Store> {
    const store = open(path)
    stores.push(store)
    const journal = new Journal(store.log, 'r0')
    await journal.start()
    await journal.add(newTask('shared'))
    return store
  }

  it('gives every sequence number to one of four writers', async () => {
    const store = await withSharedTask()
    const late = new Journal(store.log, 'r0')
    await late.resume()
    const writers = ['a', 'b', 'c', 'd'].map(name => writer.start(path, name, '60'))
    await Promise.all(writers.map(one => one.line('ready')))
    for (const one of writers) one.child.stdin?.write('go\n')
    for (const one of writers) expect((await one.ended).code).toBe(0)

    const texts: string[] = []
    const seqs: number[] = []
    for await (const { seq, event } of store.log.events({ stream: 'shared' })) {
      seqs.push(seq)
      if (event.type === 'task.steered') texts.push(event.text)
    }
    expect(seqs).toEqual(Array.from({ length: 241 }, (_, n) => n + 1))
    expect(new Set(texts).size).toBe(240)
    await expect(late.write('shared', { type: 'task.steered', text: 'too late' })).rejects.toThrow(Conflict)
    expect(isSound(store.check())).toBe(true)
  })

  it('is made once when several processes open a new file at the same time', async () => {
    const writers = ['a', 'b', 'c', 'd', 'e', 'f'].map(name => writer.start(path, name, '0'))
    await Promise.all(writers.map(one => one.line('ready')))
    for (const one of writers) one.child.kill('SIGKILL')
    await Promise.all(writers.map(one => one.ended))
    const store = open(path)
    stores.push(store)
    expect((await store.log.tasks()).map(task => task.id)).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  })

  it('G-11 loses nothing that was confirmed when its writers are killed, twelve times over', async () => {
    const store = await withSharedTask()
    const kept = new Map<string, number>()
    for (let round = 0; round < 4; round++) {
      const writers = ['a', 'b', 'c'].map(name => writer.start(path, `${name}${round}`, '0'))
      await Promise.all(writers.map(one => one.line('ready')))
      for (const one of writers) one.child.stdin?.write('go\n')
      for (const one of writers) {
        await one.line('kept shared')
        await new Promise(resolve => setTimeout(resolve, 5 + round * 7))
        one.child.kill('SIGKILL')
        expect((await one.ended).signal).toBe('SIGKILL')
        for (const [stream, seq] of confirmed(one)) kept.set(stream, Math.max(seq, kept.get(stream) ?? 0))
      }
    }
    expect(kept.size).toBe(13)
    for (const [stream, seq] of kept)
      expect((await store.log.head(stream))?.seq ?? 0).toBeGreaterThanOrEqual(seq)
    const health = store.check()
    expect(health).toMatchObject({ damage: [], unusable: [], lost: 0 })
    // The run's cached fold is not affected by a steer, so every fold must be exact.
    expect(health.differing).toEqual([])
  })

  it('wakes a listener when another process wrote', async () => {
    const store = await withSharedTask()
    const listener = vi.fn()
    store.log.subscribe(listener)
    const one = writer.start(path, 'a', '3')
    await one.line('ready')
    await vi.waitFor(() => expect(listener).toHaveBeenCalled(), { timeout: 5000 })
    one.child.stdin?.write('go\n')
    await one.ended
    await vi.waitFor(async () => expect((await store.log.task('shared'))?.seq).toBe(4))
  })
})

/** The last sequence number of each stream that the writer was told is kept. */
function confirmed(one: Running): Map<string, number> {
  const lines = one.lines().filter(line => line.startsWith('kept '))
  return new Map(lines.map(line => line.split(' ')).map(([, stream = '', seq]) => [stream, Number(seq)]))
}
