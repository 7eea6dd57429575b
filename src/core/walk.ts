import { type Effect, isStage } from './effect.ts'
import { missingEvidence } from './evidence.ts'
import { fingerprint } from './fingerprint.ts'
import type { Fault } from './outcome.ts'
import { type Failure, failureWindow, type TaskState } from './state.ts'
import { cut } from './text.ts'
import { type Edge, type End, isEnd, type Rules, type Stage, stageOf, type Target } from './workflow.ts'

/** The judgement of a stage, ready to be followed. `mark` is the fingerprint of its failure. */
export type Judged = {
  name: string
  verdict: 'pass' | 'fail' | 'unclear'
  reason: string
  detail: string
  mark: string
}

/** Takes the edge that the verdict names. */
export function follow(
  rules: Rules,
  state: TaskState,
  judged: Judged,
  at: number,
  fault: Fault | null = null,
): TaskState {
  const stage = stageOf(rules.workflow, judged.name)
  if (!stage) return startOver(rules, state, state.note, at)
  const { name, edge } = edgeOf(stage, judged.verdict)
  const { target, taken } = walk(edge, `${judged.name}.${name}`, state.taken)
  const walked: TaskState = { ...state, taken, note: judged.reason || state.note }
  const noted = judged.verdict === 'pass' ? walked : remember(walked, judged, at, fault)
  if (!isEnd(target)) return enter(rules, noted, target, at)
  return reach(rules, noted, target, judged, at)
}

/** `unclear` that falls back to `fail` is the same edge and shares its bound. */
function edgeOf(stage: Stage, verdict: Judged['verdict']): { name: Judged['verdict']; edge: Edge } {
  const name = verdict === 'unclear' && stage.on.unclear === undefined ? 'fail' : verdict
  return { name, edge: stage.on[name] ?? stage.on.fail }
}

function walk(
  edge: Edge,
  key: string,
  taken: Record<string, number>,
): { target: Target; taken: Record<string, number> } {
  if (typeof edge === 'string') return { target: edge, taken }
  const count = countOf(taken, key)
  if (count >= edge.max) return { target: edge.then, taken }
  return { target: edge.to, taken: { ...taken, [key]: count + 1 } }
}

/** A stage may be named `constructor`. */
function countOf(counts: Record<string, number>, key: string): number {
  return Object.hasOwn(counts, key) ? (counts[key] ?? 0) : 0
}

function reach(rules: Rules, state: TaskState, target: End, judged: Judged, at: number): TaskState {
  switch (target) {
    case 'done':
      return complete(rules, state, judged, at)
    case 'approve': {
      const review = { stage: judged.name, agent: '', verdict: 'auto-pass' as const, note: judged.reason, at }
      return complete(rules, { ...state, evidence: { ...state.evidence, review } }, judged, at)
    }
    case 'retry':
      return retry(rules, state, judged, at)
    case 'exhausted':
      return exhausted(rules, state, judged.reason, at)
    default:
      return target satisfies never
  }
}

/** The only way to `done`, and it is shut without evidence. */
function complete(rules: Rules, state: TaskState, judged: Judged, at: number): TaskState {
  const missing = missingEvidence(rules.workflow, state.evidence)
  if (missing.length === 0) return settle(state)
  const reason = `Not proven: ${missing.join('; ')}`
  const unproven = { ...judged, verdict: 'fail' as const, reason, mark: fingerprint(reason) }
  return retry(rules, remember({ ...state, note: reason }, unproven, at, null), unproven, at)
}

function settle(state: TaskState): TaskState {
  return { ...state, stage: null, next: { type: 'settle' }, note: '' }
}

/** Tries at a task when its workflow does not say. There is always a bound. */
export const defaultAttempts = 3

function retry(rules: Rules, state: TaskState, judged: Judged, at: number): TaskState {
  const failures = state.failures + 1
  const stuck = stuckness(rules, state, judged.mark)
  const row = {
    attempt: failures,
    stage: judged.name,
    fingerprint: judged.mark,
    shift: isStuck(rules, state),
    reason: judged.reason,
    at,
  }
  const failed: TaskState = { ...state, failures, stuck, history: [...state.history, row].slice(-100) }
  const usedUp = limitReached(rules, failed)
  if (usedUp !== null) return exhausted(rules, failed, `${usedUp}${judged.reason}`, at)
  return putBack(rules, failed, at)
}

/** What must be said before the reason of the last failure when no further try is allowed; null when one is. */
function limitReached(rules: Rules, state: TaskState): string | null {
  const { limits, stuck } = rules.workflow
  if (stuck && state.stuck.shifts >= stuck.shifts) return 'Stuck: '
  if (state.failures >= (limits.attempts ?? defaultAttempts)) return ''
  // 0 = no limit.
  const { spent, since } = state
  if (limits.task?.hard && spent.ms - since.ms >= limits.task.hard) return 'Time for this task is used up: '
  if (limits.taskCost && spent.costUsd - since.costUsd >= limits.taskCost)
    return 'Money for this task is used up: '
  return null
}

/** Counts equal errors in a row. Once stuck, every further attempt is a strategy shift. */
function stuckness(rules: Rules, state: TaskState, mark: string): TaskState['stuck'] {
  const same = state.stuck.fingerprint === mark ? state.stuck.same + 1 : 1
  const shifted = isStuck(rules, state) && same > 1
  return { fingerprint: mark, same, shifts: shifted ? state.stuck.shifts + 1 : 0 }
}

/** The next attempt must try something fundamentally different. */
export function isStuck(rules: Rules, state: TaskState): boolean {
  return rules.workflow.stuck !== undefined && state.stuck.same >= rules.workflow.stuck.same
}

/** Before another attempt the tree goes back to where this one began, unless the preset builds on what is there. */
function putBack(rules: Rules, state: TaskState, at: number): TaskState {
  const { git, start } = rules.workflow
  if (git.onFail !== 'keep' && state.base) return { ...state, stage: start, next: { type: 'restore' } }
  // The earlier attempt's change is still in the tree, measured from the same base; gates and review begin anew.
  const { change } = state.evidence
  const evidence = git.onFail === 'keep' && change ? { change } : {}
  return enter(rules, { ...state, evidence }, start, at)
}

/** The tree holds work that does not stay. */
function aside(rules: Rules, state: TaskState): Effect | null {
  return state.base && rules.workflow.git.onFail !== 'keep' ? { type: 'restore' } : null
}

function exhausted(rules: Rules, state: TaskState, reason: string, at: number): TaskState {
  const next = aside(rules, state)
  switch (rules.workflow.onExhausted) {
    case 'approve-with-note': {
      const review = { stage: '', agent: '', verdict: 'auto-pass' as const, note: reason, at }
      const noted: TaskState = { ...state, evidence: { ...state.evidence, review } }
      if (missingEvidence(rules.workflow, noted.evidence).length === 0) return settle(noted)
      return { ...end(state, 'halted', reason, at), next }
    }
    case 'halt':
      return { ...end(state, 'halted', reason, at), next }
    case 'branch-and-skip':
      return { ...end(state, 'failed', reason, at), next }
    case 'requeue': {
      const most = rules.workflow.limits.requeues ?? 0
      if (state.pass > most) return { ...end(state, 'failed', reason, at), next }
      const again = { ...freshPass(state), pass: state.pass + 1, note: reason }
      return next
        ? { ...again, stage: rules.workflow.start, next }
        : begin(rules, { ...again, base: null }, at)
    }
    default:
      return rules.workflow.onExhausted satisfies never
  }
}

/** A fresh pass over the task: the first stage is next. */
export function begin(rules: Rules, state: TaskState, at: number): TaskState {
  return enter(rules, state, rules.workflow.start, at)
}

function freshPass(state: TaskState): TaskState {
  return { ...state, failures: 0, visits: {}, taken: {}, evidence: {} }
}

/** Tries begin anew. What earlier work has left in the tree, if it is to be put back, is put back first. */
export function beginAnew(rules: Rules, state: TaskState, note: string, at: number): TaskState {
  const fresh: TaskState = {
    ...freshPass(state),
    status: 'open',
    stage: null,
    next: null,
    step: null,
    pass: 1,
    base: null,
    baseline: null,
    stuck: { fingerprint: '', same: 0, shifts: 0 },
    since: { ms: state.spent.ms, costUsd: state.spent.costUsd },
    faults: 0,
    waitUntil: 0,
    endedAt: 0,
    note,
  }
  return state.next?.type === 'restore'
    ? { ...fresh, base: state.base, stage: rules.workflow.start, next: state.next }
    : begin(rules, fresh, at)
}

/** The workflow is no longer the one that this task was in: it begins again under the one there is now. */
export function startOver(rules: Rules, state: TaskState, note: string, at: number): TaskState {
  return beginAnew(rules, { ...state, next: aside(rules, state) }, note, at)
}

/** False when the workflow was changed so that the stage to perform next is no longer there. */
export function fits(rules: Rules, { next }: TaskState): boolean {
  return next === null || !isStage(next) || stageOf(rules.workflow, next.stage)?.kind === next.type
}

/** Makes a stage the next one; a stage that was entered too often exhausts the task. */
export function enter(rules: Rules, state: TaskState, name: string, at: number): TaskState {
  const stage = stageOf(rules.workflow, name)
  if (!stage) return enter(rules, state, rules.workflow.start, at)
  const visit = countOf(state.visits, name) + 1
  if (stage.limit !== undefined && visit > stage.limit) {
    return exhausted(rules, state, state.note || `stage '${name}' was tried ${stage.limit} times`, at)
  }
  const visits = { ...state.visits, [name]: visit }
  const needsBaseline = state.baseline === null && name === rules.workflow.start && hasCommands(rules, state)
  return { ...state, visits, stage: name, next: needsBaseline ? { type: 'baseline' } : effectOf(rules, name) }
}

function hasCommands(rules: Rules, state: TaskState): boolean {
  return state.task.verify.length > 0 || (rules.verify !== 'none' && rules.verify.length > 0)
}

/** How a stage is performed; the first one when there is none of that name. */
export function effectOf(rules: Rules, name: string): Effect {
  const stage = stageOf(rules.workflow, name)
  const { start } = rules.workflow
  return stage
    ? { type: stage.kind, stage: name }
    : { type: stageOf(rules.workflow, start)?.kind ?? 'agent', stage: start }
}

export function end(
  state: TaskState,
  status: Exclude<TaskState['status'], 'open' | 'held'>,
  note: string,
  at: number,
): TaskState {
  return { ...state, status, stage: null, next: null, step: null, note, waitUntil: 0, endedAt: at }
}

function remember(state: TaskState, judged: Judged, at: number, fault: Fault | null): TaskState {
  const failure: Failure = {
    attempt: state.failures + 1,
    stage: judged.name,
    reason: judged.reason,
    detail: cut(judged.detail),
    fault: fault?.kind ?? null,
    at,
  }
  return { ...state, recent: [...state.recent, failure].slice(-failureWindow) }
}
