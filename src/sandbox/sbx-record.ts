import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** What a sandbox was made ready with, so that the next run does nothing of it again (S1-16). */
export type ReadyRecord = { mounts: string[]; hosts: string[] }

/** null: it was never made ready to the end. To do that twice does no harm. */
export function readRecord(home: string, name: string): ReadyRecord | null {
  try {
    const { mounts, hosts } = JSON.parse(readFileSync(recordFile(home, name), 'utf8')) as Partial<ReadyRecord>
    return isList(mounts) && isList(hosts) ? { mounts, hosts } : null
  } catch {
    return null
  }
}

export function writeRecord(home: string, name: string, record: ReadyRecord): void {
  const file = recordFile(home, name)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(record)}\n`)
}

function recordFile(home: string, name: string): string {
  return path.join(home, 'sandboxes', `${name}.json`)
}

function isList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(one => typeof one === 'string')
}
