import type { RunState } from './run.ts'
import type { TaskState } from './state.ts'
import { labelOf } from './task.ts'
import { duration } from './text.ts'
import type { Limits } from './workflow.ts'

export type BudgetLine = { name: string; used: number; limit: number; text: string }

export type BudgetVerdict =
  | { type: 'ok'; warnings: string[] }
  | { type: 'spent'; reason: string; warnings: string[] }

/** A budget is warned of once four fifths of it are used. */
const warnAt = 0.8

/** Says whether the run may start another agent call. */
export function checkBudget(limits: Limits, run: RunState, now: number): BudgetVerdict {
  const lines = budgetLines(limits, run, now)
  const spent = lines.find(line => line.used >= line.limit)
  const warnings = lines
    .filter(line => line.used >= line.limit * warnAt && line.used < line.limit)
    .map(line => `${line.text} (80 % of the budget)`)
  return spent ? { type: 'spent', reason: spent.text, warnings } : { type: 'ok', warnings }
}

/** What is worth a warning before another call for this task. */
export function taskWarnings(limits: Limits, { task, spent, since }: TaskState): string[] {
  const used = spent.costUsd - since.costUsd
  const { taskCost } = limits
  if (!taskCost || used < taskCost * warnAt || used >= taskCost) return []
  return [
    `${labelOf(task)}: $${used.toFixed(2)} of $${taskCost.toFixed(2)} spent (80 % of the task's budget)`,
  ]
}

export function budgetLines(limits: Limits, run: RunState, now: number): BudgetLine[] {
  const lines: BudgetLine[] = []
  const add = (name: string, used: number, limit: number | undefined, text: (limit: number) => string) => {
    if (limit !== undefined) lines.push({ name, used, limit, text: text(limit) })
  }
  add(
    'iterations',
    run.iterations,
    limits.iterations,
    limit => `${run.iterations} of ${limit} iterations used`,
  )
  add('cost', run.costUsd, limits.cost, limit => `$${run.costUsd.toFixed(2)} of $${limit.toFixed(2)} spent`)
  add('tokens', run.tokens, limits.tokens, limit => `${run.tokens} of ${limit} tokens used`)
  const elapsed = run.startedAt ? now - run.startedAt : 0
  // 0 = no limit.
  add(
    'time',
    elapsed,
    limits.run?.hard || undefined,
    limit => `${duration(elapsed)} of ${duration(limit)} used`,
  )
  return lines
}
