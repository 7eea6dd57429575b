import { errorText } from '../core/errors.ts'
import { type AnyEvent, eventVersion } from '../core/event.ts'
import type { RunState } from '../core/run.ts'
import { link } from './chain.ts'
import { type Bytes, text } from './columns.ts'
import type { Database } from './database.ts'
import { runStream } from './log.ts'
import { attempt, type EventRow, readableEvents, readText } from './readable.ts'
import { type Folded, type Folds, foldEvent, upgradeEvent } from './replay.ts'

/**
 * lost: rows that cannot be read · unusable: read, but not what was written, or what it builds on is lost · sound: to be
 * believed. A run's lost start is made anew (`rebuilt`) from its cached fold: without it nothing of the run could be folded.
 */
export type Audited =
  | { type: 'lost'; rows: number }
  | { type: 'unusable'; stream: string; seq: number; why: string }
  | { type: 'sound'; stream: string; seq: number; event: AnyEvent; folded: Folded; rebuilt: boolean }

/** Goes through a journal that may be damaged, and folds what can be believed. Never throws for what it finds there. */
export function* audit(db: Database, folds: Folds): Generator<Audited> {
  const tails = new Map<string, Tail>()
  for (const row of readableEvents(db)) {
    if ('lost' in row) {
      yield { type: 'lost', rows: row.lost }
      continue
    }
    const start = isRunStart(row) || folds.runs.has(row.run) ? null : rebuildStart(db, folds, row.run)
    if (start) {
      tails.set(start.stream, { seq: 1, chain: null, broken: false })
      yield start
    }
    const tail = tails.get(row.stream) ?? { seq: 0, chain: '', broken: false }
    const audited = judge(row, tail, folds)
    tails.set(row.stream, { seq: row.seq, chain: row.chain, broken: audited.type !== 'sound' })
    yield audited
  }
}

/** The end of a stream so far. The hash of an event that had to be made anew is not known. */
type Tail = { seq: number; chain: string | null; broken: boolean }

function judge(row: EventRow, tail: Tail, folds: Folds): Audited {
  const { stream, seq, body, fold } = row
  const unusable = (why: string): Audited => ({ type: 'unusable', stream, seq, why })
  if (tail.broken || seq !== tail.seq + 1) return unusable('an earlier event of it is lost')
  if (tail.chain !== null && link(tail.chain, body, fold) !== row.chain)
    return unusable('it was changed after it was written')
  try {
    const event = upgradeEvent(JSON.parse(body))
    return { type: 'sound', stream, seq, event, folded: foldEvent(folds, stream, event), rebuilt: false }
  } catch (error) {
    return unusable(errorText(error))
  }
}

function isRunStart({ stream, run, seq }: EventRow): boolean {
  return seq === 1 && stream === runStream(run)
}

function rebuildStart(db: Database, folds: Folds, id: string): Extract<Audited, { type: 'sound' }> | null {
  return attempt(() => {
    const [row] = db.raw<{ state: Bytes }>(`select ${text('state')} from run where id = ?`, id)
    const { rules, startedAt, host, pid } = JSON.parse(row ? readText(row.state) : '{}') as RunState
    if (!rules) return null
    const event: AnyEvent = {
      ...{ v: eventVersion, at: startedAt, run: id, type: 'run.started' },
      ...{ workflow: rules.workflow, verify: rules.verify, host, pid, options: { rebuilt: true } },
    }
    const stream = runStream(id)
    return { type: 'sound', stream, seq: 1, event, folded: foldEvent(folds, stream, event), rebuilt: true }
  })
}
