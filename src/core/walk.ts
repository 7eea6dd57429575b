import { type Effect, isStage } from './effect.ts'
import { missingEvidence, noReview } from './evidence.ts'
import { fingerprint } from './fingerprint.ts'
import type { Fault } from './outcome.ts'
import {
  type AttemptRow,
  type Failure,
  failureFiles,
  failureWindow,
  type TaskLimit,
  type TaskState,
  timeSpent,
} from './state.ts'
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
      return exhausted(rules, state, { reason: judged.reason, limit: 'stage' }, at)
    default:
      return target satisfies never
  }
}

/** The only way to `done`, and it is shut without evidence. */
function complete(rules: Rules, state: TaskState, judged: Judged, at: number): TaskState {
  const missing = missingEvidence(rules.workflow, state.evidence)
  if (missing.length === 0) return settle(state)
  // Whoever moved a task past its review has not reviewed it.
  const review = state.evidence.adopted === undefined ? undefined : onlyReview(rules, missing)
  if (review !== undefined) return enter(rules, { ...state, note: missing.join('; ') }, review, at)
  const reason = `Not proven: ${missing.join('; ')}`
  const unproven = { ...judged, verdict: 'fail' as const, reason, mark: fingerprint(reason) }
  return retry(rules, remember({ ...state, note: reason }, unproven, at, null), unproven, at)
}

/** The stage that gives what is missing, when that is nothing but a review. */
function onlyReview({ workflow }: Rules, missing: string[]): string | undefined {
  const only = missing.length === 1 && missing[0] === noReview
  const isReview = ([, stage]: [string, Stage]) => stage.kind === 'agent' && stage.review === true
  return only ? Object.entries(workflow.stages).find(isReview)?.[0] : undefined
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
  const limit = limitReached(rules, failed)
  if (limit === null) return putBack(rules, failed, at)
  return exhausted(rules, failed, { reason: `${limitWords[limit]}${judged.reason}`, limit }, at)
}

/** What is said before the reason of the last failure. */
const limitWords: Record<TaskLimit, string> = {
  attempts: '',
  stage: '',
  stuck: 'Stuck: ',
  time: 'Time for this task is used up: ',
  cost: 'Money for this task is used up: ',
  tokens: 'Tokens for this task are used up: ',
}

/** The limit that allows no further try; null when one is allowed. */
function limitReached(rules: Rules, state: TaskState): TaskLimit | null {
  const { limits, stuck } = rules.workflow
  if (stuck && state.stuck.shifts >= stuck.shifts) return 'stuck'
  if (state.failures >= (limits.attempts ?? defaultAttempts)) return 'attempts'
  // 0 = no limit.
  if (limits.task?.hard && timeSpent(state) >= limits.task.hard) return 'time'
  return overspent(rules, state)
}

/** What this task may not use more of: money or tokens. */
function overspent(rules: Rules, { spent, since }: TaskState): 'cost' | 'tokens' | null {
  const { taskCost, taskTokens } = rules.workflow.limits
  // 0 = no limit.
  if (taskCost && spent.costUsd - since.costUsd >= taskCost) return 'cost'
  return taskTokens && spent.tokens - (since.tokens ?? 0) >= taskTokens ? 'tokens' : null
}

/** Attempts of which only the preset's own files tell; they count as if they had been made here. */
export function takeOver(
  rules: Rules,
  state: TaskState,
  earlier: { history: AttemptRow[]; recent: Failure[] },
): TaskState {
  let { stuck } = state
  for (const { fingerprint } of earlier.history) stuck = stuckness(rules, { ...state, stuck }, fingerprint)
  const told = { history: earlier.history.slice(-100), recent: earlier.recent.slice(-failureWindow) }
  const failures = told.history.at(-1)?.attempt ?? 0
  // Out of tries already: they begin anew, knowing what failed.
  if (failures >= (rules.workflow.limits.attempts ?? defaultAttempts)) return { ...state, ...told }
  return { ...state, ...told, stuck, failures }
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
  const keeps = git.onFail === 'keep' || git.onRetry === 'keep'
  if (!keeps && state.base) return { ...state, stage: start, next: { type: 'restore' } }
  // The earlier attempt's change is still in the tree, measured from the same base; gates and review begin anew.
  const { change } = state.evidence
  const { adopted } = state.evidence
  const evidence = {
    ...(keeps && change ? { change } : {}),
    ...(adopted === undefined ? {} : { adopted }),
  }
  return enter(rules, { ...state, evidence }, start, at)
}

/** The tree holds work that does not stay. */
function aside(rules: Rules, state: TaskState): Effect | null {
  return state.base && rules.workflow.git.onFail !== 'keep' ? { type: 'restore' } : null
}

function exhausted(
  rules: Rules,
  before: TaskState,
  {
    reason,
    limit,
    over,
  }: { reason: string; limit: TaskLimit /** The stage that was entered too often. */; over?: string },
  at: number,
): TaskState {
  const limited: TaskState = { ...before, limit }
  const state = rules.workflow.onExhausted === 'requeue' ? usedUp(limited, { reason, over, at }) : limited
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
      // Another pass would cost no less.
      if (state.pass > most || limit === 'cost') return { ...end(state, 'failed', reason, at), next }
      const again = { ...freshPass(state), pass: state.pass + 1, note: reason }
      return next
        ? { ...again, stage: rules.workflow.start, next }
        : begin(rules, { ...again, base: null }, at)
    }
    default:
      return rules.workflow.onExhausted satisfies never
  }
}

/** The next pass begins with nothing, so what is worth knowing of this one is written down. */
function usedUp(
  state: TaskState,
  { reason, over, at }: { reason: string; over: string | undefined; at: number },
): TaskState {
  const stage = over ?? state.stage ?? ''
  const used = countOf(state.visits, stage)
  const output = state.recent.at(-1)?.detail ?? ''
  return { ...state, exhausted: { stage, used, limited: over !== undefined, reason, output, at } }
}

/** A fresh pass over the task: the first stage is next. */
export function begin(rules: Rules, state: TaskState, at: number): TaskState {
  return enter(rules, state, rules.workflow.start, at)
}

function freshPass({ endedIn: _, limit: __, branch: ___, loop: ____, ...state }: TaskState): TaskState {
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
    since: { ms: state.spent.ms, costUsd: state.spent.costUsd, tokens: state.spent.tokens },
    ...(state.gateMs === undefined ? {} : { gateMs: 0 }),
    faults: 0,
    waitUntil: 0,
    endedAt: 0,
    note,
  }
  if (state.next?.type === 'restore')
    return { ...fresh, base: state.base, stage: rules.workflow.start, next: state.next }
  // Work that stays in the tree is still this task's own, measured from where it began.
  const { change } = state.evidence
  const stays = rules.workflow.git.onFail === 'keep' && state.status !== 'done' && state.base !== null
  return begin(rules, stays ? { ...fresh, base: state.base, evidence: change ? { change } : {} } : fresh, at)
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
    const last = state.note ? `: ${state.note}` : ''
    const reason = `Ralph loop exceeded ${stage.limit} iterations${last}`
    return exhausted(rules, state, { reason, limit: 'stage', over: name }, at)
  }
  const short = stage.kind === 'agent' ? overspent(rules, state) : null
  if (short !== null) {
    const reason = `${limitWords[short]}${state.note || `nothing is left for ${name}`}`
    return exhausted(rules, state, { reason, limit: short }, at)
  }
  const visits = { ...state.visits, [name]: visit }
  const needsBaseline = state.baseline === null && name === rules.workflow.start && hasCommands(rules, state)
  const { loop, chosen: _, ...rest } = state
  return {
    ...rest,
    ...(loop?.stage === name ? { loop } : {}),
    ...(isChosen(rules, name) ? { chosen: true as const } : {}),
    visits,
    stage: name,
    next: needsBaseline ? { type: 'baseline' } : effectOf(rules, name),
  }
}

/** Where choosing a task is a step of its own, whatever comes after it has been chosen. */
function isChosen({ workflow }: Rules, name: string): boolean {
  const first = stageOf(workflow, workflow.start)
  return first?.kind === 'engine' && first.action === 'choose' && name !== workflow.start
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
  const endedIn = state.stage === null ? {} : { endedIn: state.stage }
  return {
    ...state,
    ...endedIn,
    status,
    stage: null,
    next: null,
    step: null,
    note,
    waitUntil: 0,
    endedAt: at,
  }
}

function remember(state: TaskState, judged: Judged, at: number, fault: Fault | null): TaskState {
  const files = state.evidence.change?.files.slice(0, failureFiles).map(file => file.path) ?? []
  const failure: Failure = {
    attempt: state.failures + 1,
    stage: judged.name,
    reason: judged.reason,
    // Each output was cut where it was read; this bounds many of them together.
    detail: cut(judged.detail, 400),
    fault: fault?.kind ?? null,
    ...(isRepeated(state, judged) ? { repeated: true as const } : {}),
    ...(files.length > 0 ? { files } : {}),
    tree: state.evidence.change?.to ?? '',
    mark: judged.mark,
    at,
  }
  return { ...state, recent: [...state.recent, failure].slice(-failureWindow) }
}

/** By content, not by what was said: an attempt that ends where the last one ended has moved nothing. */
function isRepeated({ recent, evidence }: TaskState, { name, mark }: Judged): boolean {
  const last = recent.at(-1)
  return last?.stage === name && last.mark === mark && last.tree === (evidence.change?.to ?? '')
}
