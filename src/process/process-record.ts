import { closeSync, readFileSync, writeSync } from 'node:fs'
import { openFile } from './output-file.ts'
import { pidSpace } from './process-table.ts'

/**
 * The processes of a step, one `pid start` per line, for the leash and for a later engine. Lines are only added: one
 * short write each, so a reader never sees half a file. Lines count for the pid space named above them. The leash itself
 * adds the program and, with `leash` before it, its watcher, before the program begins.
 */
export type ProcessRecord = { add(names: readonly string[]): void; close(): void }

export function openRecord(path: string): ProcessRecord {
  const fd = openFile(path, 'a')
  write(fd, [`space ${pidSpace()}`])
  return {
    add: names => write(fd, names),
    close: () => closeSync(fd),
  }
}

/** The record is a help for bad days; a full disk ends the step through its output, with a clear word. */
function write(fd: number, lines: readonly string[]): void {
  if (lines.length === 0) return
  try {
    writeSync(fd, lines.map(line => `${line}\n`).join(''))
  } catch {
    // See above.
  }
}

/** Names of what was recorded on this machine since it was started; nothing when there is no record. */
export function readRecord(path: string): { known: Set<string>; leashes: Set<string> } {
  const known = new Set<string>()
  const leashes = new Set<string>()
  const here = pidSpace()
  let space = ''
  for (const line of textOf(path).split('\n').slice(0, -1)) {
    const [, kind, name] = /^(space |leash |)(.*)$/.exec(line) ?? []
    if (kind === 'space ') space = name ?? ''
    else if (space !== here || !/^\d+ \S+$/.test(name ?? '')) continue
    else (kind === 'leash ' ? leashes : known).add(name ?? '')
  }
  return { known, leashes }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
