import type { FaultKind } from './outcome.ts'

/** One failure in full. */
export type Failure = {
  attempt: number
  stage: string
  reason: string
  detail: string
  fault: FaultKind | null
  /** What the attempt had changed so far. */
  files?: string[]
  /** The content of the tree it ended with, and the fingerprint of its error. */
  tree?: string
  mark?: string
  /** It was the one before it again, by stage, content and error: no progress. */
  repeated?: true
  at: number
}

export function noProgress(recent: readonly Failure[]): boolean {
  return recent.at(-1)?.repeated === true
}

/** One failed attempt in one row. */
export type AttemptRow = {
  attempt: number
  stage: string
  fingerprint: string
  shift: boolean
  reason: string
  at: number
}
