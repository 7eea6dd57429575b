import { readFileSync } from 'node:fs'

/** A JSON file that a person or another program may have written. */
export type JsonFile =
  | { kind: 'ok'; text: string; value: unknown }
  | { kind: 'absent'; line: null; message: string }
  | { kind: 'corrupt'; line: number | null; message: string }

export function readJsonFile(path: string): JsonFile {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    const kind = code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : 'corrupt'
    return { kind, line: null, message: `cannot be read: ${code}` }
  }
  try {
    return { kind: 'ok', text, value: JSON.parse(text.replace(/^\ufeff/u, '')) }
  } catch (error) {
    const place = /position (\d+)/u.exec(String(error))?.[1]
    const line = place === undefined ? null : text.slice(0, Number(place)).split('\n').length
    return { kind: 'corrupt', line, message: text.trim() === '' ? 'is empty' : 'is not valid JSON' }
  }
}
