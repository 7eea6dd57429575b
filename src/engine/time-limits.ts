import { type TaskState, timeSpent } from '../core/state.ts'
import { labelOf } from '../core/task.ts'
import { duration } from '../core/text.ts'
import type { Rules } from '../core/workflow.ts'
import type { Context } from './context.ts'

/** Milliseconds a step of this task may take: the stage's own limit, or what is left of the task's; 0 = no limit. */
export function timeLeft(rules: Rules, state: TaskState, hard: number): number {
  const whole = rules.workflow.limits.task?.hard
  if (!whole) return hard
  // Never 0, which would be no limit at all.
  const left = Math.max(1, whole - timeSpent(state))
  return hard > 0 ? Math.min(hard, left) : left
}

/** What a soft limit that has passed leaves in the journal. */
export type Lateness = { late?: true; overdue?: true }

/**
 * Soft limits only warn, once each, while the step goes on: that of the stage, and that of the task over all its attempts.
 * `tick` with the whole time at the end: a short step may end between two ticks.
 */
export function softLimits(
  context: Context,
  state: TaskState,
  stage: { name: string; soft: number | undefined },
): { tick: (now: { elapsed: number }) => void; passed: () => Lateness } {
  const { report, journal } = context
  const { soft, hard } = journal.rules.workflow.limits.task ?? {}
  const before = timeSpent(state)
  const passed: Lateness = {}
  const warn = (text: string) => report.note({ level: 'warning', text })
  return {
    tick: ({ elapsed }) => {
      if (stage.soft && !passed.late && elapsed >= stage.soft) {
        passed.late = true
        warn(`${stage.name} takes longer than ${duration(stage.soft)}`)
      }
      if (soft && !passed.overdue && before < soft && before + elapsed >= soft) {
        passed.overdue = true
        const end = hard ? `; it is ended at ${duration(hard)}` : ''
        warn(
          `${labelOf(state.task)} takes longer than ${duration(soft)} in all${end}. All that was done is on record.`,
        )
      }
    },
    passed: () => passed,
  }
}
