import type { TaskState } from '../../core/state.ts'
import { labelOf } from '../../core/task.ts'
import type { JournalView, Project } from '../layout.ts'
import { recordedTasks, specBacklog } from './backlog.ts'
import { completeBlock, failedBlock, scriptBanner, scriptHead } from './blocks.ts'
import { type Choice, chosen, scopeOf } from './choice.ts'
import { deviationsIn } from './decision-log.ts'
import type { StoredFacts } from './plan-file.ts'
import { hasReady, isDone } from './position.ts'
import { idOf, specFolder } from './task-file.ts'

/**
 * `complete` and `failed` are where the loop ends: they are told and nothing is changed (S0-27). Only a person's word
 * leads on: a new range, `--resume`, `--force`, an edit of the file.
 */
export function standingAt(project: Project, journal: JournalView): { text: string; exit: 0 | 1 } | null {
  const choice = chosen(project)
  if (choice.begins || choice.stored.kind !== 'ok') return null
  const { plan } = choice.stored
  if (plan.step === 'complete') return complete(project, choice, plan, journal)
  if (plan.step !== 'failed') return null
  return failed(project, choice, plan, journal)
}

function complete(
  project: Project,
  choice: Choice,
  plan: StoredFacts,
  journal: JournalView,
): { text: string; exit: 0 | 1 } | null {
  const { root, settings } = project
  const left = notDone(project, choice, journal)
  // A task was added to the range since, and a person asks to go on.
  if (left.length > 0 && settings.action === 'start') return null
  const scope = scopeOf(choice)
  const calls = inScope(journal, scope).reduce((sum, state) => sum + state.spent.calls, 0)
  const { from, to } = choice.range
  const text =
    settings.style === 'script'
      ? scriptText(plan, 'COMPLETE')
      : completeBlock({
          ...{ from, to, total: scope.size, done: scope.size - left.length, calls },
          deviations: deviationsIn(root, choice.spec).length,
          learnings: plan.learnings.length,
        })
  if (left.length === 0) return { text, exit: 0 }
  return { text: `${text}\n→ Not done, whatever the file says: ${left.join(', ')}`, exit: 1 }
}

/** By the journal; by the files only where it knows nothing of a task. */
function notDone({ root }: Project, choice: Choice, journal: JournalView): string[] {
  const known = new Map(journal.tasks.map(state => [state.task.id, state]))
  const recorded = new Set(
    recordedTasks(root, false).flatMap(one => (one.stage === undefined ? [one.id] : [])),
  )
  const scope = scopeOf(choice)
  return choice.files
    .filter(file => {
      const id = idOf(file)
      const state = known.get(id)
      return scope.has(id) && !(state ? isDone(state) : recorded.has(id))
    })
    .map(file => file.label)
}

function failed(
  project: Project,
  choice: Choice,
  plan: StoredFacts,
  journal: JournalView,
): { text: string; exit: 1 } | null {
  if (project.settings.resume === true) return null
  const tasks = inScope(journal, scopeOf(choice))
  const given = tasks.filter(state => state.status === 'halted' || state.status === 'failed')
  // What was in the way is gone.
  const left = tasks.filter(state => !isDone(state))
  if (given.length === 0 && left.length > 0 && hasReady(journal.tasks, asWritten(project, left))) return null
  const error = plan.error ?? 'unknown'
  if (project.settings.style === 'script') return { text: scriptText(plan, 'FAILED'), exit: 1 }
  const task = given.length === 0 ? (blockedIn(left) ?? plan.current) : plan.current
  return { text: failedBlock({ task: task ?? 'none', error, command: resumeCommand(choice.spec) }), exit: 1 }
}

/** With the dependencies that the files have now; the journal reads them when a run begins. */
function asWritten({ root }: Project, left: TaskState[]): TaskState[] {
  const tasks = new Map(specBacklog(root).tasks.map(task => [task.id, task]))
  return left.map(state => ({ ...state, task: tasks.get(state.task.id) ?? state.task }))
}

function blockedIn(left: TaskState[]): string | null {
  return left.length === 0 ? null : left.map(state => labelOf(state.task)).join(', ')
}

export function resumeCommand(spec: string): string {
  return `ralph run --preset stepwise --action=loop --resume --spec=${specFolder(spec)}`
}

function scriptText(plan: StoredFacts, end: 'COMPLETE' | 'FAILED'): string {
  const head = scriptHead({ task: plan.current, iteration: plan.iteration }, plan.step)
  return `${head}\n${scriptBanner(end, plan.error)}\n`
}

function inScope({ tasks }: JournalView, scope: ReadonlySet<string>): TaskState[] {
  return tasks.filter(state => scope.has(state.task.id) && state.status !== 'removed')
}
