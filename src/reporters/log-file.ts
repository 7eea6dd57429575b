import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'
import { describeEvent } from './describe.ts'
import type { Reporter } from './reporter.ts'

/** The log is turned over at this size; one older log is kept beside it. */
const maxBytes = 10 * 1024 * 1024

/** `ralph.log`: every message with its time (S4-25). A log that cannot be written never stops the run. */
export function logFileReporter(path: string, now: () => number): Reporter {
  let file = openSync(path, 'a')
  const write = (text: string) => {
    if (fstatSync(file).size > maxBytes) {
      closeSync(file)
      renameSync(path, `${path}.1`)
      file = openSync(path, 'a')
    }
    const time = timestamp(now())
    writeSync(
      file,
      text
        .split('\n')
        .map(line => `[${time}] ${line}\n`)
        .join(''),
    )
  }
  return {
    event: (event, { state, run }) => {
      const line = describeEvent(event, state, run.rules?.workflow)
      if (line) write([line.text, ...line.more.map(more => `    ${more}`)].join('\n'))
    },
    note: note => write(note.level === 'info' ? note.text : `${note.level.toUpperCase()}: ${note.text}`),
    end: () => closeSync(file),
  }
}

/** `2026-01-30 14:05:09`, local time, as the seed's script writes it. */
export function timestamp(at: number): string {
  const date = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}
