import type { Effect } from '../core/effect.ts'
import type { Context } from './context.ts'
import { performAgent } from './perform-agent.ts'
import { performBaseline, performGates } from './perform-commands.ts'
import { performRestore, performSettle } from './perform-git.ts'
import { nextStep } from './step-files.ts'
import { inTaskFolder, leaveIfEnded } from './task-folder.ts'

/** Effect → adapter → event. Takes one effect of one task and records what came of it. */
export async function perform(context: Context, task: string, effect: Effect): Promise<void> {
  const place = effect.type === 'engine' ? context : await inTaskFolder(context, task)
  await performIn(place, task, effect)
  if (place !== context) await leaveIfEnded(context, task)
}

async function performIn(context: Context, task: string, effect: Effect): Promise<void> {
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
        step: nextStep(context.journal.run()),
        stage: effect.stage,
        outcome: { kind: 'engine' },
      })
      return
    default:
      return effect satisfies never
  }
}
