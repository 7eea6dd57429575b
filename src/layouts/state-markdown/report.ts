import type { TaskState } from '../../core/state.ts'
import { duration, oneLine } from '../../core/text.ts'
import { isStuck } from '../../core/transition.ts'
import type { JournalView, Project } from '../layout.ts'
import { gateName } from './gate-names.ts'
import type { PlanTask } from './plan.ts'
import { readPlan } from './plan-file.ts'
import { tellingLine } from './telling-line.ts'

/** The seed's failure report, word for word (S3-45). */
export function failureReport(project: Project, journal: JournalView): string {
  const tasks = journal.tasks.filter(state => state.status !== 'removed')
  const done = tasks.filter(state => state.status === 'done').length
  const failed = tasks.filter(state => state.status === 'failed' || state.status === 'halted')
  const plan = new Map(readPlan(project).tasks.map(task => [task.id, task]))
  return [
    '# Ralph Loop Execution Summary',
    '',
    `## Completed: ${done}/${tasks.length} tasks`,
    '',
    ...(failed.length > 0 ? ['## Failed Tasks (require human attention):', ''] : []),
    ...failed.flatMap(state => [...failedTask(state, plan.get(state.task.id), journal), '']),
    ...consensusLines(journal),
  ].join('\n')
}

/** What reviewers of the whole said, where the project has them (G-13). */
function consensusLines({ run, rules }: JournalView): string[] {
  const { consensus } = rules.workflow
  const reviews = run.reviews ?? []
  if (!consensus || reviews.length === 0) return []
  const passed = reviews.filter(review => review.pass).length
  const lines = reviews.map(
    ({ reviewer, agent, pass, findings }) =>
      `- Reviewer ${reviewer} (${agent}): ${pass ? 'approved' : oneLine(findings)}`,
  )
  return [
    `## Consensus Review: ${passed}/${reviews.length} approve, ${consensus.quorum} of ${consensus.reviewers} must`,
    '',
    ...lines,
    '',
  ]
}

function failedTask(
  state: TaskState,
  plan: PlanTask | undefined,
  { rules, attempts }: JournalView,
): string[] {
  const { task, failures, stuck, warnings = [] } = state
  const name = plan ? `Task ${plan.number}: ${task.title}` : `Task ${task.id}: ${task.title}`
  const same = rules.workflow.stuck?.same ?? stuck.same
  const yes =
    state.limit === 'stuck'
      ? `Yes (same error ${same}x, strategy shift failed)`
      : `Yes (same error ${stuck.same}x)`
  return [
    `### ${oneLine(name)}`,
    `- Attempts: ${failures}/${attempts}${endedBy(state, attempts, rules.workflow.limits.task?.hard)}`,
    `- Last gate: ${gateName(state.history.at(-1)?.stage ?? state.endedIn ?? '', 'report')}`,
    `- Branch: ${state.branch ?? 'none'}`,
    `- Error: ${errorOf(state)}`,
    `- Stuck: ${isStuck(rules, state) || state.limit === 'stuck' ? yes : 'No'}`,
    `- Quality warnings: ${warnings.length}`,
  ]
}

/** H-33: one attempt may take 38 minutes by its gates' own limits, so what ends a task is often the global one. */
function endedBy({ limit, failures }: TaskState, attempts: number, hard: number | undefined): string {
  if (failures >= attempts) return ''
  switch (limit) {
    case 'time':
      return ` (ended by the global time limit of ${duration(hard ?? 0)})`
    case 'cost':
      return ' (ended by the money limit of the task)'
    case 'stuck':
      return ' (ended by the hard stop of the stuck rule)'
    default:
      return ''
  }
}

function errorOf({ recent, note }: TaskState): string {
  const last = recent.at(-1)
  if (!last) return oneLine(note)
  const own = last.stage === 'tests' || last.reason === 'Review found issues' ? tellingLine(last) : ''
  return oneLine(own.replace(/^Error: /u, '') || last.reason)
}
