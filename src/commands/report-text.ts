import type { RunState } from '../core/run.ts'
import type { AgentSummary, ReviewSummary, Summary, TaskSummary } from '../core/summary.ts'
import { duration, oneLine, plural, pluralOf } from '../core/text.ts'

/** A summary as Markdown that reads well in a terminal, too. */
export function reportText(
  summary: Summary,
  about: { preset: string; noun: string; run: Pick<RunState, 'startedAt' | 'message' | 'end'> },
): string {
  const { noun, preset, run } = about
  const attention = summary.tasks.filter(task =>
    ['halted', 'failed', 'held', 'cancelled'].includes(task.status),
  )
  const sections = [
    `# Ralph report\n\nPreset ${preset} · last run ${new Date(run.startedAt).toISOString()}${run.message ? ` · ${run.message}` : ''}`,
    `## ${summary.done} of ${plural(summary.total, noun, pluralOf(noun))} done\n\n${taskTable(summary.tasks)}`,
    attention.length > 0 ? `## Needs a person\n\n${attention.map(attentionText).join('\n\n')}` : '',
    summary.agents.length > 0 ? `## Who did what\n\n${agentTable(summary.agents)}\n\n${totals(summary)}` : '',
    summary.reviews ? `## Reviews\n\n${reviewText(summary.reviews, noun)}` : '',
  ]
  return `${sections.filter(Boolean).join('\n\n')}\n`
}

function taskTable(tasks: TaskSummary[]): string {
  const rows = tasks.map(task => [
    task.id,
    oneLine(task.title, 60),
    task.status,
    task.autoApproved === null ? (task.proof ?? '') : `${task.proof ?? ''}, approved at the cap`,
    String(task.attempts),
    String(task.reviews),
    money(task.costUsd, task.unknownCosts),
    duration(task.ms),
  ])
  return table(['', 'Title', 'Status', 'Proof', 'Attempts', 'Reviews', 'Cost', 'Time'], rows)
}

function agentTable(agents: AgentSummary[]): string {
  const rows = agents.map(row => [
    row.agent,
    row.model ?? '',
    row.stage,
    row.refunded > 0 ? `${row.calls} (${row.refunded} not counted)` : String(row.calls),
    money(row.costUsd, row.unknownCosts),
    row.tokens > 0 ? String(row.tokens) : '',
    duration(row.ms),
  ])
  return table(['Agent', 'Model', 'Stage', 'Calls', 'Cost', 'Tokens', 'Time'], rows)
}

function totals({ costUsd, unknownCosts, tokens, ms }: Summary): string {
  return `In all: ${money(costUsd, unknownCosts)}, ${tokens} tokens, ${duration(ms)} of agents at work.`
}

function attentionText(task: TaskSummary): string {
  const lines = [
    `### ${task.id}: ${oneLine(task.title)}`,
    '',
    `- ${task.status}: ${oneLine(task.note, 400)}`,
    `- Attempts: ${task.attempts}`,
    ...(task.lastStage ? [`- Last stage: ${task.lastStage}`] : []),
    ...(task.branch ? [`- The failed work: ${task.branch}`] : []),
    `- Look: ralph explain ${task.id} · begin anew: ralph retry ${task.id}`,
  ]
  return lines.join('\n')
}

function reviewText({ distribution, atCap, advice }: ReviewSummary, noun: string): string {
  const rows = distribution.map(row => [String(row.reviews), String(row.tasks)])
  const counts = rows.length > 0 ? `${table(['Reviews', pluralOf(noun)], rows)}\n\n` : ''
  const cap = atCap.length > 0 ? `Approved at the cap: ${atCap.join(', ')}.\n\n` : ''
  return `${counts}${cap}${advice}`
}

/** Unknown is not 0. */
function money(usd: number, unknown: number): string {
  if (usd === 0 && unknown > 0) return 'unknown'
  return `$${usd.toFixed(2)}${unknown > 0 ? ` + ${unknown} unknown` : ''}`
}

function table(head: string[], rows: string[][]): string {
  const all = [head, ...rows].map(row => row.map(cell => cell.replaceAll('|', '\\|')))
  const widths = head.map((_, column) => Math.max(3, ...all.map(row => [...(row[column] ?? '')].length)))
  const line = (row: string[]) =>
    `| ${row.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - [...cell].length)).join(' | ')} |`
  const rule = `| ${widths.map(width => '-'.repeat(width)).join(' | ')} |`
  return [line(all[0] ?? []), rule, ...all.slice(1).map(line)].join('\n')
}
