/**
 * A workflow is data: a graph of stages, its budgets and what to do when they are used up. The engine knows only
 * this vocabulary; a preset is a value of `Workflow`, and so is whatever a user writes in `ralph.config.yaml`.
 */
export type Workflow = {
  name: string
  layout: string
  select: SelectionRule
  /** The stage every attempt begins with. */
  start: string
  stages: Record<string, Stage>
  limits: Limits
  onExhausted: ExhaustedPolicy
  git: GitPolicy
  /** What one unit of `limits.iterations` is. */
  iteration: 'call' | 'attempt' | 'task'
  stuck?: StuckRule
  /** Globs of files that no agent may change, unless the configuration says otherwise. */
  protect?: string[]
  /** Stages whose tasks go before others, in this order, when several were begun. */
  first?: string[]
  /** A task waits until those it needs are done; otherwise the order stands and that is a warning. */
  strictNeeds?: boolean
  /** What agents say is shown on stderr as it comes, even without `-v`. */
  live?: boolean
  /** What people call a task here; `task` if not said. */
  noun?: string
  /** What a new run does with a task that ran out of tries: begin anew (if not said), or leave it until a person says so. */
  halted?: 'begin-anew' | 'stay'
  /** The setting up is a step of its own, under this name: `ralph step` does it and nothing else. */
  opening?: string
  /** What `-n` sets: iterations of the run (if not said), or tries at one task. */
  cap?: 'iterations' | 'attempts'
  /** Once all tasks are done, so many fresh reviewers look at the whole, and so many must approve. */
  consensus?: { reviewers: number; quorum: number }
}

export type GitPolicy = {
  commit: 'agent' | 'engine'
  onFail: 'restore' | 'branch' | 'keep'
  /** `keep`: the next attempt builds on what a failed one left; all of it is put back only when the task is given up. */
  onRetry?: 'keep'
  /** The remote that branches of failed work are pushed to; nothing is pushed without it. */
  push?: string
  /** Subject of the engine's own commits; {id}, {title} and {iteration} are filled in. */
  message?: string
  /** Every task gets a worktree and a branch of its own. */
  worktree?: 'task'
}

/** What a run plays by; recorded in its `run.started` event, so that a replay judges as the run did. */
export type Rules = {
  workflow: Workflow
  /** The commands the engine runs itself, or the user's word that he accepts the agents' word. */
  verify: string[] | 'none'
}

/** How tasks are ordered: the layout's order, the lowest complexity first, or the lowest priority number first. */
export type SelectionRule = 'order' | 'complexity' | 'priority'

export type ExhaustedPolicy = 'halt' | 'approve-with-note' | 'requeue' | 'branch-and-skip'

export type Limits = {
  /** Iterations per run. */
  iterations?: number
  /** Tries at one task, in total. */
  attempts?: number
  /** How often an exhausted task may go back to the queue. */
  requeues?: number
  /** Money per run, in US dollars. */
  cost?: number
  /** Money per task, in US dollars. */
  taskCost?: number
  /** Tokens per run. */
  tokens?: number
  /** Wall time of one run. */
  run?: TimeLimit
  /** Wall time of one task over all its attempts. */
  task?: TimeLimit
  /** Tokens per task. */
  taskTokens?: number
  /** Outages in a row that are waited out before the run stops. */
  faults?: number
  /** Tries and stage limits follow a task's complexity. */
  adaptive?: boolean
}

export type TimeLimit = { soft?: number; hard?: number }

export type StuckRule = {
  /** Equal fingerprints in a row that mean "stuck". */
  same: number
  /** Strategy shifts tried before the hard stop. */
  shifts: number
}

export type Stage = AgentStage | CommandsStage | EngineStage

type StageBase = {
  on: Edges
  /** Times this stage may be entered per pass over the task; beyond it the task is exhausted. */
  limit?: number
  /** Milliseconds. */
  time?: TimeLimit & { idle?: number }
}

export type AgentStage = StageBase & {
  kind: 'agent'
  role: string
  /** `read`: a reviewer; the engine checks that it changed nothing. */
  may: 'write' | 'read'
  /** Name of the prompt template. */
  prompt: string
  /** How the agent's final message becomes a verdict. */
  signal: SignalRule
  /** A soft gate warns and never blocks. */
  gate?: 'hard' | 'soft'
  /** This stage's pass is the review part of the evidence. */
  review?: boolean
}

export type CommandsStage = StageBase & { kind: 'commands'; gate: 'hard' | 'soft' }

/** A step the engine does itself and that is worth seeing (`choose_task`, `update_done` of `stepwise`). */
export type EngineStage = StageBase & { kind: 'engine'; action: 'choose' | 'record' }

/**
 * `tags`: `<ralph>DONE id</ralph>` and friends · `promise`: `<promise>TEXT</promise>` on a line of its own · `exit`: the
 * process ended well · `verdict`: a line `VERDICT: pass|fail` · `report`: the review report it wrote, as the layout reads
 * it · `backlog`: the agent's own edit of the backlog, as the layout's integrity rules admit it.
 */
export type SignalRule =
  | { from: 'tags'; legacy: boolean }
  | { from: 'promise'; text: string; verify: PromiseChecks }
  | { from: 'exit' }
  | { from: 'verdict' }
  | { from: 'report' }
  | { from: 'backlog' }

export type PromiseChecks = {
  contradictions: boolean
  must?: { words: string[]; reason: string }
  /** What must be seen besides what is said: a commit since the task's attempt began. */
  fact?: 'commit'
}

/** Where a verdict leads. `unclear` (no valid signal) falls back to `fail`. */
export type Edges = { pass: Edge; fail: Edge; unclear?: Edge }

/** A bounded edge is taken at most `max` times per pass, after that `then`. */
export type Edge = Target | { to: Target; max: number; then: Target }

/**
 * A stage's name, or an end: `done` (needs evidence) · `retry` (the attempt failed; begin again) · `exhausted` (apply
 * the policy now) · `approve` (done, with the open findings as a note).
 */
export type Target = string

export const ends = ['done', 'retry', 'exhausted', 'approve'] as const
export type End = (typeof ends)[number]

export function isEnd(target: Target): target is End {
  return (ends as readonly string[]).includes(target)
}

export function stageOf(workflow: Workflow, name: string): Stage | undefined {
  return Object.hasOwn(workflow.stages, name) ? workflow.stages[name] : undefined
}

/** Every problem of a workflow in words, so that a user's own one is refused before any money is spent. */
export function workflowProblems(workflow: Workflow): string[] {
  const problems: string[] = []
  const known = (target: Target) => isEnd(target) || Object.hasOwn(workflow.stages, target)
  if (!Object.hasOwn(workflow.stages, workflow.start)) {
    problems.push(`start: no stage named '${workflow.start}'`)
  }
  for (const [name, stage] of Object.entries(workflow.stages)) {
    if (isEnd(name)) problems.push(`stages.${name}: '${name}' is the name of an end; choose another`)
    if (!isCount(stage.limit, 1)) problems.push(`stages.${name}.limit: must be a whole number of 1 or more`)
    for (const [verdict, edge] of Object.entries(stage.on)) {
      for (const target of targetsOf(edge)) {
        if (!known(target)) problems.push(`stages.${name}.on.${verdict}: no stage or end named '${target}'`)
      }
      if (typeof edge !== 'string' && !isCount(edge.max, 0)) {
        problems.push(`stages.${name}.on.${verdict}.max: must be a whole number of 0 or more`)
      }
    }
  }
  if (!isCount(workflow.limits.attempts, 1))
    problems.push('limits.attempts: must be a whole number of 1 or more')
  if (!isCount(workflow.limits.requeues, 0))
    problems.push('limits.requeues: must be a whole number of 0 or more')
  if (workflow.consensus && workflow.consensus.quorum > workflow.consensus.reviewers)
    problems.push('consensus.quorum: there are not so many reviewers')
  if (endless(workflow)) {
    problems.push(
      'stages: the graph has a cycle without a bound; add a stage limit or { to, max, then } on an edge of the cycle',
    )
  }
  if (problems.length === 0 && !provable(workflow)) {
    problems.push(
      "stages: no way to 'done' runs the verify commands and the review; without evidence no task is ever done",
    )
  }
  return problems
}

function isCount(value: number | undefined, least: number): boolean {
  return value === undefined || (Number.isSafeInteger(value) && value >= least)
}

/** True when some way through the graph collects the evidence that `done` asks for. */
function provable(workflow: Workflow): boolean {
  const needsReview = hasReview(workflow)
  const seen = new Set<string>()
  const visit = (name: string, before: { gates: boolean; review: boolean }): boolean => {
    const stage = stageOf(workflow, name)
    const key = JSON.stringify([name, before])
    if (!stage || seen.has(key)) return false
    seen.add(key)
    const now = {
      gates: before.gates || stage.kind === 'commands',
      review: before.review || (stage.kind === 'agent' && stage.review === true),
    }
    return Object.values(stage.on).some(edge =>
      targetsOf(edge).some(target => {
        if (target === 'done') return now.gates && (now.review || !needsReview)
        if (target === 'approve') return now.gates
        if (target === 'exhausted') return now.gates && workflow.onExhausted === 'approve-with-note'
        return !isEnd(target) && visit(target, now)
      }),
    )
  }
  return visit(workflow.start, { gates: false, review: false })
}

/** True when the evidence of this workflow includes a review. */
export function hasReview(workflow: Workflow): boolean {
  return Object.values(workflow.stages).some(stage => stage.kind === 'agent' && stage.review === true)
}

function targetsOf(edge: Edge): Target[] {
  return typeof edge === 'string' ? [edge] : [edge.to, edge.then]
}

/** True when some cycle of the graph can be walked for ever: no stage limit, no bounded edge. (`retry` is always bounded.) */
function endless(workflow: Workflow): boolean {
  const unboundedTargets = (name: string): string[] => {
    const stage = workflow.stages[name]
    if (!stage || stage.limit !== undefined) return []
    return Object.values(stage.on).flatMap(edge => {
      const target = typeof edge === 'string' ? edge : edge.then
      return isEnd(target) ? [] : [target]
    })
  }
  const state = new Map<string, 'open' | 'closed'>()
  const visit = (name: string): boolean => {
    if (state.get(name) === 'open') return true
    if (state.get(name) === 'closed') return false
    state.set(name, 'open')
    const found = unboundedTargets(name).some(visit)
    state.set(name, 'closed')
    return found
  }
  return Object.keys(workflow.stages).some(visit)
}
