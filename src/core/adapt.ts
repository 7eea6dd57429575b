import type { Task } from './task.ts'
import type { Rules, Stage } from './workflow.ts'

/**
 * The rules as they hold for one task: where its workflow says so, a simple task gets fewer tries and a hard one more
 * (G-08). Complexity is a score from 1 to 10; 5 is what the workflow was written for, and so is a task without one.
 */
export function adaptRules(rules: Rules, task: Task | undefined): Rules {
  const { workflow } = rules
  if (workflow.limits.adaptive !== true || task?.complexity === undefined) return rules
  const factor = 0.5 + Math.min(10, Math.max(1, task.complexity)) / 10
  const scaled = (limit: number) => Math.max(1, Math.round(limit * factor))
  const stages = Object.entries(workflow.stages).map(([name, stage]): [string, Stage] => [
    name,
    stage.limit === undefined ? stage : { ...stage, limit: scaled(stage.limit) },
  ])
  const { attempts } = workflow.limits
  const limits = attempts === undefined ? workflow.limits : { ...workflow.limits, attempts: scaled(attempts) }
  return { ...rules, workflow: { ...workflow, stages: Object.fromEntries(stages), limits } }
}
