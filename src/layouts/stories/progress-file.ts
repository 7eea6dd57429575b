import { closeSync, fstatSync, openSync, readSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import type { TaskState } from '../../core/state.ts'
import { oneLine } from '../../core/text.ts'
import { appendLineDurable } from '../../store/atomic-file.ts'
import type { JournalView } from '../layout.ts'

export const progressFile = 'progress.txt'

/** `most`: how many equal lines the file may hold; two failures within one second can look the same. */
export type ProgressLine = { type: 'learn' | 'fail' | 'done'; text: string; most: number }

/** The lines that the events call for, in their order; in one event what was learnt comes first (S4-42). */
export function progressLines({
  events,
  attempts,
}: Pick<JournalView, 'events' | 'attempts'>): ProgressLine[] {
  const lines: ProgressLine[] = []
  for (const { event, after } of events) {
    if (event.type !== 'step.finished') continue
    const { outcome } = event
    if (outcome.kind === 'agent') {
      for (const signal of outcome.signals) {
        if (signal.type === 'learn')
          lines.push({ type: 'learn', text: learnLine(after, signal.text, event.at), most: 1 })
      }
    }
    if (outcome.kind === 'agent' || outcome.kind === 'commands')
      lines.push(...failure(after, event.at, attempts))
    const isDone = outcome.kind === 'settle' && after.status === 'done' && after.endedAt === event.at
    if (isDone) lines.push({ type: 'done', text: doneLine(after, event.at), most: 1 })
  }
  return lines
}

/** Only what counts against the story has a row in its history: a refunded attempt has none, and gets no line. */
function failure(after: TaskState, at: number, attempts: number): ProgressLine[] {
  const rows = after.history.filter(row => stamp(row.at) === stamp(at))
  const row = rows.at(-1)
  if (row?.at !== at) return []
  const text = failLine(after, row, attempts)
  const most = rows.filter(one => failLine(after, one, attempts) === text).length
  return [{ type: 'fail', text, most }]
}

function doneLine(state: TaskState, at: number): string {
  return `[DONE] Story ${state.task.id} - ${flat(state.task.title)} - ${stamp(at)}`
}

function failLine(
  state: TaskState,
  row: { attempt: number; reason: string; at: number },
  attempts: number,
): string {
  const of = attempts > 0 ? `/${attempts}` : ''
  return `[FAIL] Story ${state.task.id} - ${flat(row.reason) || 'No reason given'} - ${stamp(row.at)} (attempt ${row.attempt}${of})`
}

function learnLine(state: TaskState, text: string, at: number): string {
  return `[LEARN] Story ${state.task.id} - ${flat(text)} - ${stamp(at)}`
}

/** One line without anything that moves the cursor or ends a line: a reason must not be able to forge a `[DONE]` line. */
function flat(text: string): string {
  return oneLine(
    text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu, ' '),
    500,
  )
}

/** `2026-01-30 14:05:09Z`: UTC, so that the same event gives the same line on every machine and in every summer. */
export function stamp(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')}Z`
}

export type Progress = { append(lines: ProgressLine[]): void }

/** Reads the end of the file once; after that each line is written only if it is not there yet. */
export function openProgress(root: string, lines: ProgressLine[]): Progress {
  const path = join(root, progressFile)
  const expected = lines.reduce((sum, line) => sum + Buffer.byteLength(line.text) + 1, 0)
  const { counts, torn } = readTail(path, tailSize + 2 * expected)
  let fragment = torn
  return {
    append(wanted) {
      const fresh = wanted.filter(({ text, most }) => {
        const key = keyOf(text)
        const count = counts.get(key) ?? 0
        if (count < most) counts.set(key, count + 1)
        return count < most
      })
      const first = fresh[0]
      if (!first) return
      // A line of ours that a crash cut short is written anew.
      if (fragment && Buffer.from(first.text).subarray(0, fragment.bytes.length).equals(fragment.bytes))
        truncateSync(path, fragment.at)
      fragment = null
      appendLineDurable(path, fresh.map(line => line.text).join('\n'))
    },
  }
}

const tailSize = 64 * 1024

/** The limit of tries may have been changed since the line was written; it is the same line all the same. */
function keyOf(line: string): string {
  return line.trimEnd().replace(/\/\d+\)$/u, ')')
}

type Tail = { counts: Map<string, number>; torn: { bytes: Buffer; at: number } | null }

/** Creates the file when it is absent (S4-63). */
function readTail(path: string, most: number): Tail {
  const file = openSync(path, 'a+')
  try {
    const { size } = fstatSync(file)
    const bytes = Buffer.alloc(Math.min(size, most))
    readSync(file, bytes, 0, bytes.length, size - bytes.length)
    const whole = bytes.lastIndexOf('\n') + 1
    const counts = new Map<string, number>()
    for (const row of bytes.toString('utf8', 0, whole).split('\n'))
      counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + 1)
    const torn = bytes.subarray(whole)
    return { counts, torn: torn.length === 0 ? null : { bytes: torn, at: size - torn.length } }
  } finally {
    closeSync(file)
  }
}
