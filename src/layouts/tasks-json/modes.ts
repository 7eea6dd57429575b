import type { ReviewMode } from '../../core/backlog-rules.ts'
import { stageOf, type Workflow } from '../../core/workflow.ts'
import { defaultCap } from './backlog.ts'

/**
 * The seed's word for a stage. Gates belong to the mode that follows them, because in the file a story waits for its
 * review from the moment that it was handed in.
 */
export function modeOfStage(workflow: Workflow, name: string): ReviewMode {
  const stage = stageOf(workflow, name)
  if (name === workflow.start || !stage) return 'implement'
  if (stage.kind !== 'agent' || stage.review === true) return 'review'
  return 'review-fix'
}

export function reviewStages(workflow: Workflow): string[] {
  return Object.entries(workflow.stages).flatMap(([name, stage]) =>
    stage.kind === 'agent' && stage.review === true ? [name] : [],
  )
}

/** The bound on the way from the review to the fix is the cap: the last review leads elsewhere. */
export function reviewCap(workflow: Workflow): number {
  for (const name of reviewStages(workflow)) {
    const fail = stageOf(workflow, name)?.on.fail
    if (fail !== undefined && typeof fail !== 'string') return fail.max + 1
  }
  return defaultCap
}
