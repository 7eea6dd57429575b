import type { Story } from '../../core/backlog-document.ts'
import { checkBacklog, snapshotOf } from '../../core/backlog-rules.ts'
import { oneLine } from '../../core/text.ts'
import { hasReview } from '../../core/workflow.ts'
import type { Judgement, Project, Proposal } from '../layout.ts'
import { fromBytes, placesOf } from './file.ts'
import { modeOfStage, reviewCap } from './modes.ts'
import { capPrefix } from './projection.ts'
import { storyOf } from './spec.ts'

/**
 * Judges the agent's edit of `tasks.json` against the copy that the engine holds (H-10, H-11). What was wrong before is
 * not blamed on the agent. An illegal edit is put back whole; a legal one says how the story stands.
 */
export function judgeEdit(project: Project, proposal: Proposal): Judgement {
  const { state, stage, rules, before, after } = proposal
  const { tasks } = placesOf(project)
  const { id } = state.task
  const was = fromBytes(before.get(tasks) ?? null, tasks)
  const now = fromBytes(after.get(tasks) ?? null, tasks)
  const mode = modeOfStage(rules.workflow, stage)
  const skipReview = !hasReview(rules.workflow)
  const counted = Math.max(0, ...(was.document?.userStories.map(story => story.reviewCount) ?? []))
  const options = { skipReview, reviewCap: Math.max(reviewCap(rules.workflow), counted) }
  const earlier = new Set(checkBacklog({ text: was.text, ...options }).problems)
  const trusted = was.document
    ? { mode, story: id, snapshot: snapshotOf(was.document), before: was.document }
    : {}
  const { document, problems } = checkBacklog({ text: now.text, ...options, ...trusted })
  const broken = problems.filter(problem => !earlier.has(problem))
  const story = storyOf(document, id)
  if (broken.length > 0 || !story) {
    const details = broken.length > 0 ? broken : [`Story ${id} is not in ${tasks}.`]
    const violations = details.slice(0, 10).map(detail => ({ rule: 'backlog' as const, path: '', detail }))
    return { verdict: 'unclear', reason: details[0] ?? '', violations, restore: [tasks] }
  }
  return { ...verdictOf(story, mode, skipReview), violations: [], restore: [] }
}

function verdictOf(
  story: Story,
  mode: ReturnType<typeof modeOfStage>,
  skipReview: boolean,
): Pick<Judgement, 'verdict' | 'reason'> {
  const { id, passes, reviewStatus, reviewFeedback } = story
  if (mode === 'review') {
    const feedback = reviewFeedback.trim()
    // An approval "at the cap" is no approval. Whether the cap is reached is for the engine to say.
    if (passes && !feedback.startsWith(capPrefix)) return { verdict: 'pass', reason: '' }
    // The file keeps it word for word.
    return { verdict: 'fail', reason: oneLine(feedback.replace(capPrefix, ''), 2000) || 'Changes requested' }
  }
  const handedIn = skipReview ? passes : reviewStatus === 'needs_review'
  if (handedIn) return { verdict: 'pass', reason: '' }
  const wanted = skipReview ? 'passes=true' : "reviewStatus 'needs_review'"
  return { verdict: 'fail', reason: `Not finished: story ${id} was not set to ${wanted}` }
}
