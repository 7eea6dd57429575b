import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import zlib from 'node:zlib'

export type ObjectType = 'blob' | 'tree' | 'commit'
export type StoredObject = { type: string; body: Buffer }

/**
 * The objects of the repository without a git process: those that lie in a file of their own are read and written here,
 * as git does it. What lies in a pack is asked of `packs`.
 */
export type ObjectStore = {
  idSize: number
  idOf(type: ObjectType, body: Buffer): string
  /** Null: not to be had this way, so git must be asked. */
  read(id: string): Promise<StoredObject | null>
  /** Throws when it cannot be written. */
  write(type: ObjectType, body: Buffer): string
}

export function openObjectStore(options: {
  folder: string
  objectFormat: string
  packs: (id: string) => Promise<StoredObject | null>
}): ObjectStore {
  const { folder, objectFormat, packs } = options
  const algorithm = objectFormat === 'sha256' ? 'sha256' : 'sha1'
  const hash = (whole: Buffer) => crypto.createHash(algorithm).update(whole).digest('hex')
  const fileOf = (id: string) => path.join(folder, id.slice(0, 2), id.slice(2))
  return {
    idSize: algorithm === 'sha256' ? 32 : 20,
    idOf: (type, body) => hash(withHeader(type, body)),
    read: async id => {
      const whole = readLoose(fileOf(id))
      // What is not what its name says is none.
      if (whole && hash(whole) === id) return parse(whole)
      const packed = await packs(id)
      return packed && hash(withHeader(packed.type, packed.body)) === id ? packed : null
    },
    write: (type, body) => {
      const whole = withHeader(type, body)
      const id = hash(whole)
      const file = fileOf(id)
      const there = readLoose(file)
      if (there?.equals(whole)) refresh(file)
      else writeLoose(file, whole)
      return id
    },
  }
}

/** The usual tables of the compressor take a quarter of a megabyte; for a few hundred bytes small ones are as good. */
const small = { level: 1, windowBits: 14, memLevel: 3 }

/** What is larger is left to git, which does not hold the whole of it in memory twice. */
export const largeObject = 8 * 1024 * 1024

function withHeader(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${type} ${body.length}\0`), body])
}

function readLoose(file: string): Buffer | null {
  try {
    return zlib.inflateSync(fs.readFileSync(file), { maxOutputLength: largeObject + 64 })
  } catch {
    return null
  }
}

function parse(whole: Buffer): StoredObject | null {
  const end = whole.indexOf(0)
  const [type = '', size = ''] = whole.toString('latin1', 0, Math.max(0, end)).split(' ')
  const body = whole.subarray(end + 1)
  return Number(size) === body.length ? { type, body } : null
}

/** As new, so that a `git gc` does not take it for something nobody has needed for weeks. */
function refresh(file: string): void {
  try {
    const now = Date.now() / 1000
    fs.utimesSync(file, now, now)
  } catch {
    // Somebody else's file: it is there, which is what counts.
  }
}

function writeLoose(file: string, whole: Buffer): void {
  const draft = path.join(path.dirname(file), `tmp_obj_${crypto.randomBytes(6).toString('hex')}`)
  const bytes = zlib.deflateSync(whole, whole.length > 16_000 ? { level: 1 } : small)
  try {
    fs.writeFileSync(draft, bytes, { flag: 'wx', mode: 0o444 })
  } catch (error) {
    if (!isMissing(error)) throw error
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(draft, bytes, { flag: 'wx', mode: 0o444 })
  }
  try {
    fs.renameSync(draft, file)
  } catch (error) {
    fs.rmSync(draft, { force: true })
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
