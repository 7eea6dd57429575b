import crypto from 'node:crypto'
import { decode, encode } from './bytes.ts'

/** How a file looked when its content was read: when all of it is the same, so is the content. */
export type FileLook = {
  ctimeNs: bigint
  mtimeNs: bigint
  ino: number
  uid: number
  gid: number
  size: number
}

export type IndexEntry = {
  path: string
  mode: string
  id: string
  /** Null: the content must be read to know whether it is the same. */
  look: FileLook | null
  /** A conflict, or a mark like "assume unchanged". */
  special: boolean
}

/** Reads git's index file, versions 2 and 3. Null: it is of another kind, or broken; git must be asked. */
export function parseIndex(bytes: Buffer, idSize: number): IndexEntry[] | null {
  if (bytes.length < 12 + idSize || bytes.toString('latin1', 0, 4) !== 'DIRC') return null
  const version = bytes.readUInt32BE(4)
  if (version !== 2 && version !== 3) return null
  const end = bytes.length - idSize
  if (!checksum(bytes.subarray(0, end), idSize).equals(bytes.subarray(end))) return null
  const entries: IndexEntry[] = []
  let at = 12
  for (let left = bytes.readUInt32BE(8); left > 0; left--) {
    const flagsAt = at + 40 + idSize
    if (flagsAt + 2 > end) return null
    const flags = bytes.readUInt16BE(flagsAt)
    const nameAt = flagsAt + (flags & extended ? 4 : 2)
    const nameEnd = bytes.indexOf(0, nameAt)
    if (nameEnd < 0 || nameEnd >= end) return null
    entries.push({
      path: decode(bytes.subarray(nameAt, nameEnd)),
      mode: bytes
        .readUInt32BE(at + 24)
        .toString(8)
        .padStart(6, '0'),
      id: bytes.toString('hex', at + 40, flagsAt),
      look: readLook(bytes, at),
      special: (flags & ~nameLength) !== 0,
    })
    at += (nameEnd - at + 8) & ~7
  }
  return hasForeignParts(bytes, at, end) ? null : entries
}

/** The same file as git would write it, version 2 without extensions. */
export function serializeIndex(entries: Iterable<IndexEntry>, idSize: number): Buffer {
  const sorted = [...entries]
    .map(entry => ({ entry, name: encode(entry.path) }))
    .sort((a, b) => Buffer.compare(a.name, b.name))
  const sizes = sorted.map(({ name }) => (40 + idSize + 2 + name.length + 8) & ~7)
  const bytes = Buffer.alloc(12 + sizes.reduce((sum, size) => sum + size, 0))
  bytes.write('DIRC', 0, 'latin1')
  bytes.writeUInt32BE(2, 4)
  bytes.writeUInt32BE(sorted.length, 8)
  let at = 12
  for (const [index, { entry, name }] of sorted.entries()) {
    if (entry.look) writeLook(bytes, at, entry.look)
    bytes.writeUInt32BE(Number.parseInt(entry.mode, 8), at + 24)
    bytes.write(entry.id, at + 40, 'hex')
    bytes.writeUInt16BE(Math.min(name.length, nameLength), at + 40 + idSize)
    name.copy(bytes, at + 40 + idSize + 2)
    at += sizes[index] ?? 0
  }
  return Buffer.concat([bytes, checksum(bytes, idSize)])
}

const extended = 0x4000
const nameLength = 0xfff
const second = 1_000_000_000n

/** Extensions with a small first letter change what the entries mean (a split index, a sparse one). */
function hasForeignParts(bytes: Buffer, from: number, end: number): boolean {
  for (let at = from; at + 8 <= end; at += 8 + bytes.readUInt32BE(at + 4)) {
    const letter = bytes[at] ?? 0
    if (letter < 65 || letter > 90) return true
  }
  return false
}

function checksum(bytes: Buffer, idSize: number): Buffer {
  return crypto
    .createHash(idSize === 32 ? 'sha256' : 'sha1')
    .update(bytes)
    .digest()
}

/** git sets all to zero where it does not know, and the size where it is not sure. */
function readLook(bytes: Buffer, at: number): FileLook | null {
  const time = (from: number) =>
    BigInt(bytes.readUInt32BE(from)) * second + BigInt(bytes.readUInt32BE(from + 4))
  const mtimeNs = time(at + 8)
  if (mtimeNs === 0n) return null
  return {
    ctimeNs: time(at),
    mtimeNs,
    ino: bytes.readUInt32BE(at + 20),
    uid: bytes.readUInt32BE(at + 28),
    gid: bytes.readUInt32BE(at + 32),
    size: bytes.readUInt32BE(at + 36),
  }
}

function writeLook(bytes: Buffer, at: number, look: FileLook): void {
  const time = (value: bigint, to: number) => {
    bytes.writeUInt32BE(Number((value / second) & 0xffffffffn), to)
    bytes.writeUInt32BE(Number(value % second), to + 4)
  }
  time(look.ctimeNs, at)
  time(look.mtimeNs, at + 8)
  bytes.writeUInt32BE(look.ino, at + 20)
  bytes.writeUInt32BE(look.uid, at + 28)
  bytes.writeUInt32BE(look.gid, at + 32)
  bytes.writeUInt32BE(look.size, at + 36)
}
