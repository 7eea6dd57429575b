import type { Effect } from './effect.ts'
import type { Base } from './event.ts'
import type { Evidence } from './evidence.ts'
import type { AttemptRow, Failure } from './failure.ts'
import type { CommandResult, Fault } from './outcome.ts'
import type { Task, TaskStatus } from './task.ts'

export type { AttemptRow, Failure } from './failure.ts'

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
  /** A step of its own has chosen it: it is the current task until it ends. */
  chosen?: true
  /** Entries into each stage in this pass. */
  visits: Record<string, number>
  /** Agent calls of each stage that counted, over all passes. */
  performed?: Record<string, number>
  /** The loop under way: a stage with a limit of its own, and when its first call began. */
  loop?: { stage: string; startedAt: number }
  /** How the last pass was used up, for a task that goes back to the queue. */
  exhausted?: Exhausted
  /** The stage at which it ended without being done. */
  endedIn?: string
  /** The limit that was used up when it was given up. */
  limit?: TaskLimit
  /** The branch that keeps the work of its last failure. */
  branch?: string
  /** What soft gates found; they never block. */
  warnings?: string[]
  /** How often each bounded edge was taken in this pass. */
  taken: Record<string, number>
  /** Where this attempt began. */
  base: Base | null
  /** Where the branch stood after its last agent call; what lies beyond is a person's. */
  head?: string
  /** Between two agent calls of this attempt somebody else has committed. */
  mixed?: true
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
  since: { ms: number; costUsd: number; tokens?: number }
  /** Time of the gates since then. */
  gateMs?: number
  /** Why the task is where it is, in one line. */
  note: string
  /** When the first attempt began, and when the task ended; 0 = not yet. */
  startedAt: number
  endedAt: number
}

export type TaskLimit = 'attempts' | 'stuck' | 'time' | 'cost' | 'tokens' | 'stage'

/** `used`: calls of the stage in that pass. `limited`: it was its limit that ended the pass. `output`: the last words of an agent. */
export type Exhausted = {
  stage: string
  used: number
  limited: boolean
  reason: string
  output: string
  at: number
}

export type OpenStep = { id: string; stage: string; at: number; run: string; base: Base }

export type Spent = {
  /** Agent calls that counted. */
  calls: number
  /** Known money in US dollars, and the number of calls whose cost is unknown. */
  costUsd: number
  unknownCosts: number
  tokens: number
  ms: number
}

/** Files listed with a failure. */
export const failureFiles = 50
/** Findings of soft gates kept. */
export const warningsWindow = 50
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

/** Milliseconds of agents and gates since the tries began anew; what the task's own time limit counts. */
export function timeSpent({ spent, since, gateMs }: TaskState): number {
  return spent.ms - since.ms + (gateMs ?? 0)
}
