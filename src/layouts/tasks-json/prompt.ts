import iteration from '../../../templates/reviewed/iteration.md?raw'
import prompt from '../../../templates/reviewed/prompt.md?raw'
import type { ReviewMode } from '../../core/backlog-rules.ts'
import { type PromptFacts, quotation, type Values } from '../../core/prompt.ts'
import { hasReview } from '../../core/workflow.ts'
import type { Project, PromptAbout } from '../layout.ts'
import { placesOf, readTasksFile } from './file.ts'
import { modeOfStage, reviewCap } from './modes.ts'
import { storyOf } from './spec.ts'

/** One prompt for all three modes, as in the seed; the section at its end says which one it is this time. */
const whole = `${prompt}${iteration}`

export const reviewedTemplates: Record<string, string> = {
  implement: whole,
  review: whole,
  'review-fix': whole,
}

/** What `ralph init` writes as `ralph/prompt.md`: the part that is the project's to change, and that the seed's script can use. */
export const projectPrompt = prompt

/**
 * The seed's way of naming the iteration (S1-17) and, where the project's own prompt knows nothing of it, the section
 * that names mode, story, range of the diff and the last failures.
 */
export function composePrompt(template: string): string {
  const named = template
    .replace(/\$(?:RALPH_ITERATION(?!\w)|\{RALPH_ITERATION\})/gu, '{{runIteration}}')
    .replace(/\$(?:RALPH_MAX_ITERATIONS(?!\w)|\{RALPH_MAX_ITERATIONS\})/gu, '{{maxIterations}}')
  return named.includes('{{mode}}') ? named : `${named.trimEnd()}\n${iteration}`
}

export function reviewedValues(project: Project, facts: PromptFacts, about: PromptAbout): Values {
  const { state, rules, stage } = about
  const { workflow } = rules
  const places = placesOf(project)
  const mode = modeOfStage(workflow, stage)
  const cap = reviewCap(workflow)
  const review = (state.taken[`${stage}.fail`] ?? 0) + 1
  const story = storyOf(readTasksFile(project).document, state.task.id)
  const skips = !hasReview(workflow)
  return {
    mode,
    tasksFile: places.tasks,
    maxIterations: facts.runIterations > 0 ? String(facts.runIterations) : 'any number',
    skipReview: skips ? 'yes' : '',
    reviewCap: String(cap),
    review: mode === 'review' ? String(review) : '',
    atCap: mode === 'review' && review >= cap ? 'yes' : '',
    feedback: mode === 'review-fix' ? quotation(story?.reviewFeedback ?? '').join('\n') : '',
    allowed: skips ? allowedWithout : allowed[mode],
  }
}

const allowed: Record<ReviewMode, string> = {
  implement:
    'this story from `reviewStatus: null` to `"needs_review"`; new stories that start at `passes: false`, `reviewStatus: null`, `reviewCount: 0`.',
  review:
    'of this story `reviewCount` by exactly 1, and either `reviewStatus: "approved"` with `passes: true`, or `reviewStatus: "changes_requested"` with feedback.',
  'review-fix':
    'this story from `reviewStatus: "changes_requested"` to `"needs_review"`, with `reviewFeedback` cleared.',
}

const allowedWithout = 'of this story `passes` to true, with `notes` that say what was done; new stories.'
