import type { AnyEvent, WholeReview } from './event.ts'
import { oneLine } from './text.ts'
import type { Workflow } from './workflow.ts'

export type ConsensusRule = NonNullable<Workflow['consensus']>

/** What has not been accepted yet: since which commit, and what was said of it. `accepted`: what was said when all was. */
export type Unaccepted = { base: string | null; reviews: WholeReview[]; accepted: WholeReview[] }

export const nothingUnaccepted: Unaccepted = { base: null, reviews: [], accepted: [] }

/** Goes over the whole journal: a review that was begun in a run that was cut off is gone on with in the next. */
export function foldWhole(rule: ConsensusRule, before: Unaccepted, event: AnyEvent): Unaccepted {
  if (event.type === 'step.started')
    return before.base === null ? { ...before, base: event.base.head, accepted: [] } : before
  // Whoever begins afresh asks anew.
  if (event.type === 'run.started' && event.options.again === 'fresh') return { ...before, reviews: [] }
  if (event.type !== 'run.reviewed') return before
  const { reviewer, agent, base, head, pass, findings } = event
  const reviews = [...before.reviews, { reviewer, agent, base, head, pass, findings }]
  return consensusOf(rule, reviews, head) === 'pass'
    ? { ...nothingUnaccepted, accepted: reviews.filter(review => review.head === head) }
    : { ...before, reviews }
}

/** `open`: another reviewer can still turn it. Only what was said of this very commit counts. */
export function consensusOf(
  { reviewers, quorum }: ConsensusRule,
  reviews: readonly WholeReview[],
  head: string,
): 'pass' | 'fail' | 'open' {
  const own = reviews.filter(review => review.head === head)
  const passed = own.filter(review => review.pass).length
  if (passed >= quorum) return 'pass'
  return own.length - passed > reviewers - quorum ? 'fail' : 'open'
}

export function consensusText({ reviewers, quorum }: ConsensusRule, reviews: readonly WholeReview[]): string {
  const passed = reviews.filter(review => review.pass).length
  const found = reviews.filter(review => !review.pass).map(review => oneLine(review.findings, 200))
  const text = `${passed} of ${reviews.length} reviewers approve the whole (${quorum} of ${reviewers} must)`
  return found.length > 0 ? `${text}: ${found.join('; ')}` : text
}
