import { join } from 'node:path'
import type { Story } from '../../core/backlog-document.ts'
import type { TaskState } from '../../core/state.ts'
import { hasReview, type Workflow } from '../../core/workflow.ts'
import { writeFileAtomic } from '../../store/atomic-file.ts'
import type { JournalView, Move, Project } from '../layout.ts'
import { placesOf, readTasksFile } from './file.ts'
import { editJson, type JsonEdit } from './json-edit.ts'
import { modeOfStage, reviewStages } from './modes.ts'

export const capPrefix = '[AUTO-APPROVED AT CAP]'

/**
 * Brings the review fields of the stories in line with the journal where they differ: after a putting back, an approval
 * at the cap, a `ralph retry`, an edit that was lost. Not another byte of the file is touched.
 */
export async function projectStories(project: Project, { tasks, rules }: JournalView): Promise<void> {
  const { document, text, encoding } = readTasksFile(project)
  if (!document || text === null) return
  const states = new Map(tasks.map(state => [state.task.id, state]))
  const edits = document.userStories.flatMap((story, index) => {
    const state = states.get(story.id)
    const wanted = state ? fieldsOf(rules.workflow, state, story) : {}
    return Object.entries(wanted)
      .filter(([field, value]) => story[field as keyof Fields] !== value)
      .map(([field, value]): JsonEdit => ({ path: ['userStories', index, field], value }))
  })
  if (edits.length === 0) return
  const edited = editJson(text, edits, { ascii: encoding === 'latin1' })
  await writeFileAtomic(join(project.root, placesOf(project).tasks), Buffer.from(edited, encoding))
}

/**
 * Where a person, or the seed's own script, has put stories since the file was last written. What is said to be finished
 * is proven once more: gates and review come again.
 */
export function movedStories(project: Project, { tasks, events, rules }: JournalView): Move[] {
  const { document } = readTasksFile(project)
  const source = placesOf(project).tasks
  // Whatever happened to a story since is not in the file yet; it says nothing about what a person wants.
  const behind = new Set(events.filter(one => !one.event.type.startsWith('task.')).map(one => one.task))
  return tasks.flatMap((state): Move[] => {
    const story = document?.userStories.find(one => one.id === state.task.id)
    if (!story || behind.has(story.id) || state.step !== null) return []
    const wanted = fieldsOf(rules.workflow, state, story)
    const same = (field: 'passes' | 'reviewStatus') =>
      wanted[field] === undefined || wanted[field] === story[field]
    if (same('passes') && same('reviewStatus')) return []
    const stage = stageFor(rules.workflow, story)
    return stage === null ? [] : [{ id: story.id, stage, source }]
  })
}

type Fields = Pick<Story, 'passes' | 'reviewStatus' | 'reviewCount' | 'reviewFeedback'> & { notes: string }

/** What the journal says that these fields must be; nothing where it has no say. */
export function fieldsOf(workflow: Workflow, state: TaskState, story: Story): Partial<Fields> {
  const { status, evidence, next } = state
  if (status === 'removed' || status === 'cancelled' || evidence.recorded !== undefined) return {}
  const reviewCount = Math.max(story.reviewCount, reviewsOf(workflow, state))
  if (status === 'done' || next?.type === 'settle') return { ...finished(state, story), reviewCount }
  const mode = modeOfStage(workflow, state.stage ?? workflow.start)
  if (!hasReview(workflow)) {
    // The agent says itself that it passes; until the gates have spoken the file is left at that.
    return mode === 'implement' ? { passes: false } : {}
  }
  switch (mode) {
    case 'implement':
      return { passes: false, reviewStatus: null, reviewCount, reviewFeedback: '' }
    case 'review':
      return { passes: false, reviewStatus: 'needs_review', reviewCount, reviewFeedback: '' }
    case 'review-fix':
      return {
        passes: false,
        reviewStatus: 'changes_requested',
        reviewCount,
        reviewFeedback: feedback(state, story),
      }
    default:
      return mode satisfies never
  }
}

function finished({ evidence }: TaskState, story: Story): Partial<Fields> {
  const { review } = evidence
  const noted = typeof story.notes === 'string' && story.notes.trim() !== ''
  // A story that passes must say what was done; the seed's own check asks for it.
  const notes = noted
    ? {}
    : { notes: review?.verdict === 'auto-pass' ? 'Approved at the review cap.' : 'Done.' }
  if (!review) return { passes: true, ...notes }
  const reviewStatus = 'approved' as const
  if (review.verdict !== 'auto-pass') return { passes: true, reviewStatus, ...notes }
  const { reviewFeedback: said } = story
  const open = story.reviewStatus === 'changes_requested' && said.trim() !== '' ? said : review.note
  const reviewFeedback = said.startsWith(capPrefix) ? said : `${capPrefix} ${open}`.trim()
  return { passes: true, reviewStatus, reviewFeedback, ...notes }
}

/** The reviewer's own words where they are there; otherwise why the work came back. */
function feedback({ recent }: TaskState, story: Story): string {
  if (story.reviewStatus === 'changes_requested' && story.reviewFeedback.trim() !== '')
    return story.reviewFeedback
  const last = recent.at(-1)
  const gate = last && !last.stage.startsWith('review') ? `\n${last.detail}` : ''
  return `${last?.reason ?? ''}${gate}`.trim().slice(0, 8000) || 'The work came back; look at progress.txt.'
}

function reviewsOf(workflow: Workflow, { performed = {} }: TaskState): number {
  return reviewStages(workflow).reduce((sum, stage) => sum + (performed[stage] ?? 0), 0)
}

function stageFor(workflow: Workflow, { passes, reviewStatus }: Story): string | null {
  const named = (stage: string) => (Object.hasOwn(workflow.stages, stage) ? stage : null)
  if (reviewStatus === 'changes_requested') return named('review-fix')
  if (passes || reviewStatus === 'needs_review') return named('verify')
  return workflow.start
}
