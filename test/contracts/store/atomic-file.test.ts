import {
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  appendLineDurable,
  setFileFault,
  writeFileAtomic,
  writeFileAtomicSync,
} from '../../../src/store/atomic-file.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { temporaryFolder } from './home.ts'
import { smallDisk } from './mount.ts'
import { type Program, program, run } from './program.ts'

describe('atomic file', () => {
  let folder: string
  let path: string

  beforeEach(() => {
    folder = temporaryFolder()
    path = join(folder, 'state.json')
  })
  afterEach(() => {
    setFileFault(null)
    rmSync(folder, { recursive: true, force: true })
  })

  it('S0-20 writes a temporary file in the same folder and renames it', () => {
    writeFileSync(path, 'old')
    const seen: string[] = []
    setFileFault((point, target) => {
      const [temporary = ''] = readdirSync(folder).filter(name => name !== 'state.json')
      seen.push(point)
      expect(target).toBe(path)
      expect(readFileSync(path, 'utf8')).toBe(point === 'after-rename' ? 'new' : 'old')
      if (point === 'before-rename') expect(readFileSync(join(folder, temporary), 'utf8')).toBe('new')
    })
    writeFileAtomicSync(path, 'new')
    expect(seen).toEqual(['before-write', 'before-rename', 'after-rename'])
    expect(readdirSync(folder)).toEqual(['state.json'])
  })

  it('makes a new file, of text or bytes', async () => {
    await writeFileAtomic(path, 'Ä\n')
    expect(readFileSync(path, 'utf8')).toBe('Ä\n')
    await writeFileAtomic(path, new Uint8Array([0, 255, 10]))
    expect([...readFileSync(path)]).toEqual([0, 255, 10])
    await writeFileAtomic(path, '')
    expect(readFileSync(path, 'utf8')).toBe('')
  })

  it('keeps the mode of a file, and a link to it', () => {
    writeFileSync(path, 'old')
    chmodSync(path, 0o640)
    const link = join(folder, 'link.json')
    symlinkSync('state.json', link)
    writeFileAtomicSync(link, 'new')
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(readFileSync(path, 'utf8')).toBe('new')
    expect(statSync(path).mode & 0o777).toBe(0o640)
  })

  it('leaves the old file and nothing else when it fails', () => {
    writeFileSync(path, 'old')
    setFileFault(point => {
      if (point === 'before-rename') throw new Error('stop')
    })
    expect(() => writeFileAtomicSync(path, 'new')).toThrow('stop')
    expect(readdirSync(folder)).toEqual(['state.json'])
    expect(readFileSync(path, 'utf8')).toBe('old')
    setFileFault(null)
    expect(() => writeFileAtomicSync(join(folder, 'none', 'state.json'), 'new')).toThrow(/ENOENT/)
  })

  describe('in a process that dies', () => {
    let writer: Program
    beforeAll(async () => {
      writer = await program('file-writer')
    })
    afterAll(() => writer.remove())

    const old = JSON.stringify({ state: 'old' })
    const stateNow = () => (JSON.parse(readFileSync(path, 'utf8')) as { state: string }).state

    it('S0-T08 H-30 is the old or the new file, wherever it was killed', async () => {
      for (const [point, state] of [
        ['before-write', 'old'],
        ['before-rename', 'old'],
        ['after-rename', 'new'],
      ] as const) {
        writeFileSync(path, old)
        const one = writer.start(path, point)
        expect(await one.ended).toEqual({ code: null, signal: 'SIGKILL' })
        expect(stateNow()).toBe(state)
      }
      expect(await writer.start(path, 'never').ended).toEqual({ code: 0, signal: null })
      expect(stateNow()).toBe('new')
    })

    it('S0-T08 is the old or the new file after a kill at any byte', async () => {
      for (let round = 0; round < 6; round++) {
        const one = writer.start(path, 'for-ever')
        await one.line('written')
        await new Promise(resolve => setTimeout(resolve, 3 + 7 * round))
        one.child.kill('SIGKILL')
        await one.ended
        expect(['old', 'new']).toContain(stateNow())
      }
    })

    it('S0-T08 is the old file when the write stops after any byte', async () => {
      writeFileSync(path, old)
      const bytes = [0, 1, 100, 4095, 4096, 9000]
      // The system lets no file of the process grow beyond so many bytes.
      const limited = (count: number) => run([writer.file, path, 'never'], ['prlimit', `--fsize=${count}`])
      const ends = await Promise.all(bytes.map(async count => (await limited(count).ended).code))
      expect(ends).toEqual(bytes.map(() => 1))
      expect(readFileSync(path, 'utf8')).toBe(old)
      expect(readdirSync(folder)).toEqual(['state.json'])
      expect(await limited(20_000).ended).toMatchObject({ code: 0 })
      expect(stateNow()).toBe('new')
    })
  })

  it('H-30 tells plainly that the disk is full or read-only', () => {
    const disk = smallDisk()
    try {
      const file = join(disk.folder, 'state.json')
      writeFileAtomicSync(file, 'old')
      expect(thrown(() => writeFileAtomicSync(file, 'x'.repeat(2_000_000)))).toMatchObject({ reason: 'full' })
      expect(thrown(() => writeFileAtomicSync(file, 'x'.repeat(2_000_000)))).toBeInstanceOf(StoreError)
      expect(thrown(() => appendLineDurable(join(disk.folder, 'log'), 'x'.repeat(2_000_000)))).toMatchObject({
        reason: 'full',
      })
      expect(readdirSync(disk.folder)).toEqual(['log', 'state.json'])
      expect(readFileSync(file, 'utf8')).toBe('old')
      expect(thrown(() => writeFileAtomicSync(join(disk.readOnly, 'state.json'), 'new'))).toMatchObject({
        reason: 'read-only',
      })
      expect(thrown(() => appendLineDurable(join(disk.readOnly, 'log'), 'new'))).toMatchObject({
        reason: 'read-only',
      })
    } finally {
      disk.remove()
    }
  })

  describe('append', () => {
    it('adds lines', () => {
      appendLineDurable(path, 'one')
      appendLineDurable(path, 'zwei €')
      expect(readFileSync(path, 'utf8')).toBe('one\nzwei €\n')
    })

    it('begins a line of its own after a torn one', () => {
      writeFileSync(path, 'one\ntor')
      appendLineDurable(path, 'two')
      expect(readFileSync(path, 'utf8')).toBe('one\ntor\ntwo\n')
    })

    it('stops where a test says', () => {
      const points: string[] = []
      setFileFault(point => points.push(point))
      appendLineDurable(path, 'one')
      expect(points).toEqual(['before-append', 'after-append'])
    })
  })
})

function thrown(work: () => void): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}
