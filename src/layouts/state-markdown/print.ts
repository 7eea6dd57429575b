import type { AnyEvent, TaskEvent } from '../../core/event.ts'
import type { TaskState } from '../../core/state.ts'
import { duration, plural } from '../../core/text.ts'
import { defaultAttempts, isStuck, type Rules } from '../../core/transition.ts'
import { judgeAgent, softFindings } from '../../core/verdict.ts'
import { stageOf } from '../../core/workflow.ts'
import type { PrintView } from '../layout.ts'
import { gateName } from './gate-names.ts'

type Finished = Extract<TaskEvent, { type: 'step.finished' }>

/** The lines of the seed's runner, word for word; what it has no line for is told in Ralph's own. */
export function gatedLines(event: AnyEvent, { state, rules }: PrintView): string | undefined {
  if (!state) return undefined
  const { id } = state.task
  const most = rules.workflow.limits.attempts ?? defaultAttempts
  if (event.type === 'step.started' && event.stage === rules.workflow.start)
    return `Ralph Loop: Iteration ${state.failures + 1}/${most} for ${id}`
  if (event.type !== 'step.finished') return undefined
  if (event.outcome.kind === 'settle') return `SUCCESS: ${id} completed in ${state.failures + 1} iterations`
  if (state.history.at(-1)?.at === event.at) return failureLines(event, state, rules, most)
  return softLines(event, state, rules)
}

function failureLines(event: Finished, state: TaskState, rules: Rules, most: number): string {
  const row = state.history.at(-1)
  const lines = [
    `FAILED: ${gateName(event.stage, 'report')} (attempt ${row?.attempt ?? 0}/${most}): ${row?.reason ?? ''}`,
  ]
  if (state.status !== 'open') lines.push(endLine(state, rules, most))
  else if (isStuck(rules, state)) lines.push('STUCK: Escalating to strategy shift')
  return lines.join('\n')
}

function endLine({ task, failures, limit, stuck }: TaskState, rules: Rules, most: number): string {
  if (failures >= most) return `CAP HIT: ${task.id} failed after ${most} attempts`
  const tries = `${task.id} failed after ${plural(failures, 'attempt')}`
  switch (limit) {
    case 'stuck':
      return `STUCK: ${tries}: same error ${stuck.same}x, strategy shift failed`
    case 'time':
      return `GLOBAL TIMEOUT: ${tries}: its ${duration(rules.workflow.limits.task?.hard ?? 0)} are used up`
    case 'cost':
      return `BUDGET: ${tries}: its money is used up`
    default:
      return `FAILED: ${tries}`
  }
}

/** Warnings of a soft gate are logged and block nothing (S3-36). */
function softLines(
  { stage: name, outcome }: Finished,
  { task }: TaskState,
  rules: Rules,
): string | undefined {
  const stage = stageOf(rules.workflow, name)
  if (stage?.kind !== 'agent' || stage.gate !== 'soft' || outcome.kind !== 'agent') return undefined
  const found = softFindings(judgeAgent(stage, outcome, task), outcome.message)
  if (found.length === 0) return undefined
  return [
    `${gateName(name, 'report')}: ${plural(found.length, 'warning')}`,
    ...found.map(text => `WARNING: ${text}`),
  ].join('\n')
}
