import type { TaskState } from '../core/state.ts'
import { defaultAttempts, type Rules } from '../core/transition.ts'
import { stageOf } from '../core/workflow.ts'

/** A stage for people; those that begin with `@` are the engine's own. */
export function stageWords(stage: string): string {
  const own: Record<string, string> = {
    '@baseline': 'gates before the task',
    '@restore': 'putting back',
    '@settle': 'settling',
  }
  return own[stage] ?? stage
}

/** Which try this is, out of how many: a stage with a limit of its own counts for itself, otherwise the task does. */
export function attemptCount(state: TaskState, rules: Rules | null): { n: number; of: number } {
  const stage = state.stage !== null && rules ? stageOf(rules.workflow, state.stage) : undefined
  if (stage?.limit !== undefined && state.stage !== null) {
    return { n: state.visits[state.stage] ?? 1, of: stage.limit }
  }
  const of = rules?.workflow.limits.attempts ?? defaultAttempts
  return { n: Math.min(state.failures + 1, of), of }
}
