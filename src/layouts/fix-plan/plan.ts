import type { AnyEvent, TaskEvent } from '../../core/event.ts'
import type { TaskState } from '../../core/state.ts'
import { labelOf } from '../../core/task.ts'
import type { JournalView } from '../layout.ts'
import { needFinder } from './backlog.ts'
import { inRange, sameRange, scopeOf } from './choice.ts'
import type { FixPlan, PlanTask, Range, StoredFacts, StoredPlan } from './plan-file.ts'
import { isDone, type Position, positionOf, retriesOf } from './position.ts'
import { idOf, saysDone, setAside, specFolder, specOf, type TaskFile, taskNumber } from './task-file.ts'

export type PlanInput = {
  spec: string
  files: TaskFile[]
  range: Range
  stored: StoredPlan
  journal: JournalView
  /** The run under way is about this spec: its end is the end of this loop. */
  isChosen: boolean
  deviations: string[]
}

/**
 * `fix_plan.json` as the journal has it. Pure; the same journal and the same file give the same plan. `last_updated` is
 * empty when no event of this view changes the file.
 */
export function planOf(input: PlanInput): FixPlan {
  const { spec, files, range, stored, journal, deviations } = input
  const old = stored.kind === 'ok' ? stored.plan : null
  const before = old?.range && sameRange(old.range, range) ? old : null
  const own = journal.tasks.filter(state => specOf(state.task.id) === spec)
  const position = planPosition(input, before)
  const done = doneList(own, old)
  const isIn = (file: TaskFile) => inRange(range, file)
  const todo = files.filter(file => isIn(file) && !setAside(file))
  const finished = new Set(done)
  const doneInRange = todo.filter(file => finished.has(file.label))
  const shown = position.current ?? lastTouched(journal, spec)
  const label = shown ? labelOf(shown.task) : (before?.current ?? null)
  const file = label === null ? undefined : files.find(one => one.number === taskNumber(label))
  const progress = { done_in_range: doneInRange.length, total_in_range: todo.length }
  const aside = (word: string) =>
    files.filter(one => isIn(one) && setAside(one) === word).map(one => one.label)
  const isChange = significant(journal, spec)
  return {
    spec_id: spec,
    spec_folder: specFolder(spec),
    task_range: { ...range, total_in_range: todo.length },
    state: {
      step: position.step,
      current_task: label,
      current_task_file: file?.path ?? shown?.task.spec ?? null,
      current_task_lang: file?.lang ?? null,
      iteration: iteration(before, doneInRange, own, journal),
      retry_count: shown ? retriesOf(shown) : (before?.retries ?? 0),
      last_updated: isChange === null ? '' : stamp(isChange),
      error: position.error,
      range_progress: progress,
    },
    tasks: planTasks(files, isIn, finished, journal.tasks),
    done,
    pending: todo.map(one => one.label).filter(one => !finished.has(one)),
    optional: aside('optional'),
    superseded: aside('superseded'),
    learnings: learnings(old?.learnings ?? [], journal, spec),
    ...(deviations.length > 0 ? { deviations } : {}),
  }
}

function planPosition(
  { spec, files, range, journal, isChosen }: PlanInput,
  before: StoredFacts | null,
): Position {
  const { end, run } = journal
  return positionOf({
    tasks: journal.tasks,
    own: id => specOf(id) === spec,
    scope: scopeOf({ files, range }),
    rules: journal.rules,
    end: isChosen && end !== null ? { reason: end, message: run.message } : null,
    before,
  })
}

/** In the order of completion: what the file has comes first, unless the journal knows better. */
function doneList(own: readonly TaskState[], old: StoredFacts | null): string[] {
  const open = new Set(own.filter(state => !isDone(state)).map(state => taskNumber(labelOf(state.task))))
  const kept = (old?.done ?? []).filter(label => !open.has(taskNumber(label)))
  const known = new Set(kept.map(taskNumber))
  const added = own
    .filter(state => isDone(state) && !known.has(taskNumber(labelOf(state.task))))
    .sort((a, b) => endOf(a) - endOf(b))
  return [...kept, ...added.map(state => labelOf(state.task))]
}

/** When the gates proved it; the same before and after the commit. */
function endOf({ evidence }: TaskState): number {
  return evidence.gates?.at ?? 0
}

/** One more for each task of the range that is done now and was not in the file (S0-69). A new plan begins with 1. */
function iteration(
  before: StoredFacts | null,
  done: readonly TaskFile[],
  own: readonly TaskState[],
  { events }: JournalView,
): number {
  if (before) {
    const known = new Set(before.done.map(taskNumber))
    return before.iteration + done.filter(file => !known.has(file.number)).length
  }
  const proven = new Set(own.filter(isDone).map(state => state.task.id))
  const now = new Set(events.flatMap(({ task, event }) => (proves(event) && proven.has(task) ? [task] : [])))
  return 1 + done.filter(file => now.has(idOf(file))).length
}

function proves(event: TaskEvent): boolean {
  return (
    event.type === 'step.finished' && (event.outcome.kind === 'settle' || event.outcome.kind === 'commands')
  )
}

function planTasks(
  files: TaskFile[],
  isIn: (file: TaskFile) => boolean,
  done: Set<string>,
  tasks: readonly TaskState[],
): PlanTask[] {
  const needOf = needFinder(files)
  const known = new Map(tasks.map(state => [state.task.id, isDone(state)]))
  const numbers = new Set([...done].map(taskNumber))
  const isReady = (file: TaskFile, text: string) => {
    const need = needOf(file.spec, text)
    return (
      known.get(need) ??
      (specOf(need) === file.spec && numbers.has(taskNumber(need.slice(file.spec.length + 1))))
    )
  }
  return files.filter(isIn).map(file => ({
    id: file.label,
    title: file.title,
    status: done.has(file.label)
      ? 'completed'
      : saysDone(file) || file.status === ''
        ? 'pending'
        : file.status,
    lang: file.lang,
    dependencies: file.dependencies,
    complexity: file.complexity,
    file: file.path,
    dependencies_satisfied: file.dependencies.every(text => isReady(file, text)),
  }))
}

/** The task of the last step, of which the file tells until another is chosen, as the seed's own does. */
function lastTouched({ events, tasks }: JournalView, spec: string): TaskState | null {
  const last = events.findLast(
    ({ task, event }) =>
      specOf(task) === spec && (event.type === 'step.finished' || event.type === 'task.moved'),
  )
  return last ? (tasks.find(state => state.task.id === last.task) ?? last.after) : null
}

/** When something of the file last changed by an event; null when none of these events changes it. */
function significant({ events }: JournalView, spec: string): number | null {
  return events.findLast(({ task, event }) => specOf(task) === spec && changesPlan(event))?.event.at ?? null
}

function changesPlan(event: AnyEvent): boolean {
  switch (event.type) {
    case 'step.started':
    case 'step.interrupted':
    case 'task.steered':
      return false
    case 'step.finished':
      return event.outcome.kind === 'agent' || event.outcome.kind === 'engine' || isGate(event.outcome)
    default:
      return event.type.startsWith('task.')
  }
}

function isGate(outcome: Extract<TaskEvent, { type: 'step.finished' }>['outcome']): boolean {
  return outcome.kind === 'commands' && outcome.purpose === 'gate'
}

/** S0-19: what agents said they learnt, each once. What a person wrote there stays. */
function learnings(old: unknown[], { events }: JournalView, spec: string): unknown[] {
  const known = new Set(old.map(one => JSON.stringify(one)))
  const fresh = events.flatMap(({ task, event, after }) => {
    if (specOf(task) !== spec || event.type !== 'step.finished' || event.outcome.kind !== 'agent') return []
    const { stage, at } = event
    return event.outcome.signals.flatMap(signal =>
      signal.type === 'learn'
        ? [{ task: labelOf(after.task), step: stage, text: signal.text, at: stamp(at) }]
        : [],
    )
  })
  return [...old, ...fresh.filter(one => !known.has(JSON.stringify(one)))]
}

/** `2026-03-25T10:30:00`, as in the seed's sample; UTC. */
export function stamp(at: number): string {
  return new Date(at).toISOString().slice(0, 19)
}
