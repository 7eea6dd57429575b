import { checkBudget, taskWarnings } from '../core/budget.ts'
import { isStage } from '../core/effect.ts'
import type { RunEnd } from '../core/event.ts'
import { withJitter } from '../core/fallback.ts'
import type { TaskState } from '../core/state.ts'
import { labelOf } from '../core/task.ts'
import { ago, plural } from '../core/text.ts'
import { chooseTask, type Scope } from './choose-task.ts'
import { consensusTurn } from './consensus.ts'
import type { Context } from './context.ts'
import { handleRequests } from './control.ts'
import { orLeaseLost } from './lease.ts'
import { perform } from './perform.ts'
import { plainError } from './plain-error.ts'
import { projectFiles } from './project-files.ts'
import { leaveEnded } from './task-folder.ts'
import { forgetOldSnapshots } from './tidy.ts'
import type { RunResult, Turn } from './turn.ts'

export type { RunResult, Turn } from './turn.ts'

/** Steps between two tidyings. */
const tidyEvery = 50

/** How long to sleep at most before looking at requests again. */
const lookAgain = 1_000

/** The loop: one step after the other until everything in scope is done, or there is a reason to stop. */
export async function runLoop(
  context: Context,
  scope: Scope,
  options: { interval: number },
): Promise<RunResult> {
  const warned = new Set<string>()
  for (;;) {
    const turn = await oneStep(context, scope, warned)
    if (turn.type === 'end') {
      await leaveEnded(context)
      await forgetOldSnapshots(context)
      return turn.result
    }
    if (turn.type === 'wait') {
      const until = withJitter(turn.until, context.clock.now(), Math.random())
      await waitUntil(context, until, turn.why)
    } else if (options.interval > 0) await context.clock.sleep(options.interval, context.stop)
  }
}

/**
 * Exactly one step: a stage is performed, together with the housekeeping that belongs to it (the baseline before it,
 * the restore or the settling after it).
 */
export async function oneStep(
  context: Context,
  scope: Scope,
  warned: Set<string> = new Set(),
): Promise<Turn> {
  try {
    await context.lease.assertHeld()
    return await takeStep(context, scope, warned)
  } catch (error) {
    throw plainError(await orLeaseLost(context.lease, error), context.home)
  }
}

async function takeStep(context: Context, scope: Scope, warned: Set<string>): Promise<Turn> {
  const { journal, store, clock, report } = context
  const asked = await handleRequests({ dispatch: store.dispatch, journal, log: store.log, clock })
  await projectFiles(context)
  if (context.stop.aborted) return end('interrupted', 'interrupted; `ralph run` goes on from here')
  if (asked.stop) return end('cancelled', 'stopped by `ralph cancel`; `ralph run` goes on from here')
  if (journal.run().paused)
    return { type: 'wait', until: clock.now() + lookAgain, why: 'paused; `ralph resume` goes on' }

  const choice = await chooseTask(store.log, scope, clock.now())
  if (choice.type === 'none') {
    const result = await verdict(context, scope)
    return scope.only === null ? consensusTurn(context, result, warned) : { type: 'end', result }
  }
  if (choice.type === 'wait') return { type: 'wait', until: choice.until, why: await waitReason(context) }

  const budget = checkBudget(journal.rules.workflow.limits, journal.run(), clock.now())
  for (const warning of budget.warnings) {
    const key = warning.replace(/[\d.]+/gu, '')
    if (!warned.has(key)) report.note({ level: 'warning', text: warning })
    warned.add(key)
  }
  const chosen = await journal.task(choice.id)
  for (const warning of chosen ? taskWarnings(journal.rules.workflow.limits, chosen) : []) {
    if (!warned.has(`task ${choice.id}`)) report.note({ level: 'warning', text: warning })
    warned.add(`task ${choice.id}`)
  }
  if (budget.type === 'spent' && (await startsAgent(context, choice.id))) {
    return end('budget', `${budget.reason}; ${await remaining(context, scope)}`)
  }

  await performStep(context, choice.id)
  if (journal.run().steps % tidyEvery === 0) await forgetOldSnapshots(context)
  const halted = await journal.task(choice.id)
  if (halted?.status === 'halted') return end('halted', haltText(halted, context))
  if (halted?.status === 'held') return end('held', halted.note)
  return { type: 'step', task: choice.id }
}

/** Performs effects of one task until one stage is done and nothing but a stage is next; then writes the preset's files. */
async function performStep(context: Context, task: string): Promise<void> {
  await performEffects(context, task)
  await projectFiles(context)
}

async function performEffects(context: Context, task: string): Promise<void> {
  let staged = false
  for (;;) {
    const state = await context.journal.task(task)
    const effect = state?.next
    if (
      !effect ||
      (staged && isStage(effect)) ||
      (state.status === 'open' && state.waitUntil > context.clock.now())
    )
      return
    staged ||= isStage(effect)
    await perform(context, task, effect)
    const after = await context.journal.task(task)
    // A step that was interrupted is taken again later, not at once.
    if (
      context.stop.aborted ||
      context.lease.lost.aborted ||
      (after && isStage(effect) && sameEffect(after, state))
    )
      return
  }
}

function sameEffect(after: TaskState, before: TaskState): boolean {
  return (
    after.step === null &&
    JSON.stringify(after.next) === JSON.stringify(before.next) &&
    after.failures === before.failures
  )
}

async function startsAgent(context: Context, task: string): Promise<boolean> {
  const next = (await context.journal.task(task))?.next
  return next?.type === 'agent' || next?.type === 'baseline'
}

/** Nothing is left to choose: is everything done, or is something in the way? */
async function verdict(context: Context, scope: Scope): Promise<RunResult> {
  const all = (await context.store.log.tasks()).map(one => one.state)
  const tasks = all.filter(
    state => state.status !== 'removed' && (scope.only === null || scope.only.has(state.task.id)),
  )
  const left = tasks.filter(state => state.status !== 'done')
  if (left.length === 0 && context.missing.length === 0) {
    const unverified = tasks.filter(state => state.evidence.gates?.unverified).length
    const recorded = tasks.filter(state => state.evidence.recorded !== undefined).length
    const notes = [
      unverified > 0 ? `${unverified} unverified, by the agents’ word` : '',
      recorded > 0 ? `${recorded} done before this journal` : '',
    ].filter(Boolean)
    return {
      reason: 'complete',
      message: `${tasks.length} of ${plural(tasks.length, 'task')} done${notes.length > 0 ? ` (${notes.join(', ')})` : ' with evidence'}`,
    }
  }
  if (context.missing.length > 0 && left.length === 0) {
    return {
      reason: 'blocked',
      message: `no spec for ${context.missing.join(', ')}; write it (\`ralph new ${nounOf(context)} ${context.missing[0]}\`) or take the id out of the order`,
    }
  }
  const failed = left.filter(state => state.status === 'failed')
  if (failed.length > 0)
    return {
      reason: 'failed',
      message: `${plural(failed.length, 'task')} failed: ${failed.map(state => state.task.id).join(', ')}`,
    }
  const cancelled = left.filter(state => state.status === 'cancelled')
  if (cancelled.length > 0) {
    return {
      reason: 'cancelled',
      message: `${cancelled.map(state => state.task.id).join(', ')} cancelled; \`ralph retry ${cancelled[0]?.task.id}\` begins anew`,
    }
  }
  return { reason: 'blocked', message: `blocked: ${inTheWay(all, left).slice(0, 5).join('; ')}` }
}

/** `TASK-040 needs TASK-035`: each task that is left, and which of its needs are not done. */
function inTheWay(all: TaskState[], left: TaskState[]): string[] {
  const known = new Map(all.map(state => [state.task.id, state]))
  return left.map(({ task, status, note }) => {
    const needs = task.needs.filter(need => known.get(need)?.status !== 'done')
    if (needs.length === 0) return `${labelOf(task)} is ${status}${note === '' ? '' : ` (${note})`}`
    const names = needs.map(need => {
      const other = known.get(need)
      return other ? labelOf(other.task) : need
    })
    return `${labelOf(task)} needs ${names.join(', ')}`
  })
}

async function remaining(context: Context, scope: Scope): Promise<string> {
  const open = (await context.store.log.tasks({ status: ['open'] })).filter(
    one => scope.only === null || scope.only.has(one.id),
  )
  return `${plural(open.length, 'task')} left; \`ralph run\` goes on`
}

function haltText(state: TaskState, context: Context): string {
  const tries = context.journal.rules.workflow.limits.attempts
  const times = tries === undefined ? '' : ` ${plural(tries, 'time')}`
  return `${nounOf(context)} ${labelOf(state.task)} failed${times}: ${state.note}`
}

function nounOf(context: Context): string {
  return context.journal.rules.workflow.noun ?? 'task'
}

async function waitReason(context: Context): Promise<string> {
  const waiting = (await context.store.log.tasks({ status: ['open'] })).find(
    one => one.state.waitUntil > context.clock.now(),
  )
  return waiting ? waiting.state.note : 'waiting'
}

/** Waits with a sign of life, and ends at once when somebody asks for something. */
async function waitUntil(context: Context, until: number, why: string): Promise<void> {
  const { clock, report, stop, lease, store } = context
  let told = 0
  while (clock.now() < until && !stop.aborted && !lease.lost.aborted) {
    const left = until - clock.now()
    if (clock.now() - told >= 60_000 && left > lookAgain) {
      report.note({ level: 'info', text: `waiting ${ago(left)}: ${why} (\`ralph retry\` = now)` })
      told = clock.now()
    }
    await clock.sleep(Math.min(left, lookAgain), stop)
    if ((await store.dispatch.pending()).length > 0) return
  }
}

function end(reason: RunEnd, message: string): Turn {
  return { type: 'end', result: { reason, message } }
}
