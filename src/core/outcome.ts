import type { Signal } from './signals.ts'

/** What the engine itself saw when it performed an effect. Facts only; the core judges them. */
export type Outcome = AgentOutcome | CommandsOutcome | RestoreOutcome | SettleOutcome | EngineOutcome

export type AgentOutcome = {
  kind: 'agent'
  agent: string
  model?: string
  /** Which entry of the list of agents it was, where there is a list. */
  choice?: string
  /** The entry that takes over after this fault, at once. */
  fallback?: string
  exit: number | null
  /** Name of the signal that ended it, when one did. */
  killed: string | null
  ended: EndedBy
  fault: Fault | null
  signals: Signal[]
  /** Its soft time limit passed. */
  late?: true
  /** The soft time limit of the task passed while it ran. */
  overdue?: true
  /** Which entry into its stage this was, in this pass over the task. */
  iteration?: number
  /** The start of the final message, for people. */
  message: string
  change: Change
  violations: Violation[]
  usage: Usage
  /** How full its context window was at the end, where it told. */
  context?: { usedTokens: number; windowTokens: number | null }
  ms: number
}

/** `exit`: by itself · `timeout` and `idle`: its time was up · `stopped`: a person or a signal ended it. */
export type EndedBy = 'exit' | 'timeout' | 'idle' | 'stopped'

export type CommandsOutcome = {
  kind: 'commands'
  /** `baseline`: how the commands stood before the task. */
  purpose: 'baseline' | 'gate'
  results: CommandResult[]
  /** The tree the commands ran on. */
  tree: string
  violations: Violation[]
  late?: true
  overdue?: true
  ms: number
}

export type CommandResult = {
  command: string
  exit: number | null
  ended: EndedBy
  ms: number
  tests: TestCounts | null
  /** Hash of the normalised output when it failed, else empty. */
  fingerprint: string
  /** The last lines of the output, cut. */
  tail: string
  /** True for a command of the task's own spec. */
  own: boolean
}

/** What a test runner said it ran. `names` are the failing tests, when the runner names them. */
export type TestCounts = {
  passed: number
  failed: number
  skipped: number
  names: string[]
  /** What was counted, when it is not single tests: plain `go test` tells packages only. */
  unit?: 'packages'
  /** Not all of it was told (gradle counts only when something fails, a cache keeps suites silent): not to be compared. */
  partial?: true
}

/** The tree was put back to the start of the attempt; the failed work is kept under `kept`. */
export type RestoreOutcome = { kind: 'restore'; kept: string | null; branch: string | null }

/** The finished work was committed (or was already) and the preset's files were written. */
export type SettleOutcome = {
  kind: 'settle'
  head: string
  committed: string | null
  paths: string[]
  /** The task's own branch could not be brought into the user's: where the work waits, and why. */
  unmerged?: { branch: string; why: string }
}

export type EngineOutcome = { kind: 'engine' }

/** The tree before and after by content, tracked and untracked, the engine's own files left out. */
export type Change = {
  from: string
  to: string
  files: ChangedFile[]
  /** More files were changed than are listed here. */
  more: number
  commits: string[]
  head: string
  ref: string | null
}

export type ChangedFile = { path: string; how: 'added' | 'modified' | 'deleted' }

export type Violation = {
  rule:
    | 'protected-file'
    | 'gate-definition'
    | 'tests-deleted'
    | 'tests-skipped'
    | 'branch-switched'
    | 'refs-changed'
    | 'swept-files'
    | 'user-file'
    | 'read-only'
    | 'journal'
    | 'backlog'
  path: string
  detail: string
}

export type FaultKind = 'infrastructure' | 'limit' | 'auth' | 'permission' | 'crash' | 'timeout' | 'empty'

/** Why an attempt did not count, or counted as failed without the agent having said so. */
export type Fault = { kind: FaultKind; message: string /** Milliseconds since the epoch. */; until?: number }

/** Faults that are nobody's fault at this task: they are refunded and never use up a try. */
const excusedFaults: readonly FaultKind[] = ['infrastructure', 'limit', 'auth', 'permission', 'empty']

export function isExcused(fault: Fault): boolean {
  return excusedFaults.includes(fault.kind)
}

/** `null` is *unknown*, never 0. */
export type Usage = { costUsd: number | null; inputTokens: number | null; outputTokens: number | null }

export const unknownUsage: Usage = { costUsd: null, inputTokens: null, outputTokens: null }
