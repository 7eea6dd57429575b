import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { processStart, thisHost, thisProcess } from '../../../src/store/alive.ts'
import { isSound } from '../../../src/store/check.ts'
import { exportJournal } from '../../../src/store/export.ts'
import type { Store } from '../../../src/store/sqlite.ts'
import { driver, open, temporaryFolder } from './home.ts'
import { Journal, newTask } from './journal.ts'

describe(`a journal that somebody deletes under a running engine (${driver})`, () => {
  let folder: string
  let home: string
  let path: string
  let store: Store
  let journal: Journal
  const opened: Store[] = []

  beforeEach(async () => {
    folder = temporaryFolder()
    home = join(folder, '.ralph')
    path = join(home, 'ralph.db')
    store = openAgain()
    journal = new Journal(store.log)
    const claim = await store.dispatch.claim('tree', thisProcess('test'), 60_000, Date.now())
    if (claim.ok) journal.fence = { key: 'tree', token: claim.token }
    await journal.complete('a', 'b')
  })
  afterEach(() => {
    for (const one of opened.splice(0)) one.close()
    rmSync(folder, { recursive: true, force: true })
  })

  function openAgain(options = {}): Store {
    const one = open(path, options)
    opened.push(one)
    return one
  }

  /** Everything is at the path again, sound, and the engine goes on in it. */
  async function expectRescued(): Promise<void> {
    const before = await textOf(store)
    await store.rescue()
    expect(store.survives()).toBe('ok')
    const other = openAgain()
    expect(await textOf(other)).toBe(before)
    expect(isSound(other.check())).toBe(true)
    expect(await other.dispatch.holder('tree')).toMatchObject({ pid: process.pid })
    await journal.add(newTask('later'))
    expect((await other.log.task('later'))?.seq).toBe(1)
    expect(readdirSync(home).sort()).toEqual(['ralph.db', 'ralph.db-shm', 'ralph.db-wal'])
  }

  it('is well as long as nobody does', async () => {
    expect(store.survives()).toBe('ok')
    const other = openAgain()
    await other.log.setNote('a', 'b')
    other.close()
    expect(store.survives()).toBe('ok')
    await store.rescue()
    expect(store.survives()).toBe('ok')
  })

  it('comes back after the whole folder was deleted, with what was written since', async () => {
    execFileSync('rm', ['-rf', home])
    expect(store.survives()).toBe('missing')
    await journal.add(newTask('c'))
    await expectRescued()
    expect((await store.log.task('c'))?.seq).toBe(1)
  })

  it('comes back after only the side files were deleted', async () => {
    execFileSync('rm', [`${path}-wal`, `${path}-shm`])
    expect(store.survives()).toBe('missing')
    await journal.add(newTask('c'))
    await expectRescued()
  })

  it('comes back after only the file itself was deleted; the old side files are not played into it', async () => {
    execFileSync('rm', [path])
    expect(store.survives()).toBe('missing')
    await expectRescued()
  })

  it('comes back after it was replaced by another journal', async () => {
    execFileSync('rm', ['-rf', home])
    const other = open(path)
    await new Journal(other.log, 'other').complete('x', 'y', 'z')
    other.close()
    expect(store.survives()).toBe('replaced')
    await expectRescued()
    expect(await store.log.task('x')).toBeNull()
  })

  it('comes back after it was replaced by rubbish', async () => {
    execFileSync('rm', ['-rf', home])
    mkdirSync(home)
    writeFileSync(path, 'rubbish '.repeat(1000))
    writeFileSync(`${path}-wal`, 'rubbish')
    writeFileSync(`${path}-shm`, '')
    expect(store.survives()).toBe('replaced')
    await expectRescued()
  })

  it('does so again and again', async () => {
    for (const id of ['c', 'd', 'e']) {
      execFileSync('rm', ['-rf', home])
      await journal.add(newTask(id))
      await store.rescue()
    }
    const ids = (await openAgain().log.tasks()).map(task => task.id)
    expect(ids.sort()).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('is saved beside another journal that a living engine has begun in its place', async () => {
    const before = await textOf(store)
    execFileSync('rm', ['-rf', home])
    const child = spawn('sleep', ['60'])
    await once(child, 'spawn')
    const pid = child.pid ?? 0
    const other = openAgain()
    await new Journal(other.log, 'other').complete('x')
    const holder = { host: thisHost(), pid, started: processStart(pid) ?? '', what: 'ralph run' }
    await other.dispatch.claim('tree', holder, 60_000, Date.now())
    await expect(store.rescue()).rejects.toThrow(
      new RegExp(`pid ${pid} \\(ralph run\\) has begun another journal`),
    )
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect((await other.log.task('x'))?.state.status).toBe('done')
    const saved = open(`${path}.rescued-${process.pid}`)
    opened.push(saved)
    expect(await textOf(saved)).toBe(before)
  })

  it('is followed to its new file by an onlooker', async () => {
    const onlooker = openAgain({ pollInterval: 20 })
    const listener = vi.fn()
    onlooker.log.subscribe(listener)
    execFileSync('rm', ['-rf', home])
    await store.rescue()
    await journal.add(newTask('c'))
    await vi.waitFor(() => expect(listener).toHaveBeenCalled(), { timeout: 5000 })
    expect((await onlooker.log.task('c'))?.seq).toBe(1)
  })

  it('leaves no temporary file when there is no room to come back', async () => {
    execFileSync('rm', ['-rf', home])
    writeFileSync(home, 'a file where the folder was')
    await expect(store.rescue()).rejects.toThrow()
    rmSync(home)
    expect(existsSync(home)).toBe(false)
    await expectRescued()
  })
})

async function textOf(store: Store): Promise<string> {
  let text = ''
  await exportJournal(store.log, part => {
    text += part
  })
  return text
}
