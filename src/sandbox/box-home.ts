import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import type { HomeCopy } from './sandbox.ts'

/** What a program has for a home: a folder of its own, made anew for each, with copies of what it needs. */
export type BoxHome = {
  /** What is shown in there: where it lies outside, and the path it has inside. The home itself comes first. */
  folders: { from: string; at: string }[]
  /** Brings renewed logins back to where they came from, unless they were renewed there too. */
  bringBack(): void
}

/**
 * Nothing of one program is in the home of the next: an agent could leave a configuration there that makes every test
 * pass.
 */
export function makeHome(options: {
  /** An empty folder of ours. */
  place: string
  /** The user's home; in there the box's home has the same path. */
  home: string
  copies: readonly HomeCopy[]
  files: Readonly<Record<string, string>>
}): BoxHome {
  const { place, home } = options
  const inside = join(place, 'home')
  mkdirSync(inside, { mode: 0o700 })
  const elsewhere = new Map<string, string>()
  const kept: Kept[] = []
  for (const { path, back } of options.copies) {
    const from = absolute(path, home)
    const at = placeOf(from, { home, inside, elsewhere, place })
    const copied = copyIn(from, at)
    if (back && copied !== null) kept.push({ outside: from, inside: at, hash: copied })
  }
  for (const [name, text] of Object.entries(options.files))
    writeInside(join(inside, name), Buffer.from(text), 0o600)
  return {
    folders: [{ from: inside, at: home }, ...[...elsewhere].map(([at, from]) => ({ from, at }))],
    bringBack: () => {
      for (const one of kept) bringBack(one)
    },
  }
}

/** `~` is the user's home, and so is what a relative path starts from. */
export function absolute(path: string, home: string): string {
  if (path === '~' || path.startsWith('~/')) return join(home, path.slice(1))
  return isAbsolute(path) ? resolve(path) : join(home, path)
}

export function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way !== '' && way !== '..' && !way.startsWith('../') && !isAbsolute(way)
}

type Kept = { outside: string; inside: string; hash: string }

/** A login is some kilobytes, settings are some more. */
const largestFile = 8 * 1024 * 1024
const largestLogin = 1024 * 1024
const mostFiles = 5_000

/** A file outside the home gets a folder of its own at its folder's path, so that it can be replaced as usual. */
function placeOf(
  from: string,
  options: { home: string; inside: string; elsewhere: Map<string, string>; place: string },
): string {
  const { home, inside, elsewhere, place } = options
  if (isBelow(from, home)) return join(inside, relative(home, from))
  const folder = dirname(from)
  const known = elsewhere.get(folder) ?? join(place, `copies-${elsewhere.size}`)
  elsewhere.set(folder, known)
  return join(known, relative(folder, from))
}

/** A file, or a folder of files. The hash of a file's content; null when there is nothing to bring back. */
function copyIn(from: string, to: string, budget = { files: mostFiles }): string | null {
  const stats = statOf(from)
  if (stats?.isDirectory()) {
    for (const name of readdirSync(from)) copyIn(join(from, name), join(to, name), budget)
    return null
  }
  if (!stats?.isFile() || stats.size > largestFile || budget.files-- <= 0) return null
  try {
    const content = readFileSync(from)
    writeInside(to, content, stats.mode & 0o777)
    return hashOf(content)
  } catch {
    // Not readable, or just gone: then the program does without, as it would outside.
    return null
  }
}

function writeInside(path: string, content: Uint8Array, mode: number): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  rmSync(path, { force: true })
  writeFileSync(path, content, { mode: 0o600 })
  chmodSync(path, mode | 0o600)
}

function bringBack({ outside, inside, hash }: Kept): void {
  try {
    const renewed = readPlain(inside)
    if (renewed === null || hashOf(renewed) === hash) return
    const target = realpathSync(outside)
    if (hashOf(readFileSync(target)) !== hash) return
    replace(target, renewed)
  } catch {
    // Gone, or not ours to write: the user logs in again, as he would without us.
  }
}

/**
 * A file that a program may have replaced by anything: a link to a file it must not read, a pipe that never ends, a
 * folder on the way that is a link. Read only if it is a plain file in exactly this place.
 */
function readPlain(path: string): Buffer | null {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile() || stats.size > largestLogin) return null
    if (readlinkSync(`/proc/self/fd/${fd}`) !== path) return null
    const content = Buffer.alloc(stats.size)
    return content.subarray(0, readSync(fd, content, 0, stats.size, 0))
  } finally {
    closeSync(fd)
  }
}

function replace(target: string, content: Buffer): void {
  const { mode, uid, gid } = statSync(target)
  const beside = `${target}.ralph-${process.pid}`
  const fd = openSync(
    beside,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    0o600,
  )
  try {
    writeSync(fd, content)
    if (process.getuid?.() === 0) fchownSync(fd, uid, gid)
    chmodSync(beside, mode & 0o777)
    renameSync(beside, target)
  } catch (error) {
    rmSync(beside, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

function hashOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
