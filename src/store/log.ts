import type { AnyEvent, RunEvent, TaskEvent } from '../core/event.ts'
import type { Proof } from '../core/evidence.ts'
import type { RunState } from '../core/run.ts'
import type { Candidate } from '../core/select.ts'
import type { TaskState } from '../core/state.ts'
import type { TaskStatus } from '../core/task.ts'

/**
 * Port: the journal. Events are the truth; states are cached folds written in the same transaction. SQLite here,
 * Postgres in the fleet. Streams are named by task id, or `run:<id>` for a run's own events.
 */
export interface Log {
  /**
   * Appends events, all or nothing. Each must carry the sequence number it expects to get (a stream counts from 1,
   * without a gap); a number that is taken means that somebody else was faster, or that this writer lost its lease
   * (`token`): `Conflict` is thrown and nothing is written.
   */
  append(entries: Append[], fence?: Fence): Promise<void>
  /** The cached fold of one task with the sequence number of its last event. */
  task(id: string): Promise<StoredTask | null>
  tasks(filter?: { status?: TaskStatus[]; limit?: number }): Promise<StoredTask[]>
  /** Counts by status, without reading the tasks. */
  counts(): Promise<Record<TaskStatus, number>>
  /** The done tasks by what proves them, likewise. */
  proofs(): Promise<Record<Proof, number>>
  /** What may be worked on, read lazily: first what has begun (whatever its status), then open tasks, each in rank order. */
  candidates(): Iterable<Candidate> | AsyncIterable<Candidate>
  /** Whether all of these are done; used while choosing. */
  isDone(id: string): boolean | Promise<boolean>
  run(id: string): Promise<RunState | null>
  lastRun(): Promise<RunState | null>
  /** Where a stream ends; null when it has no event. A writer that remembers it can see later that nobody rewrote the stream. */
  head(stream: string): Promise<Head | null>
  verifyHead(stream: string, expected: Head): Promise<HeadCheck>
  /** Events in the order they were written; `after` is the id of an event. */
  events(filter?: {
    stream?: string
    run?: string
    after?: number
    limit?: number
  }): AsyncIterable<StoredEvent>
  /** The id of the last event; 0 when there is none. */
  lastId(): Promise<number>
  /** Calls back soon after another process or this one appended events or filed requests. Returns the unsubscribe. */
  subscribe(listener: () => void): () => void
  /** Small values that belong to the journal: how far the preset's files were written, and the like. */
  getNote(key: string): Promise<string | null>
  setNote(key: string, value: string): Promise<void>
  close(): void
}

export type Append =
  | { stream: string; seq: number; event: TaskEvent; state: TaskState; rank: number; run: RunState }
  | { stream: string; seq: number; event: RunEvent; run: RunState }

export type Fence = { key: string; token: number }

export type StoredTask = { id: string; seq: number; rank: number; state: TaskState }

export type StoredEvent = { id: number; stream: string; seq: number; event: AnyEvent }

/** The last sequence number, and a hash over all events up to it. */
export type Head = { seq: number; hash: string }

/**
 * same: nothing happened since · moved: only new events came · rewritten: an event up to there, or the cached fold, is not
 * what was written · missing: the stream does not reach that far any more.
 */
export type HeadCheck = 'same' | 'moved' | 'rewritten' | 'missing'

export class Conflict extends Error {
  override name = 'Conflict'
}

export function runStream(id: string): string {
  return `run:${id}`
}

export function isRunStream(stream: string): boolean {
  return stream.startsWith('run:')
}
