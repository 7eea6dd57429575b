import type { AgentOutcome, CommandResult, Outcome } from '../core/outcome.ts'
import { cut, duration, plural } from '../core/text.ts'
import type { Rules } from '../core/transition.ts'
import { timestamp } from '../reporters/log-file.ts'
import type { Style } from '../reporters/style.ts'
import { type StepRecord, stepVerdict } from './find-step.ts'
import { attemptCount, stageWords } from './stage-words.ts'

/** What `ralph show --json` prints. Moments are milliseconds since the epoch. */
export type StepData = {
  step: string
  task: string
  title: string
  stage: string
  attempt: number
  attempts: number
  startedAt: number
  endedAt: number | null
  verdict: ReturnType<typeof stepVerdict>['verdict']
  reason: string
  outcome: Outcome | null
  /** The whole final message of an agent; null for a step without one. */
  message: string | null
  /** Files of the step that exist, by what they hold. */
  files: Record<string, string>
}

export function stepData(
  record: StepRecord,
  more: { rules: Rules | null; message: string | null; files: Record<string, string> },
): StepData {
  const { n, of } = attemptCount(record.before, more.rules)
  return {
    step: record.step,
    task: record.task,
    title: record.before.task.title,
    stage: record.stage,
    attempt: n,
    attempts: of,
    startedAt: record.startedAt,
    endedAt: record.endedAt,
    ...stepVerdict(record),
    outcome: record.outcome,
    message: more.message,
    files: more.files,
  }
}

/** Lines of a section that fit on a screen. */
const shown = 40

/** `ralph show` as text. */
export function stepText(data: StepData, style: Style, now: number): string {
  const { outcome } = data
  const parts = [header(data, style, now)]
  if (data.message !== null && data.message.trim() !== '') {
    parts.push(section('Message', cut(data.message.trim(), shown), data.files.message, style))
  }
  if (outcome?.kind === 'agent') parts.push(...changes(outcome, style))
  if (outcome?.kind === 'commands') parts.push(outcome.results.map(result => gate(result, style)).join('\n'))
  const whole = Object.entries(data.files).map(([name, path]) => `  ${name.padEnd(8)} ${path}`)
  if (whole.length > 0) parts.push([style.bold('Whole files'), ...whole].join('\n'))
  return `${parts.filter(Boolean).join('\n\n')}\n`
}

const marks = { accepted: '✓', rejected: '✗', refunded: '…', interrupted: '…', running: '▶', seen: '·' }

function header(data: StepData, style: Style, now: number): string {
  const { outcome } = data
  const verdict = `${marks[data.verdict]} ${data.verdict}${data.reason ? `: ${data.reason}` : ''}`
  const tint =
    { accepted: style.green, rejected: style.red, running: style.cyan }[data.verdict as string] ??
    style.yellow
  const took =
    data.endedAt === null
      ? `for ${duration(now - data.startedAt)} so far`
      : `took ${duration(data.endedAt - data.startedAt)}`
  const rows: [string, string][] = [
    ['task', `${data.task} ${data.title}`],
    ['stage', stageWords(data.stage)],
    ['attempt', `${data.attempt}/${data.attempts}`],
    ...(outcome?.kind === 'agent' ? agentRows(outcome) : []),
    ['began', `${timestamp(data.startedAt)}, ${took}`],
    ['verdict', tint(verdict)],
  ]
  return [
    style.bold(`Step ${data.step}`),
    ...rows.map(([name, value]) => `  ${style.dim(name.padEnd(8))} ${value}`),
  ].join('\n')
}

function agentRows(outcome: AgentOutcome): [string, string][] {
  const { costUsd, inputTokens, outputTokens } = outcome.usage
  const tokens =
    inputTokens === null && outputTokens === null
      ? ''
      : `, ${(inputTokens ?? 0) + (outputTokens ?? 0)} tokens`
  const ends = {
    exit: 'by itself',
    timeout: 'its time was up',
    idle: 'it was silent for too long',
    stopped: 'it was stopped',
  }
  return [
    ['agent', `${outcome.agent}${outcome.model ? ` (${outcome.model})` : ''}`],
    [
      'ended',
      `${outcome.killed ? `killed by ${outcome.killed}` : `exit code ${outcome.exit ?? 'none'}`}, ${ends[outcome.ended]}`,
    ],
    ['cost', `${costUsd === null ? 'unknown' : `$${costUsd.toFixed(4)}`}${tokens}`],
    ...(outcome.fault
      ? ([['fault', `${outcome.fault.kind}: ${outcome.fault.message}`]] as [string, string][])
      : []),
  ]
}

function changes({ change, violations }: AgentOutcome, style: Style): string[] {
  const sign = { added: style.green('A'), modified: style.yellow('M'), deleted: style.red('D') }
  const rows = change.files.slice(0, shown).map(file => `  ${sign[file.how]} ${file.path}`)
  const rest = change.files.length + change.more - rows.length
  if (rest > 0) rows.push(`  … and ${plural(rest, 'more file', 'more files')}`)
  for (const commit of change.commits.slice(-10)) rows.push(`  commit ${commit.slice(0, 12)}`)
  const broken = violations.map(violation => `  ${style.red('✗')} ${violation.detail}`)
  return [
    [style.bold(rows.length > 0 ? 'Changed' : 'Nothing changed'), ...rows].join('\n'),
    ...(broken.length > 0 ? [[style.bold('Rules broken'), ...broken].join('\n')] : []),
  ]
}

function gate(result: CommandResult, style: Style): string {
  const { command, exit, ended, ms, tests, tail } = result
  const green = exit === 0 && ended === 'exit'
  const how = green
    ? style.green('green')
    : style.red(ended === 'exit' ? `red, exit code ${exit ?? 'none (killed)'}` : `red, ${ended}`)
  const counted = tests ? `, ${tests.passed} passed, ${tests.failed} failed, ${tests.skipped} skipped` : ''
  const own = result.own ? ' (the task’s own)' : ''
  const title = `${style.bold(`$ ${command}`)}${own}: ${how}, ${duration(ms)}${counted}`
  return tail.trim() === '' ? title : `${title}\n${indent(cut(tail.trimEnd(), green ? 8 : shown))}`
}

function section(title: string, text: string, path: string | undefined, style: Style): string {
  return `${style.bold(title)}${path && text.includes('lines truncated ...]') ? style.dim(` (cut; all of it: ${path})`) : ''}\n${indent(text)}`
}

function indent(text: string): string {
  return text
    .split('\n')
    .map(line => `  ${line}`)
    .join('\n')
}
