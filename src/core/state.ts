import type { Effect } from './effect.ts'
import type { Base } from './event.ts'
import type { Evidence } from './evidence.ts'
import type { CommandResult, Fault, FaultKind } from './outcome.ts'
import type { Task, TaskStatus } from './task.ts'

/** The fold of one task's events. */
export type TaskState = {
  task: Task
  status: TaskStatus
  /** The stage to perform next, or the one under way; null before the first choice and at the end. */
  stage: string | null
  next: Effect | null
  /** A step that was started and is not finished. */
  step: OpenStep | null
  /** 1, and one more for each time the task went back to the queue. */
  pass: number
  /** Failed attempts of this pass. The attempt under way is `failures + 1`. */
  failures: number
  /** Entries into each stage in this pass. */
  visits: Record<string, number>
  /** How often each bounded edge was taken in this pass. */
  taken: Record<string, number>
  /** Where this attempt began. */
  base: Base | null
  /** How the verify commands stood before the task. */
  baseline: CommandResult[] | null
  /** What has been proven so far in this attempt; all of it when done. */
  evidence: Evidence
  /** The last few failures in detail (a rolling window, so that prompts stay flat). */
  recent: Failure[]
  /** One row per failed attempt. */
  history: AttemptRow[]
  stuck: { fingerprint: string; same: number; shifts: number }
  learnings: string[]
  /** What a person asked to be told to the agent next time. */
  steering: string[]
  /** Outages in a row. */
  faults: number
  /** Nothing is to be done before this moment (milliseconds since the epoch); 0 = at once. */
  waitUntil: number
  spent: Spent
  /** What was spent before the tries began anew; limits per task count from here. */
  since: { ms: number; costUsd: number }
  /** Why the task is where it is, in one line. */
  note: string
  /** When the first attempt began, and when the task ended; 0 = not yet. */
  startedAt: number
  endedAt: number
}

export type OpenStep = { id: string; stage: string; at: number; run: string; base: Base }

export type Failure = {
  attempt: number
  stage: string
  reason: string
  detail: string
  fault: FaultKind | null
  at: number
}

export type AttemptRow = {
  attempt: number
  stage: string
  fingerprint: string
  shift: boolean
  reason: string
  at: number
}

export type Spent = {
  /** Agent calls that counted. */
  calls: number
  /** Known money in US dollars, and the number of calls whose cost is unknown. */
  costUsd: number
  unknownCosts: number
  tokens: number
  ms: number
}

/** Failures kept in full. */
export const failureWindow = 3
/** Learnings kept for prompts. */
export const learningsWindow = 20

export function newTaskState(task: Task): TaskState {
  return {
    task,
    status: 'open',
    stage: null,
    next: null,
    step: null,
    pass: 1,
    failures: 0,
    visits: {},
    taken: {},
    base: null,
    baseline: null,
    evidence: {},
    recent: [],
    history: [],
    stuck: { fingerprint: '', same: 0, shifts: 0 },
    learnings: [],
    steering: [],
    faults: 0,
    waitUntil: 0,
    spent: { calls: 0, costUsd: 0, unknownCosts: 0, tokens: 0, ms: 0 },
    since: { ms: 0, costUsd: 0 },
    note: '',
    startedAt: 0,
    endedAt: 0,
  }
}

/** What stopped a held task, for the run's last line. */
export function holdReason(fault: Fault): string {
  return `${fault.kind}: ${fault.message}`
}
