import type { AttemptRow, Failure, TaskState } from '../../core/state.ts'
import { cut } from '../../core/text.ts'
import { gateName, sectionTitle } from './gate-names.ts'

/** `.ralph_state.md` for a task that has failed at least once. The same state gives the same bytes. */
export function stateText(state: TaskState, attempts: number): string {
  const { task, history, recent, stuck } = state
  const last = history.at(-1)
  const failure = recent.at(-1)
  const files = failure?.files ?? []
  return [
    '---',
    `task_id: ${scalar(task.id)}`,
    `iteration: ${last?.attempt ?? state.failures}`,
    `max_iterations: ${attempts}`,
    `last_gate: ${scalar(gateName(last?.stage ?? '', 'state'))}`,
    // As `timeout` ends: 124 when the time was up.
    `exit_code: ${failure && outOfTime(failure) ? 124 : 1}`,
    `error_hash: ${last?.fingerprint ?? ''}`,
    `timestamp: ${moment(last?.at ?? 0)}`,
    `stuck_count: ${stuckCount(stuck)}`,
    `strategy_shifts: ${stuck.shifts}`,
    ...(files.length > 0
      ? ['files_modified:', ...files.map(file => `  - ${scalar(file)}`)]
      : ['files_modified: []']),
    '---',
    '',
    ...sections(recent, history),
    '## Attempt History',
    '| # | Gate | Error Hash | Strategy Shift |',
    '|---|------|------------|----------------|',
    ...history.map(
      row => `| ${row.attempt} | ${cell(row.stage)} | ${row.fingerprint} | ${row.shift ? 'yes' : 'no'} |`,
    ),
    '',
  ].join('\n')
}

/** An error that is new counts as none; from the second time on it is the number of equal ones in a row. */
export function stuckCount({ same }: TaskState['stuck']): number {
  return same > 1 ? same : 0
}

/** `2026-01-21T10:30:00Z` */
export function moment(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}

export function outOfTime({ fault, reason }: Pick<Failure, 'fault' | 'reason'>): boolean {
  return fault === 'timeout' || /\bdid not end in time$|^Timeout after /u.test(reason)
}

/** The reviewers' and the tests' own words in the seed's order, then those of the other stages. */
function sections(recent: Failure[], history: AttemptRow[]): string[] {
  const shown = withoutRepeats(recent, history)
  const stages = [...new Set(['spec', 'tests', 'implement', ...shown.map(failure => failure.stage)])]
  return stages.flatMap(stage => {
    const own = shown.filter(failure => failure.stage === stage)
    if (own.length === 0) return []
    const blocks = own.flatMap(failure => [
      ...(own.length > 1 ? [`Attempt ${failure.attempt}:`] : []),
      ...block(failure),
    ])
    return [`## ${sectionTitle(stage)}`, ...blocks, '']
  })
}

/** An error that came back as it was is shown once, as it was the last time. */
function withoutRepeats(recent: Failure[], history: AttemptRow[]): Failure[] {
  const hashOf = ({ at, stage, attempt }: Failure) =>
    history.findLast(row => row.at === at && row.stage === stage && row.attempt === attempt)?.fingerprint ??
    ''
  return recent.filter((failure, index) => {
    const hash = hashOf(failure)
    return (
      hash === '' ||
      !recent.slice(index + 1).some(later => later.stage === failure.stage && hashOf(later) === hash)
    )
  })
}

function block(failure: Failure): string[] {
  const output = outputOf(failure)
  const fence = '`'.repeat(Math.max(3, ...[...output.matchAll(/`{3,}/gu)].map(match => match[0].length + 1)))
  const why = saysWhy(failure, output) ? [] : [failure.reason]
  return output === '' ? [fence, failure.reason, fence] : [...why, fence, output, fence]
}

/** As it came: without the line that names the command, when there was only one. */
function outputOf({ detail }: Failure): string {
  const whole = detail.replace(/\n+$/u, '')
  const commands = whole.match(/(?:^|\n\n)\$ /gu)?.length ?? 0
  const raw = commands === 1 && whole.startsWith('$ ') ? whole.split('\n').slice(1).join('\n') : whole
  // One output was cut where it was read; several together may still be more.
  return raw.split('\n').length > 101 ? cut(raw) : raw
}

/** What Ralph itself has to say stands above the output, unless the output says it. */
function saysWhy({ reason }: Failure, output: string): boolean {
  if (output === '' || output.includes(reason)) return true
  return (
    /^`[^`]+`(?: still)? fails with exit code \d+[^;]*$/u.test(reason) || reason === 'Review found issues'
  )
}

function cell(text: string): string {
  return text.replace(/[|\r\n]/gu, ' ')
}

/** A text as YAML, plain where that is safe. */
function scalar(text: string): string {
  const plain =
    /^[A-Za-z][\w@+./-]*$|^[./_][\w@+./-]+$/u.test(text) &&
    !/^(?:true|false|yes|no|on|off|null|y|n)$/iu.test(text)
  return plain ? text : JSON.stringify(text)
}
