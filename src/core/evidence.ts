import type { ChangedFile, CommandResult } from './outcome.ts'
import { hasReview, type Workflow } from './workflow.ts'

/** What the engine itself saw that proves a task done. Collected while an attempt goes on; empty parts are not proven yet. */
export type Evidence = {
  change?: ChangeEvidence
  gates?: GateEvidence
  review?: ReviewEvidence
  /** Commit that holds the finished work. */
  head?: string
  /** The preset's own files recorded the task as done before this journal began. */
  recorded?: string
  /** The work, or a part of it, was there before this journal began, by the word of this source. */
  adopted?: string
}

export type ChangeEvidence = {
  from: string
  to: string
  files: ChangedFile[]
  more: number
  commits: string[]
}

export type GateEvidence = {
  tree: string
  results: CommandResult[]
  notes: string[]
  /** True when no verify command exists and the user said `verify: none`. */
  unverified: boolean
  at: number
}

export type ReviewEvidence = {
  stage: string
  agent: string
  verdict: 'pass' | 'auto-pass'
  note: string
  at: number
}

export const noReview = 'no review passed'

/** The parts that are still missing, in words a person can act on. Empty = proven. */
export function missingEvidence(workflow: Workflow, evidence: Evidence): string[] {
  const missing: string[] = []
  const ownGates = evidence.gates?.results.some(result => result.own && result.exit === 0) ?? false
  const changed = (evidence.change?.files.length ?? 0) > 0
  if (!changed && !ownGates && evidence.adopted === undefined) missing.push('nothing changed')
  if (!evidence.gates) missing.push('the gates did not run on the final state')
  if (hasReview(workflow) && !evidence.review) missing.push(noReview)
  return missing
}

/** `verified`: gates ran and passed · `unverified`: the user accepts the agents' word · `recorded`: done before this journal. */
export type Proof = 'verified' | 'unverified' | 'recorded'

export function proofOf(evidence: Evidence): Proof {
  if (evidence.gates) return evidence.gates.unverified ? 'unverified' : 'verified'
  return 'recorded'
}
