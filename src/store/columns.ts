import { isUtf8 } from 'node:buffer'
import { StoreError } from './store-error.ts'

/**
 * Columns as they are asked for. In a damaged file a text may be no valid UTF-8, for which libsql ends the whole process,
 * and a number may be a text: so texts come as bytes, which `decoded` reads, and numbers are made numbers. A column in
 * `order by` or `group by` needs its table's name before it, or it would be the cast one, for which there is no index.
 */
export function text(...names: string[]): string {
  return names.map(name => `cast(${name} as blob) as ${name}`).join(', ')
}

export function integer(...names: string[]): string {
  return names.map(name => `cast(${name} as integer) as ${name}`).join(', ')
}

export function real(name: string): string {
  return `cast(${name} as real) as ${name}`
}

export type Bytes = ArrayBuffer | Uint8Array

/** The row with texts instead of bytes, changed in place. */
export function decoded(row: unknown, path: string): unknown {
  const values = (row ?? {}) as Record<string, unknown>
  for (const name of Object.keys(values)) {
    const value = values[name]
    if (!(value instanceof ArrayBuffer || ArrayBuffer.isView(value))) continue
    const text = bytesToText(value as Bytes)
    if (text === null) throw new StoreError('corrupt', path, `a text in '${name}' is not valid UTF-8`)
    values[name] = text
  }
  return row
}

/** Null for what is not valid UTF-8. */
export function bytesToText(bytes: Bytes): string | null {
  const buffer =
    bytes instanceof ArrayBuffer
      ? Buffer.from(bytes)
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return isUtf8(buffer) ? buffer.toString('utf8') : null
}
