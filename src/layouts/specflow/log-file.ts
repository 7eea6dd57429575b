import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TaskEvent } from '../../core/event.ts'
import { type AgentOutcome, isExcused } from '../../core/outcome.ts'
import type { TaskState } from '../../core/state.ts'
import { type AgentStage, type Rules, stageOf } from '../../core/workflow.ts'
import { writeFileAtomic } from '../../store/atomic-file.ts'
import type { JournalView } from '../layout.ts'
import { moment } from './task-state.ts'

export const logsFolder = '.specflow/logs'

/** One line per iteration (S2-37, S2-38, S2-51, S2-53): the seed's fields first, then what else an audit needs. */
export type LogRecord = {
  task_id: string
  stage: string
  ralph_iteration: number
  ralph_max: number
  promise_found: boolean
  continuing: boolean
  duration_ms: number
  /** null = the agent does not say. */
  cost_usd: number | null
  timed_out: boolean
  success: boolean
  issues: string[]
  verification: { valid: boolean; reason: string; matched?: string } | null
  /** Every promise that was made, believed or not. */
  promises: { text: string; accepted: boolean; reason: string }[]
  /** Where the agent's final message is kept. */
  output: string
  step: string
  at: string
}

/** Whole lines that are there already stay; each step is written once, whatever was written before a crash. */
export async function writeLogs(root: string, { events, rules }: JournalView): Promise<void> {
  const fresh = new Map<string, LogRecord[]>()
  for (const { task, event, after } of events) {
    const record = logRecord(event, after, rules)
    if (record) fresh.set(task, [...(fresh.get(task) ?? []), record])
  }
  for (const [task, records] of fresh) {
    const path = join(root, logsFolder, `${task}.jsonl`)
    const lines = wholeLines(path)
    const known = new Set(lines.flatMap(line => stepOf(line) ?? []))
    const added = records.filter(record => !known.has(record.step))
    if (added.length === 0) continue
    mkdirSync(join(root, logsFolder), { recursive: true })
    const text = [...lines, ...added.map(record => JSON.stringify(record))].join('\n')
    await writeFileAtomic(path, `${text}\n`)
  }
}

function logRecord(event: TaskEvent, after: TaskState, rules: Rules): LogRecord | null {
  if (event.type !== 'step.finished' || event.outcome.kind !== 'agent') return null
  const stage = stageOf(rules.workflow, event.stage)
  if (stage?.kind !== 'agent') return null
  const { outcome } = event
  const failure = after.recent.findLast(one => one.at === event.at && one.stage === event.stage)
  const refunded = !failure && outcome.fault !== null && isExcused(outcome.fault)
  const success = !failure && !refunded
  const over = after.exhausted?.at === event.at ? after.exhausted : null
  const looping = stage.signal.from === 'promise'
  const reason = failure?.reason ?? (refunded ? (outcome.fault?.message ?? '') : '')
  const exceeded = over?.limited ? [`Ralph loop exceeded ${over.used} iterations`] : []
  return {
    task_id: after.task.id,
    stage: event.stage,
    ralph_iteration: outcome.iteration ?? after.visits[event.stage] ?? 1,
    ralph_max: looping ? (stage.limit ?? 1) : 1,
    promise_found: isFound(stage, outcome),
    continuing: !success && !over && after.stage === event.stage && isLive(after),
    duration_ms: Math.round(outcome.ms),
    cost_usd: outcome.usage.costUsd,
    timed_out: outcome.ended === 'timeout' || outcome.ended === 'idle',
    success,
    issues: [...(reason ? [reason] : []), ...exceeded],
    verification: looping && !refunded ? verificationOf(stage, outcome, failure?.reason ?? null) : null,
    promises: attempts(stage, outcome, failure?.reason ?? null),
    output: `.ralph/runs/${event.step}/message.md`,
    step: event.step,
    at: moment(event.at),
  }
}

function isLive({ status }: TaskState): boolean {
  return status === 'open' || status === 'held'
}

function isFound({ signal }: AgentStage, { signals }: AgentOutcome): boolean {
  return signal.from === 'promise' && signals.some(one => one.type === 'promise' && one.text === signal.text)
}

/** `reason` is exactly the seed's; the words that were taken for a contradiction stand beside it (H-19). */
function verificationOf(
  stage: AgentStage,
  outcome: AgentOutcome,
  failure: string | null,
): NonNullable<LogRecord['verification']> {
  if (failure === null) return { valid: true, reason: 'Promise verified' }
  const doubt = outcome.signals.find(signal => signal.type === 'doubt')
  if (isFound(stage, outcome) && doubt?.type === 'doubt' && failure.startsWith(doubt.reason))
    return { valid: false, reason: doubt.reason, ...(doubt.text ? { matched: doubt.text } : {}) }
  return { valid: false, reason: failure }
}

const tag = /<promise>([^<]{0,200})<\/promise>/gu

function attempts(stage: AgentStage, outcome: AgentOutcome, failure: string | null): LogRecord['promises'] {
  const wanted = stage.signal.from === 'promise' ? stage.signal.text : null
  const spoken = outcome.signals.flatMap(signal => (signal.type === 'promise' ? [signal.text] : []))
  // Those inside a sentence or a code block are no signals, but somebody tried.
  const written = [...outcome.message.matchAll(tag)].map(match => match[1] ?? '')
  return [...new Set([...spoken, ...written])].slice(0, 20).map(text => {
    const heard = text === wanted && spoken.includes(text)
    if (!heard) return { text, accepted: false, reason: 'Promise not found or malformed' }
    const { valid, reason } = verificationOf(stage, outcome, failure)
    return { text, accepted: valid, reason }
  })
}

/** What a crash of the machine has torn is not a line. */
function wholeLines(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(0, -1)
  } catch {
    return []
  }
}

function stepOf(line: string): string | null {
  try {
    const value = JSON.parse(line) as { step?: unknown } | null
    return typeof value?.step === 'string' ? value.step : null
  } catch {
    return null
  }
}
