import { join } from 'node:path'
import { isRecord } from '../../core/backlog-document.ts'
import { readJsonFile } from '../json-file.ts'
import type { Problem } from '../layout.ts'
import { specFolder, taskNumber } from './task-file.ts'

/** The ten values of `state.step` (S0-12). */
export const steps = [
  'init',
  'choose_task',
  'implementation',
  'review',
  'fix',
  'cleanup',
  'sync',
  'update_done',
  'complete',
  'failed',
] as const
export type Step = (typeof steps)[number]

export type Range = { from: string; to: string; from_num: number; to_num: number }

/** `fix_plan.json` in the seed's key order (S0-08 to S0-19). */
export type FixPlan = {
  spec_id: string
  spec_folder: string
  task_range: Range & { total_in_range: number }
  state: {
    step: Step
    current_task: string | null
    current_task_file: string | null
    current_task_lang: string | null
    iteration: number
    retry_count: number
    last_updated: string
    error: string | null
    range_progress: { done_in_range: number; total_in_range: number }
  }
  tasks: PlanTask[]
  done: string[]
  pending: string[]
  optional: string[]
  superseded: string[]
  learnings: unknown[]
  /** Headings of `decision-log.md`; only there when it has any (S0-67). */
  deviations?: string[]
}

export type PlanTask = {
  id: string
  title: string
  status: string
  lang: string | null
  dependencies: string[]
  complexity: number | null
  file: string
  dependencies_satisfied: boolean
}

/** What is taken from a file that a person or another program may have written. */
export type StoredFacts = {
  step: string
  current: string | null
  iteration: number
  retries: number
  updated: string
  error: string | null
  range: Range | null
  done: string[]
  learnings: unknown[]
}

export type StoredPlan =
  | { kind: 'absent' }
  | { kind: 'ok'; path: string; text: string; plan: StoredFacts; value: Record<string, unknown> }
  | { kind: 'corrupt'; path: string; line: number | null; message: string }

export function planPath(spec: string): string {
  return `${specFolder(spec)}_ralph_loop/fix_plan.json`
}

export function readPlan(root: string, spec: string): StoredPlan {
  const path = planPath(spec)
  const file = readJsonFile(join(root, path))
  if (file.kind === 'absent') return { kind: 'absent' }
  if (file.kind === 'corrupt') return { ...file, path }
  const { text, value } = file
  if (!isRecord(value) || !isRecord(value.state))
    return { kind: 'corrupt', path, line: null, message: "has no object 'state'" }
  return { kind: 'ok', path, text, value, plan: factsOf(value, value.state) }
}

function factsOf(value: Record<string, unknown>, state: Record<string, unknown>): StoredFacts {
  const text = (one: unknown) => (typeof one === 'string' && one !== '' ? one : null)
  const count = (one: unknown, least: number) =>
    typeof one === 'number' && Number.isSafeInteger(one) && one >= least ? one : least
  return {
    step: text(state.step) ?? '',
    current: text(state.current_task),
    iteration: count(state.iteration, 1),
    retries: count(state.retry_count, 0),
    updated: text(state.last_updated) ?? '',
    error: text(state.error),
    range: rangeIn(value.task_range),
    done: Array.isArray(value.done) ? [...new Set(value.done.filter(one => typeof one === 'string'))] : [],
    learnings: Array.isArray(value.learnings) ? value.learnings : [],
  }
}

function rangeIn(value: unknown): Range | null {
  if (!isRecord(value) || typeof value.from !== 'string' || typeof value.to !== 'string') return null
  const from_num = taskNumber(value.from)
  const to_num = taskNumber(value.to)
  return from_num === null || to_num === null ? null : { from: value.from, to: value.to, from_num, to_num }
}

/** What keeps a run from going on with this file; nothing is changed then (S0-12). */
export function planProblem(stored: StoredPlan): Problem | null {
  if (stored.kind === 'absent') return null
  const problem = (line: number | null, message: string, fix: string): Problem => ({
    ...{ severity: 'error', file: stored.path, line, message: `${stored.path} ${message}`, fix },
  })
  if (stored.kind === 'corrupt')
    return problem(
      stored.line,
      stored.message,
      'Repair it, or delete it: it is then made anew from the journal and the front matter of the tasks.',
    )
  if (isStep(stored.plan.step)) return null
  const said = JSON.stringify(stored.value.state && (stored.value.state as { step?: unknown }).step)
  return problem(null, `has the unknown state.step ${said}`, `Set it to one of: ${steps.join(', ')}.`)
}

export function isStep(text: string): text is Step {
  return (steps as readonly string[]).includes(text)
}

/** The stage that a step of a task under way stands for; null for the others. */
export function stepStage(step: string): string | null {
  return ['implementation', 'review', 'fix', 'cleanup', 'sync', 'update_done'].includes(step) ? step : null
}

/** Where a task that failed goes on, by the error's words: the seed has no field for it (C-22). */
export function stageAfterFailure(error: string | null): string | null {
  if (error === null) return null
  if (error.startsWith('review failed')) return 'review'
  if (error.startsWith('implementation failed')) return 'implementation'
  if (error.startsWith('fix failed')) return 'fix'
  return error.startsWith('verification failed') ? 'update_done' : null
}
