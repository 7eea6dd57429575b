import type { Effect } from '../core/effect.ts'
import type { Context } from './context.ts'
import { performAgent } from './perform-agent.ts'
import { performBaseline, performGates } from './perform-commands.ts'
import { performRestore, performSettle } from './perform-git.ts'

/** Effect → adapter → event. Takes one effect of one task and records what came of it. */
export async function perform(context: Context, task: string, effect: Effect): Promise<void> {
  switch (effect.type) {
    case 'agent':
      return performAgent(context, task, effect.stage)
    case 'baseline':
      return performBaseline(context, task)
    case 'commands':
      return performGates(context, task, effect.stage)
    case 'restore':
      return performRestore(context, task)
    case 'settle':
      return performSettle(context, task)
    case 'engine':
      await context.journal.record(task, {
        type: 'step.finished',
        step: nextStep(context),
        stage: effect.stage,
        outcome: { kind: 'engine' },
      })
      return
    default:
      return effect satisfies never
  }
}

/** `<run>/<number>`: the folder under `runs/` that holds the step's prompt, output, diff and result. */
export function nextStep(context: Context): string {
  const run = context.journal.run()
  return `${run.id}/${String(run.steps + 1).padStart(4, '0')}`
}
