import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fromFileSystem } from './store-error.ts'

/** Where a test may stop the process. */
export type FilePoint = 'before-write' | 'before-rename' | 'after-rename' | 'before-append' | 'after-append'

let fault: ((point: FilePoint, path: string) => void) | null = null

/** For crash tests: called at each point of a write; it may throw or end the process. */
export function setFileFault(fn: typeof fault): void {
  fault = fn
}

/** Replaces a file so that at any moment, and after any crash, it is wholly the old or wholly the new one. */
export function writeFileAtomicSync(path: string, data: string | Uint8Array): void {
  const target = throughLinks(path)
  const temporary = temporaryName(target)
  try {
    fault?.('before-write', path)
    writeDurable(temporary, data, modeOf(target))
    fault?.('before-rename', path)
    renameSync(temporary, target)
    fault?.('after-rename', path)
    syncFolder(dirname(target))
  } catch (error) {
    rmSync(temporary, { force: true })
    throw fromFileSystem(error, path)
  }
}

export async function writeFileAtomic(path: string, data: string | Uint8Array): Promise<void> {
  writeFileAtomicSync(path, data)
}

/** Adds a line in one write. After a torn write of an earlier process it begins on a line of its own. */
export function appendLineDurable(path: string, line: string): void {
  try {
    const file = openSync(path, 'a+')
    try {
      fault?.('before-append', path)
      const { size } = fstatSync(file)
      writeAll(file, Buffer.from(`${endsTorn(file, size) ? '\n' : ''}${line}\n`))
      fsyncSync(file)
      if (size === 0) syncFolder(dirname(path))
      fault?.('after-append', path)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw fromFileSystem(error, path)
  }
}

/** Makes a folder and those above it. (Node's own way hides why it failed: on a read-only disk it says ENOENT.) */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw fromFileSystem(error, folder)
  }
}

/** A name beside the file, so that the rename stays within one file system. */
export function temporaryName(path: string): string {
  return join(dirname(path), `.${basename(path)}.${process.pid}-${randomBytes(6).toString('hex')}.tmp`)
}

/** Makes a rename durable. Some systems cannot sync a folder; there is nothing more to be had there. */
export function syncFolder(folder: string): void {
  let file: number
  try {
    file = openSync(folder, 'r')
  } catch {
    return
  }
  try {
    fsyncSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EIO') throw error
  } finally {
    closeSync(file)
  }
}

function writeDurable(path: string, data: string | Uint8Array, mode: number | null): void {
  const file = openSync(path, 'wx', mode ?? 0o666)
  try {
    if (mode !== null) fchmodSync(file, mode)
    writeAll(file, typeof data === 'string' ? Buffer.from(data) : data)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** A single write may take only a part when the disk runs full; the next one then says so. */
function writeAll(file: number, data: Uint8Array): void {
  for (let done = 0; done < data.length; ) done += writeSync(file, data, done)
}

/** A link stays a link; the file behind it is replaced. */
function throughLinks(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function modeOf(path: string): number | null {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode
  return mode === undefined ? null : mode & 0o7777
}

function endsTorn(file: number, size: number): boolean {
  if (size === 0) return false
  const last = Buffer.alloc(1)
  readSync(file, last, 0, 1, size - 1)
  return last.toString() !== '\n'
}
