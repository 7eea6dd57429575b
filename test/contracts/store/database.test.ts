import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { UserError } from '../../../src/core/errors.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { chooseDriver, connect, nodeHasSqlite } from '../../../src/store/driver.ts'
import { mountType } from '../../../src/store/network-file-system.ts'
import { migrate, migrations } from '../../../src/store/schema.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { driver, open, temporaryFolder } from './home.ts'
import { Journal, newTask } from './journal.ts'
import { smallDisk } from './mount.ts'
import { type Program, program } from './program.ts'

describe(`database (${driver})`, () => {
  let folder: string
  let path: string
  let opener: Program
  const opened: { close(): void }[] = []

  beforeAll(async () => {
    opener = await program('opener')
  })
  afterAll(() => opener.remove())

  beforeEach(() => {
    folder = temporaryFolder()
    path = join(folder, 'ralph.db')
  })
  afterEach(() => {
    for (const one of opened.splice(0)) one.close()
    rmSync(folder, { recursive: true, force: true })
  })

  function database(options = {}): Database {
    const db = openDatabase(path, { driver, ...options })
    opened.push(db)
    return db
  }

  function store(file = path, options = {}) {
    const one = open(file, options)
    opened.push(one)
    return one
  }

  describe('driver', () => {
    it('is Node where its SQLite needs no flag', () => {
      const versions = [
        '20.20.2',
        '22.5.0',
        '22.12.0',
        '22.13.0',
        '22.23.3',
        '23.3.0',
        '23.4.0',
        '24.0.0',
        '26.1.0',
      ]
      expect(versions.filter(nodeHasSqlite)).toEqual(['22.13.0', '22.23.3', '23.4.0', '24.0.0', '26.1.0'])
      expect(chooseDriver('')).toBe(nodeHasSqlite(process.versions.node) ? 'node' : 'libsql')
    })

    it('is what RALPH_SQLITE says, if that can be', () => {
      expect(chooseDriver('libsql')).toBe('libsql')
      expect(() => chooseDriver('postgres')).toThrow(UserError)
      if (nodeHasSqlite(process.versions.node)) expect(chooseDriver('node')).toBe('node')
      else expect(() => chooseDriver('node')).toThrow(/needs Node 22.13/)
    })

    it('is loaded without a word on the error output', () => {
      const env = { ...process.env, RALPH_SQLITE: '', NODE_OPTIONS: '' }
      const { stdout, stderr } = spawnSync(process.execPath, [opener.file, path], { encoding: 'utf8', env })
      expect({ stdout, stderr }).toEqual({ stdout: `driver ${chooseDriver('')}\n`, stderr: '' })
    })
  })

  it('is durable and lets readers in', () => {
    const db = database()
    expect(db.get('pragma journal_mode')).toMatchObject({ journal_mode: 'wal' })
    expect(db.get('pragma synchronous')).toMatchObject({ synchronous: 2 })
  })

  it('keeps everything or nothing of a transaction', () => {
    const db = database()
    db.exec('create table t (a)')
    expect(() =>
      db.transaction(() => {
        db.run('insert into t values (?)', 1)
        throw new Error('stop')
      }),
    ).toThrow('stop')
    expect(db.all('select * from t')).toEqual([])
    expect(db.transaction(() => db.run('insert into t values (?), (?)', null, 'two'))).toBe(2)
    expect(db.all<{ a: unknown }>('select a from t').map(row => row.a)).toEqual([null, 'two'])
  })

  it('leaves one whole file behind when it is closed', async () => {
    const first = open(path)
    await new Journal(first.log).complete('a')
    first.close()
    first.close()
    const copy = join(folder, 'copy.db')
    writeFileSync(copy, readFileSync(path))
    expect((await store(copy).log.task('a'))?.state.status).toBe('done')
  })

  describe('schema', () => {
    it('H-30 is kept in the file, and a newer one is refused', async () => {
      await store().log.setNote('a', 'b')
      const db = database()
      expect(db.get("select value from meta where key = 'schema'")).toMatchObject({
        value: `${migrations.length}`,
      })
      db.run("update meta set value = '99' where key = 'schema'")
      const refused = expectThrow(() => open(path))
      expect(refused).toBeInstanceOf(UserError)
      expect(refused).toMatchObject({
        message: expect.stringMatching(/newer Ralph \(schema 99/),
        fix: 'Upgrade Ralph.',
      })
    })

    it('is brought up to date in one transaction', () => {
      const db = database()
      migrate(db)
      const next = [...migrations, (one: Database) => one.exec('alter table note add column extra text')]
      const broken = [
        ...next,
        (one: Database) => {
          one.exec('create table half (a)')
          throw new Error('broken step')
        },
      ]
      expect(() => migrate(db, broken)).toThrow('broken step')
      expect(versionOf(db)).toBe(`${migrations.length}`)
      expect(db.all("select name from sqlite_master where name = 'half'")).toEqual([])
      migrate(db, next)
      expect(versionOf(db)).toBe(`${migrations.length + 1}`)
      expect(db.all('select extra from note')).toEqual([])
      expect(() => migrate(db)).toThrow(/newer Ralph/)
    })

    it('is not forced upon a database of something else', () => {
      const db = database()
      db.exec('create table customers (a)')
      expect(() => open(path)).toThrow(/not a journal of Ralph/)
    })
  })

  describe('failure', () => {
    it('H-30 of a file that is no database is told plainly, and the file is left alone', () => {
      writeFileSync(path, 'this is not a database '.repeat(500))
      const before = readFileSync(path)
      expect(expectThrow(() => open(path))).toMatchObject({ name: 'StoreError', reason: 'corrupt' })
      expect(() => open(path)).toThrow(/ralph doctor/)
      expect(readFileSync(path).equals(before)).toBe(true)
    })

    it('of a lock is told after a while', () => {
      const holder = database()
      migrate(holder)
      const second = database({ busyTimeout: 50 })
      holder.exec('begin immediate')
      expect(expectThrow(() => second.transaction(() => 1))).toMatchObject({
        name: 'StoreError',
        reason: 'locked',
      })
      holder.exec('commit')
      expect(second.transaction(() => 1)).toBe(1)
    })

    it('of a lock is waited out while the file is being made', async () => {
      // As long as the file is not in its final mode, SQLite itself does not wait here.
      const maker = connect(driver, path, false)
      opened.push(maker)
      maker.exec('create table meanwhile (a); drop table meanwhile; begin immediate')
      const one = opener.start(path)
      await new Promise(resolve => setTimeout(resolve, 600))
      expect(one.child.exitCode).toBeNull()
      maker.exec('rollback')
      expect(await one.ended).toEqual({ code: 0, signal: null })
    })

    it('of a folder that cannot be is passed on', () => {
      writeFileSync(join(folder, 'file'), '')
      expect(() => open(join(folder, 'file', 'ralph.db'))).toThrow()
    })

    it('H-30 of a full disk loses nothing that was confirmed, and writing goes on once there is room', async () => {
      const disk = smallDisk()
      try {
        const ballast = join(disk.folder, 'ballast')
        writeFileSync(ballast, Buffer.alloc(300_000))
        const one = store(join(disk.folder, 'ralph.db'))
        const journal = new Journal(one.log)
        await journal.start()
        await journal.add(newTask('a'))
        let kept = 0
        const failure = await fillUp(async () => {
          await journal.write('a', { type: 'task.steered', text: 'x'.repeat(2000) })
          kept += 1
        })
        expect(failure).toBeInstanceOf(StoreError)
        expect(failure).toMatchObject({ reason: 'full', message: expect.stringMatching(/disk is full/) })
        expect(kept).toBeGreaterThan(5)
        expect((await one.log.head('a'))?.seq).toBe(kept + 1)
        expect(one.check()).toMatchObject({ damage: [], lost: 0, unusable: [] })
        rmSync(ballast)
        const again = new Journal(one.log)
        await again.resume()
        await again.write('a', { type: 'task.steered', text: 'more' })
        expect((await one.log.head('a'))?.seq).toBe(kept + 2)
        expect(expectThrow(() => fillFile(join(disk.folder, 'ballast')))).toMatchObject({ code: 'ENOSPC' })
        expect(expectThrow(() => store(join(disk.folder, 'second', 'ralph.db')))).toMatchObject({
          reason: 'full',
        })
        one.close()
      } finally {
        disk.remove()
      }
    })

    it('of a read-only disk is told at the first write; looking still works', async () => {
      const disk = smallDisk()
      try {
        await new Journal(store(join(disk.folder, 'ralph.db')).log).complete('a')
        const one = store(join(disk.readOnly, 'ralph.db'))
        expect((await one.log.counts()).done).toBe(1)
        await expect(one.log.setNote('a', 'b')).rejects.toMatchObject({
          name: 'StoreError',
          reason: 'read-only',
        })
        expect(expectThrow(() => open(join(disk.readOnly, 'new.db')))).toMatchObject({ reason: 'read-only' })
        expect(expectThrow(() => open(join(disk.readOnly, 'new', 'ralph.db')))).toMatchObject({
          reason: 'read-only',
        })
        one.close()
      } finally {
        disk.remove()
      }
    })
  })

  describe('network file system', () => {
    const mounts = [
      '22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw',
      '23 22 0:21 / /mnt rw - nfs4 server:/export rw,vers=4.2',
      '24 23 0:22 / /mnt/local rw - overlay overlay rw',
      '25 22 0:23 / /mnt/with\\040blank rw master:1 - fuse.sshfs me@host:/ rw',
      '26 22 0:24 / /host rw - virtiofs share rw',
      '27 22 0:25 / /twice rw - cifs //server/share rw',
      '28 27 0:26 / /twice rw - tmpfs tmpfs rw',
    ].join('\n')

    it('is told from a local one by the mount a path lies on', () => {
      const types = [
        '/home/me',
        '/mnt',
        '/mnt/a/b',
        '/mnt/local/a',
        '/mntx',
        '/mnt/with blank/a',
        '/host/a',
        '/twice/a',
      ]
      expect(types.map(one => mountType(mounts, one))).toEqual([
        ...['ext4', 'nfs4', 'nfs4', 'overlay', 'ext4', 'fuse.sshfs', 'virtiofs', 'tmpfs'],
      ])
    })

    it('is refused before anything is written', () => {
      const mountinfo = join(folder, 'mountinfo')
      writeFileSync(
        mountinfo,
        `22 1 254:1 / / rw - ext4 /dev/vda1 rw\n23 22 0:21 / ${folder} rw - nfs4 server:/export rw\n`,
      )
      const refused = expectThrow(() => open(join(folder, 'deep', '.ralph', 'ralph.db'), { mountinfo }))
      expect(refused).toBeInstanceOf(UserError)
      expect(refused).toMatchObject({ message: expect.stringMatching(/network file system \(nfs4\)/) })
      expect(existsSync(join(folder, 'deep'))).toBe(false)
    })

    it('is not guessed where there is no list of mounts', async () => {
      await store(path, { mountinfo: join(folder, 'none') }).log.setNote('a', 'b')
    })
  })
})

function versionOf(db: Database): string | undefined {
  return db.get<{ value: string }>("select value from meta where key = 'schema'")?.value
}

function expectThrow(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}

async function fillUp(write: () => Promise<void>): Promise<unknown> {
  for (let n = 0; n < 10_000; n++) {
    try {
      await write()
    } catch (error) {
      return error
    }
  }
  throw new Error('the disk never ran full')
}

function fillFile(path: string): void {
  for (let size = 0; size < 2_000_000; size += 4096) writeFileSync(path, Buffer.alloc(4096), { flag: 'a' })
}
