import { type Evidence, missingEvidence, type Proof, proofOf } from '../core/evidence.ts'
import type { CommandResult } from '../core/outcome.ts'
import type { AttemptRow, Spent, TaskState } from '../core/state.ts'
import type { TaskStatus } from '../core/task.ts'
import { duration, oneLine, plural } from '../core/text.ts'
import type { Rules } from '../core/transition.ts'
import { timestamp } from '../reporters/log-file.ts'
import type { Style } from '../reporters/style.ts'

/** One of `tasks` in what `ralph evidence --json` prints. Moments are milliseconds since the epoch. */
export type TaskEvidence = {
  id: string
  title: string
  status: TaskStatus
  /** Null while the task is not done. */
  proof: Proof | null
  evidence: Evidence
  /** How the gates stood before the task; null when they were not run. */
  baseline: CommandResult[] | null
  /** What is still to be proven, in words; empty for a done task. */
  missing: string[]
  note: string
  /** The failed attempts. */
  failures: AttemptRow[]
  spent: Spent
  startedAt: number
  endedAt: number
}

export function taskEvidence(state: TaskState, rules: Rules | null): TaskEvidence {
  const done = state.status === 'done'
  return {
    id: state.task.id,
    title: state.task.title,
    status: state.status,
    proof: done ? proofOf(state.evidence) : null,
    evidence: state.evidence,
    baseline: state.baseline,
    missing: done || !rules ? [] : missingEvidence(rules.workflow, state.evidence),
    note: state.note,
    failures: state.history,
    spent: state.spent,
    startedAt: state.startedAt,
    endedAt: state.endedAt,
  }
}

/** All done tasks, a line each. */
export function evidenceList(tasks: TaskEvidence[], notDone: number, style: Style): string {
  const lines = tasks.map(task => `${mark(task, style)} ${task.id} ${task.title} · ${brief(task)}`)
  if (tasks.length === 0) lines.push('No task is done yet.')
  if (notDone > 0) lines.push(`${plural(notDone, 'task')} not done: ralph explain`)
  if (tasks.length > 0) lines.push('  → ralph evidence <task> tells all; ralph verify proves it again')
  return `${lines.join('\n')}\n`
}

function mark({ proof }: TaskEvidence, style: Style): string {
  return proof === 'verified' ? style.green('✓') : proof === 'unverified' ? style.yellow('?') : style.dim('·')
}

function brief({ proof, evidence }: TaskEvidence): string {
  const { change, gates, review, head, recorded, adopted } = evidence
  if (proof === 'recorded') return `recorded in ${recorded ?? 'the preset’s files'}; not seen by Ralph`
  const tests = (gates?.results ?? []).reduce((sum, result) => sum + (result.tests?.passed ?? 0), 0)
  const parts = [
    plural((change?.files.length ?? 0) + (change?.more ?? 0), 'file'),
    adopted === undefined ? '' : `work taken over (${adopted})`,
    proof === 'unverified'
      ? 'no gate ran'
      : `${plural(gates?.results.length ?? 0, 'gate')} green${tests > 0 ? ` (${plural(tests, 'test')})` : ''}`,
    review ? (review.verdict === 'pass' ? 'reviewed' : 'review passed over') : '',
    head ? `commit ${head.slice(0, 12)}` : '',
  ]
  return `${proof}: ${parts.filter(Boolean).join(', ')}`
}

/** Everything that proves one task, or what is missing. */
export function evidenceText(task: TaskEvidence, style: Style): string {
  const title = style.bold(`${task.id} ${task.title}`)
  const lines = task.proof === null ? notDone(task, title, style) : done(task, title, style)
  return `${lines.join('\n')}\n`
}

function done(task: TaskEvidence, title: string, style: Style): string[] {
  const { evidence, proof, id } = task
  if (proof === 'recorded') {
    return [
      `${title}: done, recorded`,
      `  ${evidence.recorded ?? 'The preset’s own files'} said so before this journal began. Ralph has not seen it done.`,
      `  → ralph verify ${id} runs the gates on what is there today`,
    ]
  }
  const word =
    proof === 'verified'
      ? style.green('done, verified')
      : style.yellow('done, unverified: `verify: none` accepts the agents’ word')
  return [`${title}: ${word} (${timestamp(task.endedAt)})`, ...proofLines(task, style), ...effort(task)]
}

function notDone(task: TaskEvidence, title: string, style: Style): string[] {
  const lines = [`${title}: ${style.red(`not done (${task.status})`)}`]
  if (task.note) lines.push(`  why      ${task.note}`)
  for (const missing of task.missing) lines.push(`  missing  ${missing}`)
  lines.push(...proofLines(task, style))
  for (const { attempt, stage, reason, at } of task.failures) {
    lines.push(`  attempt ${attempt} (${timestamp(at)}) failed at ${stage}: ${oneLine(reason)}`)
  }
  return [...lines, ...effort(task), `  → ralph explain ${task.id}`]
}

/** Files of a change that are listed. */
const listed = 50

function proofLines({ evidence, baseline }: TaskEvidence, style: Style): string[] {
  const { change, gates, review, head, adopted } = evidence
  const lines: string[] = []
  // What Ralph has not seen made must not look as if it had.
  if (adopted !== undefined)
    lines.push(`  adopted  the work, or a part of it, was there before; so says ${adopted}`)
  if (change) {
    lines.push(
      `  change   ${plural(change.files.length + change.more, 'file')}, ${plural(change.commits.length, 'commit')}`,
    )
    const sign = { added: 'A', modified: 'M', deleted: 'D' }
    for (const file of change.files.slice(0, listed))
      lines.push(`             ${sign[file.how]} ${file.path}`)
    const rest = change.files.length + change.more - Math.min(listed, change.files.length)
    if (rest > 0) lines.push(`             … and ${rest} more`)
    for (const commit of change.commits) lines.push(`             commit ${commit.slice(0, 12)}`)
  }
  for (const result of gates?.results ?? []) {
    const before = baseline?.find(one => one.command === result.command) ?? null
    lines.push(
      `  gate     ${result.exit === 0 ? style.green('✓') : style.yellow('!')} ${gateLine(result, before)}`,
    )
  }
  for (const note of gates?.notes ?? []) lines.push(`  note     ${note}`)
  if (gates)
    lines.push(`  seen     ${timestamp(gates.at)}${gates.tree ? `, on tree ${gates.tree.slice(0, 12)}` : ''}`)
  if (review) {
    const how =
      review.verdict === 'pass'
        ? `passed${review.agent ? ` by ${review.agent}` : ''}`
        : 'passed over with open findings'
    lines.push(`  review   ${how} (${timestamp(review.at)})${review.note ? `: ${oneLine(review.note)}` : ''}`)
  }
  if (head) lines.push(`  commit   ${head.slice(0, 12)} holds the finished work`)
  return lines
}

function gateLine(result: CommandResult, before: CommandResult | null): string {
  const { command, exit, ms, tests, own } = result
  const counted = tests
    ? `, ${plural(tests.passed, 'test')} passed${tests.skipped > 0 ? `, ${tests.skipped} skipped` : ''}`
    : ''
  const was = !before
    ? ''
    : before.exit !== 0
      ? '; red before the task'
      : before.tests && tests && before.tests.passed !== tests.passed
        ? `; ${before.tests.passed} passed before the task`
        : '; green before the task too'
  return `${command}${own ? ' (the task’s own)' : ''}: exit code ${exit ?? 'none'} in ${duration(ms)}${counted}${was}`
}

function effort({ failures, spent, proof }: TaskEvidence): string[] {
  if (spent.calls === 0 && failures.length === 0) return []
  const parts = [
    plural(failures.length + (proof ? 1 : 0), 'attempt'),
    plural(spent.calls, 'agent call'),
    duration(spent.ms),
    spent.costUsd > 0 ? `$${spent.costUsd.toFixed(2)}` : '',
    spent.unknownCosts > 0 ? `cost of ${plural(spent.unknownCosts, 'call')} unknown` : '',
  ]
  return [`  effort   ${parts.filter(Boolean).join(', ')}`]
}
