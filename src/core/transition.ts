import { adaptRules } from './adapt.ts'
import { type Effect, isStage } from './effect.ts'
import type { FoundWork, TaskEvent } from './event.ts'
import type { Evidence } from './evidence.ts'
import { fingerprint } from './fingerprint.ts'
import { judgeCommands } from './gate.ts'
import { type AgentOutcome, type CommandsOutcome, type Fault, isExcused } from './outcome.ts'
import { learningsWindow, newTaskState, type TaskState, warningsWindow } from './state.ts'
import type { Task } from './task.ts'
import { judgeAgent, softFindings } from './verdict.ts'
import { begin, beginAnew, effectOf, end, enter, fits, follow, startOver, takeOver } from './walk.ts'
import { type AgentStage, type Rules, stageOf } from './workflow.ts'

export { defaultAttempts, isStuck } from './walk.ts'
export type { Rules } from './workflow.ts'

export type Transition = { state: TaskState; effects: Effect[] }

/**
 * The whole behaviour of Ralph for one task. Total: every event on every state gives a state, and an open task always
 * has its next effect or a reason to wait.
 */
export function transition(rules: Rules, state: TaskState | null, event: TaskEvent): Transition {
  const next = apply(adaptRules(rules, state?.task), state, event)
  // A held task keeps its next effect for the day it is let go; until then nothing is to be done.
  return { state: next, effects: next.next && next.status !== 'held' ? [next.next] : [] }
}

function apply(rules: Rules, before: TaskState | null, event: TaskEvent): TaskState {
  if (event.type === 'task.added') return before ?? begin(rules, newTaskState(event.task), event.at)
  if (!before) throw new Error(`the first event of a task must be task.added, not ${event.type}`)
  const state = before
  switch (event.type) {
    case 'task.changed':
      return changeTask(rules, state, event.task, event.at)
    case 'task.removed':
      return leave(state, 'removed', 'no longer in the backlog', event.at)
    case 'task.recorded':
      return state.status === 'done'
        ? state
        : {
            ...end(state, 'done', `recorded in ${event.source}`, event.at),
            evidence: { recorded: event.source },
          }
    case 'task.continued':
      return state.history.length === 0 && state.step === null ? takeOver(rules, state, event) : state
    case 'task.reopened':
      return event.forget
        ? forget(rules, state, event.why, event.at)
        : reopen(rules, state, event.why, event.at)
    case 'task.cancelled':
      return isLive(state) ? leave(state, 'cancelled', event.why, event.at) : state
    case 'task.steered':
      return { ...state, steering: [...state.steering, event.text].slice(-5) }
    case 'task.moved':
      return move(rules, state, event)
    case 'step.started':
      return startStep(rules, state, event)
    case 'step.interrupted':
      return state.step?.id === event.step
        ? { ...forgetStep(state), note: `interrupted: ${event.why}` }
        : state
    case 'step.finished':
      return isAnswer(state, event) ? finishStep(rules, { ...state, step: null }, event) : state
    default:
      return event satisfies never
  }
}

function isLive(state: TaskState): boolean {
  return state.status === 'open' || state.status === 'held'
}

/** Back in the backlog, or another edition under the same id: then it begins anew, and what it learnt is no longer true. */
function changeTask(rules: Rules, state: TaskState, task: Task, at: number): TaskState {
  if (state.task.edition !== task.edition)
    return beginAnew(
      rules,
      { ...newTaskState(task), spent: state.spent, base: state.base, next: state.next },
      '',
      at,
    )
  return state.status === 'removed' ? beginAnew(rules, { ...state, task }, '', at) : { ...state, task }
}

/** Only between two steps. The gates and the review must still be passed; the work itself is taken as it lies there. */
function move(rules: Rules, state: TaskState, { stage, source, away, work, at }: Moved): TaskState {
  if (state.status === 'removed' || state.step !== null || !stageOf(rules.workflow, stage)) return state
  const left = state.next?.type === 'restore'
  if (left) return state
  const { endedIn: _, ...rest } = state
  const open: TaskState = {
    ...rest,
    status: 'open',
    visits: { ...state.visits, [stage]: 0 },
    faults: 0,
    waitUntil: 0,
    endedAt: 0,
    base: away || state.status === 'done' ? null : state.base,
    evidence: away
      ? {}
      : { ...(state.status === 'done' ? {} : withoutGates(found(state, work))), adopted: source },
    note: `moved to ${stage} by ${source}`,
  }
  return enter(rules, open, stage, at)
}

/** What a person did in the tree since the last call is part of the work from now on. */
function found({ evidence, base }: TaskState, work: FoundWork | undefined): Evidence {
  if (!work || !base) return evidence
  const { tree, files, more } = work
  const { from = base.tree, commits = [] } = evidence.change ?? {}
  return { ...evidence, change: { from, to: tree, files: files.slice(0, 200), more, commits } }
}

function reopen(rules: Rules, state: TaskState, why: string, at: number): TaskState {
  if (state.status === 'removed') return state
  if (!isLive(state)) return beginAnew(rules, state, why, at)
  if (!fits(rules, state)) return startOver(rules, state, why, at)
  if (state.status === 'open') return { ...state, waitUntil: 0, faults: 0 }
  // A held task goes on where it was: what stopped it was not its fault.
  return { ...state, status: 'open', waitUntil: 0, faults: 0, endedAt: 0, note: why }
}

/** From the beginning, as if it had never been tried; what was spent was spent. */
function forget(rules: Rules, state: TaskState, why: string, at: number): TaskState {
  if (state.status === 'removed') return state
  const { task, spent, base, next, status, evidence, head, mixed } = state
  const blank: TaskState = {
    ...newTaskState(task),
    ...{ spent, base, next, status, evidence },
    ...(head === undefined ? {} : { head }),
    ...(mixed ? { mixed } : {}),
  }
  return isLive(state) ? startOver(rules, blank, why, at) : beginAnew(rules, blank, why, at)
}

/** Work under way is put aside like that of a failed attempt, and so is what still waits to be put back. */
function leave(state: TaskState, status: 'removed' | 'cancelled', why: string, at: number): TaskState {
  const left = state.next?.type === 'restore' || (isLive(state) && state.base !== null)
  return { ...end(state, status, why, at), next: left ? { type: 'restore' } : null }
}

type Moved = Extract<TaskEvent, { type: 'task.moved' }>
type Started = Extract<TaskEvent, { type: 'step.started' }>
type Finished = Extract<TaskEvent, { type: 'step.finished' }>

/** A start of something that is not next (an engine that lost its lease) changes nothing. */
function startStep(rules: Rules, state: TaskState, event: Started): TaskState {
  const { next } = state
  // Housekeeping has no stage of its own; it is announced as `@baseline`, `@restore`, `@settle`.
  const expected = next && (isStage(next) ? next.stage : `@${next.type}`)
  if (state.status === 'held' || event.stage !== expected) return state
  const looping = next?.type === 'agent' && stageOf(rules.workflow, event.stage)?.limit !== undefined
  const loop = state.loop ?? { stage: event.stage, startedAt: event.at }
  const { head, mixed, ...rest } = state
  const goesOn = state.base !== null
  const foreign = next?.type === 'agent' && head !== undefined && head !== event.base.head
  return {
    ...rest,
    ...(goesOn && head !== undefined ? { head } : {}),
    ...(goesOn && (mixed || foreign) ? { mixed: true as const } : {}),
    ...(looping ? { loop } : {}),
    step: { id: event.step, stage: event.stage, at: event.at, run: event.run, base: event.base },
    // An attempt begins with an agent; gates before it change nothing that would have to be put back.
    base: state.base ?? (next?.type === 'agent' ? event.base : null),
    startedAt: state.startedAt || event.at,
  }
}

/** The step's own changes were put back; when nothing came before it, the attempt begins wherever the next one finds the tree. */
function forgetStep(state: TaskState): TaskState {
  const needed =
    state.evidence.change !== undefined || state.next?.type === 'restore' || state.next?.type === 'settle'
  return { ...state, step: null, base: needed ? state.base : null }
}

/**
 * A late or repeated finish answers nothing that is under way. An agent's step is always announced before it starts;
 * what the engine does at once may come without a start.
 */
function isAnswer(state: TaskState, { step, stage, outcome }: Finished): boolean {
  const { next } = state
  if (!next) return false
  if (state.step ? state.step.id !== step : outcome.kind === 'agent') return false
  if (outcome.kind === 'commands' && outcome.purpose === 'baseline') return next.type === 'baseline'
  return next.type === outcome.kind && (!isStage(next) || next.stage === stage)
}

function finishStep(rules: Rules, state: TaskState, event: Finished): TaskState {
  const { stage, outcome, at } = event
  switch (outcome.kind) {
    case 'agent':
      return afterAgent(rules, state, stage, outcome, at)
    case 'commands':
      return outcome.purpose === 'baseline'
        ? { ...state, baseline: outcome.results, next: effectOf(rules, state.stage ?? rules.workflow.start) }
        : afterCommands(rules, state, stage, outcome, at)
    case 'engine':
      return follow(rules, state, { name: stage, verdict: 'pass', reason: '', detail: '', mark: '' }, at)
    case 'restore': {
      const { adopted } = state.evidence
      const evidence = adopted === undefined ? {} : { adopted }
      const branch = outcome.branch === null ? {} : { branch: outcome.branch }
      const { head: _, mixed: __, ...rest } = state
      const clean: TaskState = { ...rest, ...branch, base: null, evidence, next: null }
      return state.status === 'open' ? enter(rules, clean, rules.workflow.start, at) : clean
    }
    case 'settle':
      return settled(end(state, 'done', state.note, at), outcome.head)
    default:
      return outcome satisfies never
  }
}

/** What was in the way before no longer matters. */
function settled({ exhausted: _, loop: __, ...state }: TaskState, head: string): TaskState {
  return { ...state, evidence: { ...state.evidence, head } }
}

/** Times an empty answer is simply asked for again before it counts as a failed attempt. */
const emptyRepeats = 3

function afterAgent(
  rules: Rules,
  before: TaskState,
  name: string,
  outcome: AgentOutcome,
  at: number,
): TaskState {
  const stage = stageOf(rules.workflow, name)
  const state = spend(before, outcome)
  if (stage?.kind !== 'agent') return startOver(rules, state, state.note, at)
  const fault = outcome.fault
  // An agent that says nothing is asked again, but not for ever (S1-27).
  const mute = fault?.kind === 'empty' && state.faults >= emptyRepeats
  if (fault && isExcused(fault) && !mute)
    return excuse(rules, state, { fault, fallback: outcome.fallback }, at)

  const learned = outcome.signals.flatMap(signal => (signal.type === 'learn' ? [signal.text] : []))
  const counted: TaskState = {
    ...state,
    faults: 0,
    head: outcome.change.head,
    steering: [],
    spent: { ...state.spent, calls: state.spent.calls + 1 },
    performed: { ...state.performed, [name]: (state.performed?.[name] ?? 0) + 1 },
    learnings: [...state.learnings, ...learned].slice(-learningsWindow),
    evidence: changed(state.evidence, stage, outcome),
  }
  const committed = (counted.evidence.change?.commits.length ?? 0) > 0
  const judged = judgeAgent(stage, outcome, state.task, committed)
  const nothing =
    judged.verdict === 'pass' && stage.may === 'write' && stage.gate !== 'soft' && untouched(counted)
  const verdict = nothing
    ? { verdict: 'fail' as const, reason: 'Claimed done, but nothing changed', detail: judged.detail }
    : judged
  // A soft gate's opinion does not block; a broken rule does.
  const passed = verdict.verdict === 'pass' || (stage.gate === 'soft' && outcome.violations.length === 0)
  // What a soft gate lets through against its reviewer's word is not written down as his approval.
  const approval = verdict.verdict === 'pass' ? ('pass' as const) : ('auto-pass' as const)
  const review = { stage: name, agent: outcome.agent, verdict: approval, note: verdict.reason, at }
  const warned =
    stage.gate === 'soft' ? withWarnings(counted, softFindings(verdict, outcome.message)) : counted
  const reviewed: TaskState =
    passed && stage.review ? { ...warned, evidence: { ...warned.evidence, review } } : warned
  const mark = fingerprint(`${name}\n${verdict.reason}`)
  return follow(
    rules,
    reviewed,
    { name, ...verdict, verdict: passed ? 'pass' : verdict.verdict, mark },
    at,
    fault,
  )
}

function withWarnings(state: TaskState, found: string[]): TaskState {
  return found.length === 0
    ? state
    : { ...state, warnings: [...(state.warnings ?? []), ...found].slice(-warningsWindow) }
}

/** Money and time are spent whether or not the attempt counts. */
function spend(state: TaskState, outcome: AgentOutcome): TaskState {
  const { costUsd, inputTokens, outputTokens } = outcome.usage
  return {
    ...state,
    spent: {
      ...state.spent,
      costUsd: state.spent.costUsd + (costUsd ?? 0),
      unknownCosts: state.spent.unknownCosts + (costUsd === null ? 1 : 0),
      tokens: state.spent.tokens + (inputTokens ?? 0) + (outputTokens ?? 0),
      ms: state.spent.ms + outcome.ms,
    },
  }
}

/**
 * A later change outdates the gates that ran before it, and so does a broken rule: the engine has put something back.
 * A review stands, because presets let clean-up and tests come after it. Only who may write can add to the change.
 */
function changed(evidence: Evidence, stage: AgentStage, outcome: AgentOutcome): Evidence {
  const { from, to, files, more, commits } = outcome.change
  // A reviewer may commit what it is meant to write: its report, its mark in the backlog.
  const moved = files.length > 0 || (commits.length > 0 && stage.may === 'write')
  if (!moved && outcome.violations.length === 0) return evidence
  if (!moved || stage.may === 'read') return withoutGates(evidence)
  const earlier = evidence.change
  const merged = new Map((earlier?.files ?? []).map(file => [file.path, file]))
  for (const file of files) merged.set(file.path, file)
  return {
    ...withoutGates(evidence),
    change: {
      from: earlier?.from ?? from,
      to,
      files: [...merged.values()].slice(0, 200),
      more: (earlier?.more ?? 0) + more,
      commits: [...(earlier?.commits ?? []), ...commits].slice(-100),
    },
  }
}

function withoutGates({ change, review, adopted }: Evidence): Evidence {
  return {
    ...(change ? { change } : {}),
    ...(review ? { review } : {}),
    ...(adopted === undefined ? {} : { adopted }),
  }
}

function untouched(state: TaskState): boolean {
  const { change, adopted } = state.evidence
  return (change?.files.length ?? 0) === 0 && adopted === undefined && state.task.verify.length === 0
}

/**
 * Outages are waited out and refunded; a missing login or permission stops the run at once, it will not mend itself.
 * The engine has put the step's changes back, so the same stage is simply taken again.
 */
function excuse(
  rules: Rules,
  before: TaskState,
  { fault, fallback }: { fault: Fault; fallback: string | undefined },
  at: number,
): TaskState {
  const state = forgetStep(before)
  const faults = state.faults + 1
  const note = fault.message
  const most = rules.workflow.limits.faults ?? 20
  if (fault.kind === 'auth' || fault.kind === 'permission' || faults >= most) {
    return { ...state, status: 'held', faults, note: `${fault.kind}: ${note}`, waitUntil: 0 }
  }
  if (fallback !== undefined)
    return { ...state, faults, note: `${note}; ${fallback} takes over`, waitUntil: 0 }
  const waitUntil = fault.until && fault.until > at ? fault.until : at + backOff(faults)
  return { ...state, faults, note, waitUntil }
}

/** 1 s, 2 s, 4 s … 15 min. The engine comes a little later, never sooner (`withJitter`). */
export function backOff(faults: number): number {
  return Math.min(1000 * 2 ** (faults - 1), 900_000)
}

function afterCommands(
  rules: Rules,
  before: TaskState,
  name: string,
  outcome: CommandsOutcome,
  at: number,
): TaskState {
  const stage = stageOf(rules.workflow, name)
  const state: TaskState = { ...before, gateMs: (before.gateMs ?? 0) + outcome.ms }
  if (stage?.kind !== 'commands') return startOver(rules, state, state.note, at)
  const judged = judgeCommands(outcome.results, state.baseline)
  const failed = judged.filter(one => one.verdict === 'fail')
  const broken = outcome.violations[0]
  if (failed.length > 0 || broken) {
    const reason = broken?.detail ?? failed.map(one => one.reason).join('; ')
    const red = outcome.results.filter(result => failed.some(one => one.command === result.command))
    const detail = red.map(result => `$ ${result.command}\n${result.tail}`).join('\n\n')
    const mark = fingerprint(`${name}\n${red.map(result => result.fingerprint).join('') || reason}`)
    // Red gates prove nothing, and what was green before is no longer. A soft gate only lets the work go on.
    const proved: TaskState = { ...state, evidence: withoutGates(state.evidence) }
    const unproven = stage.gate === 'soft' ? withWarnings(proved, [reason]) : proved
    const verdict = stage.gate === 'soft' ? 'pass' : 'fail'
    return follow(rules, unproven, { name, verdict, reason, detail, mark }, at)
  }
  const notes = judged.flatMap(one => (one.note ? [one.note] : []))
  const unverified = outcome.results.length === 0
  const gates = { tree: outcome.tree, results: outcome.results, notes, unverified, at }
  const proven: TaskState = { ...state, evidence: { ...state.evidence, gates } }
  return follow(rules, proven, { name, verdict: 'pass', reason: '', detail: '', mark: '' }, at)
}
