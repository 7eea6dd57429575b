import { type BacklogDocument, type ReviewStatus, readDocument, type Story } from './backlog-document.ts'

/** What an agent call is for. Each may change the review fields of one story, in its own way. */
export type ReviewMode = 'implement' | 'review' | 'review-fix'

export type ReviewMark = { passes: boolean; reviewStatus: ReviewStatus; reviewCount: number }

/** The review-critical fields of every story before the call, by id; written by trusted code, never by the agent. */
export type ReviewSnapshot = Record<string, ReviewMark>

export type BacklogCheck = {
  /** The file as the agent left it; null = it is gone. */
  text: string | null
  skipReview: boolean
  reviewCap: number
  mode?: ReviewMode | undefined
  snapshot?: ReviewSnapshot | undefined
  /** The story that the call was for. */
  story?: string | undefined
  /** The whole file as it was, where somebody kept it. */
  before?: BacklogDocument | undefined
}

export type BacklogVerdict = { document: BacklogDocument | null; problems: string[]; warnings: string[] }

/**
 * Checks 1, 2 and 2.5 on a backlog that an agent has edited, and what they leave open: a story, a criterion or a verify
 * command that is gone (H-09). The engine asks after every agent call; the stop hook asks while the agent can still mend it.
 */
export function checkBacklog(check: BacklogCheck): BacklogVerdict {
  const { document, problems: shape } = readDocument(check.text)
  const told = shape.map(problem => problem.message)
  if (!document) return { document, problems: told, warnings: [] }
  const { skipReview, snapshot, mode, before } = check
  const watched = !skipReview && snapshot !== undefined && mode !== undefined
  const unwatched = 'No snapshot of the stories before this iteration: transitions are not checked.'
  return {
    document,
    // What was done comes before what does not hold because of it.
    problems: [
      ...(watched ? transitionProblems(document, check) : []),
      ...(before ? lossProblems(before, document, mode) : []),
      ...told,
      ...(skipReview ? [] : reviewProblems(document, check.reviewCap)),
    ],
    warnings: skipReview || watched ? [] : [unwatched],
  }
}

export function snapshotOf({ userStories }: BacklogDocument): ReviewSnapshot {
  return Object.fromEntries(userStories.map(story => [story.id, markOf(story)]))
}

/** What a loop does next by the file alone: feedback is addressed before reviews, reviews come before new work. */
export function modeOf({ userStories }: BacklogDocument): ReviewMode {
  if (userStories.some(story => story.reviewStatus === 'changes_requested')) return 'review-fix'
  return userStories.some(story => story.reviewStatus === 'needs_review') ? 'review' : 'implement'
}

/** Check 2: what must hold at any moment. */
export function reviewProblems({ userStories }: BacklogDocument, cap: number): string[] {
  return userStories.flatMap(story => {
    const { id, passes, reviewStatus, reviewCount, reviewFeedback } = story
    const problems: string[] = []
    if (passes && reviewStatus !== 'approved')
      problems.push(
        `Story ${id} has passes=true but reviewStatus is '${reviewStatus}', not 'approved'. Only review iterations may approve stories. Set passes back to false or complete the review cycle.`,
      )
    if (!passes && reviewStatus === 'approved')
      problems.push(
        `Story ${id} has reviewStatus 'approved' but passes=false: the two are out of sync. A review that approves sets both.`,
      )
    if (reviewStatus === 'changes_requested' && reviewFeedback.trim() === '')
      problems.push(
        `Story ${id} has reviewStatus 'changes_requested' but an empty reviewFeedback: feedback required. Say what must be fixed and where.`,
      )
    if (reviewCount > cap + 1)
      problems.push(`Story ${id} has reviewCount ${reviewCount}, more than the review cap of ${cap} allows.`)
    return problems
  })
}

type Transition = { id: string; field: keyof ReviewMark; from: unknown; to: unknown }
type Transitions = Pick<BacklogCheck, 'mode' | 'snapshot' | 'story'>

/** Check 2.5: only what this kind of call may change has changed. */
export function transitionProblems({ userStories }: BacklogDocument, check: Transitions): string[] {
  const { mode, snapshot = {}, story } = check
  const known = userStories.filter(one => Object.hasOwn(snapshot, one.id))
  const added = userStories.filter(one => !Object.hasOwn(snapshot, one.id))
  // A story that was added must start like any other.
  const early = added.flatMap(one => changesOf(one, fresh))
  const changed = known
    .map(one => ({ story: one, changes: changesOf(one, snapshot[one.id] ?? fresh) }))
    .filter(one => one.changes.length > 0)
  switch (mode) {
    case undefined:
      return []
    case 'implement':
      return [...early, ...unlessSubmitted(changed, null, story)].map(implementText)
    case 'review-fix':
      return [...early, ...unlessSubmitted(changed, 'changes_requested', story)].map(fixText)
    case 'review':
      return [
        ...early.map(one => reviewText(one.id, `${one.field} ${one.from} → ${one.to} on a new story`)),
        ...reviewTransitions(changed, snapshot, story),
      ]
    default:
      return mode satisfies never
  }
}

type Changed = { story: Story; changes: Transition[] }

/** All changes but the one that is meant: one story, handed in for review. */
function unlessSubmitted(changed: Changed[], from: ReviewStatus, story: string | undefined): Transition[] {
  const submits = ({ changes }: Changed) =>
    changes.length === 1 &&
    changes[0]?.field === 'reviewStatus' &&
    changes[0].from === from &&
    changes[0].to === 'needs_review'
  const meant = changed.find(one => submits(one) && (story === undefined || one.story.id === story))
  return changed.filter(one => one !== meant).flatMap(one => one.changes)
}

function reviewTransitions(
  changed: Changed[],
  snapshot: ReviewSnapshot,
  story: string | undefined,
): string[] {
  const waiting = Object.keys(snapshot).filter(id => snapshot[id]?.reviewStatus === 'needs_review')
  const asked = story ?? (changed.length === 1 ? changed[0]?.story.id : waiting[0]) ?? ''
  const others = changed.filter(one => one.story.id !== asked)
  const first = others[0]
  if (first) return [reviewText(first.story.id, 'a review may only modify one story')]
  const reviewed = changed[0]
  const before = reviewed && snapshot[reviewed.story.id]
  if (!reviewed || !before) return [reviewText(asked, 'a review must increment reviewCount')]
  const { passes, reviewStatus, reviewCount, reviewFeedback } = reviewed.story
  const by = reviewCount - before.reviewCount
  if (by === 0) return [reviewText(asked, 'a review must increment reviewCount')]
  if (by !== 1) return [reviewText(asked, `reviewCount ${before.reviewCount} → ${reviewCount}, not by 1`)]
  if (before.reviewStatus !== 'needs_review')
    return [reviewText(asked, `its reviewStatus was '${before.reviewStatus}', not 'needs_review'`)]
  const approved = reviewStatus === 'approved' && passes
  const rejected = reviewStatus === 'changes_requested' && !passes && reviewFeedback.trim() !== ''
  if (approved || rejected) return []
  return [
    reviewText(
      asked,
      `it ended as reviewStatus '${reviewStatus}' with passes=${passes}; a review ends as 'approved' with passes=true, or as 'changes_requested' with feedback`,
    ),
  ]
}

const fresh: ReviewMark = { passes: false, reviewStatus: null, reviewCount: 0 }

function markOf({ passes, reviewStatus, reviewCount }: Story): ReviewMark {
  return { passes, reviewStatus, reviewCount }
}

function changesOf(story: Story, before: ReviewMark): Transition[] {
  const now = markOf(story)
  return (['passes', 'reviewStatus', 'reviewCount'] as const)
    .filter(field => now[field] !== before[field])
    .map(field => ({ id: story.id, field, from: before[field], to: now[field] }))
}

function implementText({ id, field, from, to }: Transition): string {
  return `Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. Story ${id} had illegal transition: ${field} ${from} → ${to}.`
}

function reviewText(id: string, details: string): string {
  return `Review iteration made illegal transition on story ${id}: ${details}.`
}

function fixText({ id, field, from, to }: Transition): string {
  return `Review-fix iterations cannot approve stories. Story ${id} must go back to needs_review for re-review. Illegal transition: ${field} ${from} → ${to}.`
}

/**
 * H-09: stories may be added, split and reordered, but nothing that was asked for may vanish. A criterion may move to a
 * story that was added in the same call of an implementer: that is what splitting means.
 */
export function lossProblems(
  before: BacklogDocument,
  after: BacklogDocument,
  mode: ReviewMode | undefined,
): string[] {
  const now = new Map(after.userStories.map(story => [story.id, story]))
  const was = new Set(before.userStories.map(story => story.id))
  const added = mode === 'implement' ? after.userStories.filter(story => !was.has(story.id)) : []
  const moved = new Set(added.flatMap(story => story.acceptanceCriteria.map(textOf)))
  const problems = before.userStories.flatMap(({ id, acceptanceCriteria }) => {
    const story = now.get(id)
    if (!story) return [`Story ${id} was removed. Stories may be added, split and reordered, never removed.`]
    const kept = new Set(story.acceptanceCriteria.map(textOf))
    return acceptanceCriteria
      .map(textOf)
      .filter(criterion => !kept.has(criterion) && !moved.has(criterion))
      .map(
        criterion =>
          `Story ${id} lost the acceptance criterion ${criterion}. Criteria may move to a new story when a story is split, never change or disappear.`,
      )
  })
  if (textOf(before.verifyCommands ?? []) !== textOf(after.verifyCommands ?? []))
    problems.push('verifyCommands were changed. They define how the work is checked; only a person may.')
  if (before.branchName !== after.branchName)
    problems.push('branchName was changed. It says which feature this is; only a person may.')
  return problems
}

function textOf(value: unknown): string {
  return JSON.stringify(value)
}
