import { join } from 'node:path'
import { isRecord } from '../../core/backlog-document.ts'
import type { TaskState } from '../../core/state.ts'
import { type Rules, stageOf } from '../../core/workflow.ts'
import { writeFileAtomic } from '../../store/atomic-file.ts'
import type { JournalView } from '../layout.ts'
import { readTask, type TaskFile, taskText } from './task-file.ts'

/**
 * Brings `status` and `metadata` of the task files in line with the journal. A file that cannot be read, and a task that
 * nobody has worked on, stay as they are; so does every other key.
 */
export async function writeTaskFiles(
  root: string,
  { tasks, events, rules }: Pick<JournalView, 'tasks' | 'events' | 'rules'>,
): Promise<void> {
  // With thousands of tasks only what has just changed is looked at; all of them at the start and at the end.
  const changed = events.length > 0 ? new Set(events.map(one => one.task)) : null
  for (const state of tasks) {
    if (state.status === 'removed' || (changed && !changed.has(state.task.id))) continue
    const read = readTask(root, state.task.id)
    if (read.type === 'broken') continue
    const value = updated(read.value, read.task, state, rules)
    if (JSON.stringify(value) !== JSON.stringify(read.value))
      await writeFileAtomic(join(root, read.task.path), taskText(value, read.text))
  }
}

function updated(
  before: Record<string, unknown>,
  file: TaskFile,
  state: TaskState,
  rules: Rules,
): Record<string, unknown> {
  const status = statusOf(state)
  const untouched = state.startedAt === 0
  // A task that was only waiting keeps the words its owner chose for that.
  if (untouched && (status === 'todo' ? file.status !== 'cancelled' : file.status === status)) return before
  const value = { ...before, status }
  if (untouched) return value
  return { ...value, metadata: metadataOf(isRecord(before.metadata) ? before.metadata : {}, state, rules) }
}

/** The seed fixes `todo`; the other words are ours. */
function statusOf({ status, step, base, loop }: TaskState): string {
  switch (status) {
    case 'open':
      return step !== null || base !== null || loop !== undefined ? 'in_progress' : 'todo'
    case 'held':
      return 'todo'
    case 'halted':
      return 'failed'
    default:
      return status
  }
}

function metadataOf(
  { ralph: _, ralph_failure: __, ...others }: Record<string, unknown>,
  state: TaskState,
  rules: Rules,
): Record<string, unknown> {
  const loop = loopOf(state, rules)
  const failure = failureOf(state)
  return {
    ...others,
    ...(loop ? { ralph: loop } : {}),
    ...(failure ? { ralph_failure: failure } : {}),
  }
}

/** S2-36. */
function loopOf(state: TaskState, rules: Rules): Record<string, unknown> | null {
  const { loop, status, visits } = state
  const stage = loop ? stageOf(rules.workflow, loop.stage) : undefined
  if (!loop || stage?.kind !== 'agent' || (status !== 'open' && status !== 'held')) return null
  return {
    stage: loop.stage,
    iteration: visits[loop.stage] ?? 1,
    max_iterations: stage.limit ?? 1,
    started_at: moment(loop.startedAt),
    completion_promise: stage.signal.from === 'promise' ? stage.signal.text : null,
  }
}

/** S2-46: how the last pass ended; gone once the task is done. */
function failureOf({ exhausted }: TaskState): Record<string, unknown> | null {
  if (!exhausted) return null
  const { stage, used, limited, output, reason } = exhausted
  return {
    stage,
    iterations_used: used,
    last_output: output,
    reason: limited ? 'Max iterations reached without completion promise' : reason,
  }
}

/** `2024-01-15T10:30:00Z` */
export function moment(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`
}
