import { join } from 'node:path'
import type { TaskState } from '../../core/state.ts'
import { writeFileAtomic } from '../../store/atomic-file.ts'
import type { Project } from '../layout.ts'
import { type PlanTask, parsePlan } from './plan.ts'
import { planPath, readPlanText } from './plan-file.ts'

const completed = /^(?:completed?|done)$/iu
const ended = /^(?:completed?|done|failed)$/iu

export function isCompleted({ status }: PlanTask): boolean {
  return completed.test(status?.value ?? '')
}

/** The plan is the to-do list: what is done gets `Status: completed` and its boxes ticked, what was given up `Status: failed`. */
export async function writePlanStatus(project: Project, tasks: TaskState[]): Promise<void> {
  const now = readPlanText(project)
  const wanted = now ? withStatus(now.text, tasks) : ''
  if (now && wanted !== now.text)
    await writeFileAtomic(join(project.root, planPath(project)), Buffer.from(wanted, now.encoding))
}

export function withStatus(text: string, tasks: TaskState[]): string {
  const states = new Map(tasks.map(state => [state.task.id, state]))
  const plan = parsePlan(text)
  const lines = text.split('\n')
  // From the end: what is added further down does not move what comes before it.
  for (const task of plan.tasks.toReversed()) {
    const state = states.get(task.id)
    const wanted = state ? statusOf(state, task) : null
    if (wanted === null) continue
    if (wanted === 'completed') tick(lines, task, 'x')
    else if (isCompleted(task)) tick(lines, task, ' ')
    setStatus(lines, task, wanted)
  }
  return lines.join('\n')
}

/** Null: the plan says it already, or has nothing to say. */
function statusOf({ status, evidence }: TaskState, task: PlanTask): string | null {
  const now = task.status?.value ?? ''
  if (status === 'done') return completed.test(now) || evidence.recorded !== undefined ? null : 'completed'
  if (status === 'failed' || status === 'halted') return /^failed$/iu.test(now) ? null : 'failed'
  return ended.test(now) && status !== 'removed' ? 'pending' : null
}

function tick(lines: string[], task: PlanTask, mark: 'x' | ' '): void {
  for (const { line } of task.criteria)
    lines[line] = (lines[line] ?? '').replace(/^([ \t]*(?:[-*+]|\d+[.)])[ \t]+\[)[ xX](\])/u, `$1${mark}$2`)
}

function setStatus(lines: string[], task: PlanTask, value: string): void {
  const heading = lines[task.line] ?? ''
  const eol = heading.endsWith('\r') ? '\r' : ''
  if (task.status) {
    const { line } = task.status
    lines[line] = (lines[line] ?? '').replace(/(Status(?:\*\*)?:(?:\*\*)?)[^\r]*/iu, `$1 ${value}`)
    return
  }
  // One blank line above it, and one below unless the file ends there.
  let at = task.line + 1
  if (lines[at]?.trim() === '') at += 1
  else lines.splice(at++, 0, eol)
  lines.splice(at, 0, `Status: ${value}${eol}`)
  if (lines[at + 1] === undefined || lines[at + 1]?.trim() !== '')
    lines.splice(at + 1, 0, lines[at + 1] === undefined ? '' : eol)
}
