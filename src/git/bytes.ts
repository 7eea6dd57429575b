import { isUtf8 } from 'node:buffer'
import fs from 'node:fs'
import path from 'node:path'

/**
 * File names are bytes to git. Bytes that are not UTF-8 become lone surrogates (U+DC80 to U+DCFF), so that every name
 * survives the way to a string and back, and a file with a strange name cannot stop the engine.
 */
export function decode(bytes: Buffer): string {
  return isUtf8(bytes) ? bytes.toString('utf8') : decodeLoosely(bytes)
}

export function encode(text: string): Buffer {
  if (!loneByte.test(text)) return Buffer.from(text, 'utf8')
  const parts = text.split(loneByte)
  return Buffer.concat(
    parts.map(part =>
      loneByte.test(part) ? Buffer.from([part.charCodeAt(0) - escapeBase]) : Buffer.from(part, 'utf8'),
    ),
  )
}

/** What the file system functions of Node take for a name that came from git. */
export function fsPath(folder: string, name: string): string | Buffer {
  if (!loneByte.test(name)) return path.join(folder, name)
  return Buffer.concat([Buffer.from(`${folder}/`), encode(name)])
}

/** Null when there is no such file, or its folder is none or cannot be entered. Links are not followed. */
export function statOf(folder: string, name: string): fs.Stats | null {
  try {
    return fs.lstatSync(fsPath(folder, name))
  } catch (error) {
    if (error instanceof Error && 'code' in error && unreachable.has(String(error.code))) return null
    throw error
  }
}

const unreachable = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG'])

/** For messages: one line, whatever the file is called. */
export function printable(name: string): string {
  return name
    .replace(/[\u0000-\u001f\u007f]/gu, character => JSON.stringify(character).slice(1, -1))
    .replace(/\p{Surrogate}/gu, '\uFFFD')
}

const escapeBase = 0xdc00
// With the flag u, this matches only surrogates that are not half of a pair.
const loneByte = /([\uDC80-\uDCFF])/u

function decodeLoosely(bytes: Buffer): string {
  let text = ''
  let at = 0
  while (at < bytes.length) {
    const length = sequenceLength(bytes[at] ?? 0)
    const sequence = bytes.subarray(at, at + length)
    if (sequence.length === length && isUtf8(sequence)) {
      text += sequence.toString('utf8')
      at += length
    } else {
      text += String.fromCharCode(escapeBase + (bytes[at] ?? 0))
      at += 1
    }
  }
  return text
}

function sequenceLength(lead: number): number {
  if (lead >= 0xf0) return 4
  if (lead >= 0xe0) return 3
  return lead >= 0xc0 ? 2 : 1
}
