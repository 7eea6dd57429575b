import coder from '../../../templates/pipeline/coder.md?raw'
import head from '../../../templates/pipeline/head.md?raw'
import qa from '../../../templates/pipeline/qa.md?raw'
import reviewer from '../../../templates/pipeline/reviewer.md?raw'
import tail from '../../../templates/pipeline/tail.md?raw'
import tester from '../../../templates/pipeline/tester.md?raw'
import type { PromptFacts, Values } from '../../core/prompt.ts'
import { type Rules, stageOf } from '../../core/workflow.ts'

/**
 * What an agent receives (S2-10 to S2-12): the task, its whole spec, what this stage must have done, and the promise. No
 * line of it is a promise or a verdict when an agent repeats it (H-23). Besides the iteration and what failed before, it
 * is the same each time (S2-13).
 */
export const specflowTemplates: Record<string, string> = Object.fromEntries(
  Object.entries({ coder, reviewer, tester, qa }).map(([name, own]) => [name, `${head}${own}${tail}`]),
)

export function specflowValues(
  _facts: Pick<PromptFacts, 'stage'>,
  { rules, stage: name }: { rules: Rules; stage: string },
): Values {
  const stage = stageOf(rules.workflow, name)
  const signal = stage?.kind === 'agent' ? stage.signal : null
  return {
    stageName: stageName(name),
    promise: signal?.from === 'promise' ? signal.text : '',
    // Whoever comes after the coder can send the work back to it.
    finds: name === rules.workflow.start ? '' : 'yes',
  }
}

const names: Record<string, string> = {
  coder: 'Implementation',
  reviewer: 'Code Review',
  tester: 'Testing',
  qa: 'QA',
}

/** A stage for people: `Implementation` for the coder, otherwise its own name with a capital. */
export function stageName(stage: string): string {
  return Object.hasOwn(names, stage)
    ? (names[stage] ?? stage)
    : `${stage.slice(0, 1).toUpperCase()}${stage.slice(1)}`
}
