import type { TaskEvent } from '../../core/event.ts'
import type { TaskState } from '../../core/state.ts'
import type { JournalView, Move, Project } from '../layout.ts'
import { type Choice, chosen, sameRange, scopeOf } from './choice.ts'
import { isStep, type StoredFacts, stepStage } from './plan-file.ts'
import { isDone, type Position, positionOf } from './position.ts'
import { idOf, saysDone, specOf, taskNumber } from './task-file.ts'

/**
 * Where the file puts tasks that the journal has elsewhere: a person, or the seed's own loop, has edited it since it was
 * written (S0-06). A claim that a task is done is a wish to have that verified, as any claim.
 */
export function movesIn(project: Project, journal: JournalView): Move[] {
  const choice = chosen(project)
  const { stored } = choice
  const own = journal.tasks.filter(
    state => specOf(state.task.id) === choice.spec && state.status !== 'removed',
  )
  if (choice.begins) return back(own, scopeOf(choice), journal)
  if (stored.kind !== 'ok' || !isStep(stored.plan.step)) return []
  const source = stored.path
  // The file is behind the journal, not ahead of it.
  if (journal.events.some(({ task, event }) => specOf(task) === choice.spec && places(event))) return []
  const moves = [
    ...positionMoves(stored.plan, here(choice, journal), own).map(move => ({ ...move, source })),
    ...doneMoves(choice, stored.plan, own),
  ]
  return [...new Map(moves.map(move => [move.id, move])).values()]
}

/** Events that change where a task stands. */
function places({ type }: TaskEvent): boolean {
  return [
    'step.finished',
    'task.recorded',
    'task.moved',
    'task.reopened',
    'task.cancelled',
    'task.continued',
  ].includes(type)
}

function here({ spec, files, range, stored }: Choice, { tasks, rules }: JournalView): Position {
  const old =
    stored.kind === 'ok' && stored.plan.range && sameRange(stored.plan.range, range) ? stored.plan : null
  const scope = scopeOf({ files, range })
  return positionOf({ tasks, rules, scope, own: id => specOf(id) === spec, end: null, before: old })
}

function positionMoves(plan: StoredFacts, now: Position, own: TaskState[]): Omit<Move, 'source'>[] {
  const stage = stepStage(plan.step)
  const wanted = plan.current === null ? undefined : byLabel(own, plan.current)
  const { current } = now
  if (stage === null) {
    const isBack = plan.step === 'choose_task' || plan.step === 'init'
    return isBack && current ? [{ id: current.task.id, stage: 'choose_task' }] : []
  }
  if (!wanted || (current === wanted && now.step === plan.step)) return []
  const replaced = current && current !== wanted && now.step !== 'failed' ? [current] : []
  return [
    ...replaced.map(state => ({ id: state.task.id, stage: 'choose_task', away: true as const })),
    { id: wanted.task.id, stage },
  ]
}

/** Said to be done, by the plan or the front matter, and not known to be: the gates and a review have the last word. */
function doneMoves(choice: Choice, plan: StoredFacts, own: TaskState[]): Move[] {
  const scope = scopeOf(choice)
  const listed = new Set(plan.done.map(taskNumber))
  return choice.files.flatMap(file => {
    const state = own.find(one => one.task.id === idOf(file))
    if (!state || !scope.has(state.task.id) || isDone(state) || state.stage === 'update_done') return []
    if (listed.has(file.number)) return [{ id: state.task.id, stage: 'update_done', source: 'fix_plan.json' }]
    return saysDone(file) ? [{ id: state.task.id, stage: 'update_done', source: file.path }] : []
  })
}

/** A new plan begins with a choice: what is under way goes back to it, or out of the way when it is not in the new range. */
function back(own: TaskState[], scope: ReadonlySet<string>, { rules, events }: JournalView): Move[] {
  const { start } = rules.workflow
  const fresh = new Set(events.flatMap(({ task, event }) => (event.type === 'task.added' ? [task] : [])))
  return own
    .filter(({ task, status, stage, next }) => {
      const isUnderWay = stage !== null && stage !== start && next?.type !== 'settle'
      return status === 'open' && isUnderWay && !fresh.has(task.id)
    })
    .map(({ task: { id } }) => {
      const move = { id, stage: start, source: 'a new plan' }
      return scope.has(id) ? move : { ...move, away: true as const }
    })
}

function byLabel(own: TaskState[], label: string): TaskState | undefined {
  const number = taskNumber(label)
  return own.find(state => taskNumber(state.task.id.split('/').pop() ?? '') === number)
}
