import type { AnyEvent } from './event.ts'
import { type Proof, proofOf } from './evidence.ts'
import { isExcused } from './outcome.ts'
import type { TaskState } from './state.ts'
import { labelOf, type TaskStatus } from './task.ts'
import type { Workflow } from './workflow.ts'

/** What came of a backlog: what is done and by what proof, who did what at what cost, what needs a person. */
export type Summary = {
  tasks: TaskSummary[]
  done: number
  total: number
  /** One row for each agent, model and stage. */
  agents: AgentSummary[]
  reviews: ReviewSummary | null
  costUsd: number
  unknownCosts: number
  tokens: number
  ms: number
}

export type TaskSummary = {
  id: string
  title: string
  status: TaskStatus
  proof: Proof | null
  /** Approved although a reviewer still had findings, with these. */
  autoApproved: string | null
  attempts: number
  reviews: number
  calls: number
  costUsd: number
  unknownCosts: number
  ms: number
  note: string
  lastStage: string | null
  /** Where failed work is kept, when it is on a branch. */
  branch: string | null
}

export type AgentSummary = {
  agent: string
  model: string | null
  stage: string
  calls: number
  /** Calls that did not count: outages, limits, logins. */
  refunded: number
  costUsd: number
  unknownCosts: number
  tokens: number
  ms: number
}

export type ReviewSummary = {
  /** How many tasks took so many reviews. */
  distribution: { reviews: number; tasks: number }[]
  /** Tasks that were approved only because the cap was reached. */
  atCap: string[]
  advice: string
}

export type SummaryFold = { agents: Map<string, AgentSummary>; branches: Map<string, string> }

export function newSummaryFold(): SummaryFold {
  return { agents: new Map(), branches: new Map() }
}

/** Takes up one event; `task` is the stream it belongs to. Changes the fold: a journal may hold a hundred thousand. */
export function addToSummary(fold: SummaryFold, task: string, event: AnyEvent): void {
  if (event.type !== 'step.finished') return
  const { outcome, stage } = event
  if (outcome.kind === 'restore' && outcome.branch) fold.branches.set(task, outcome.branch)
  if (outcome.kind !== 'agent') return
  const key = JSON.stringify([outcome.agent, outcome.model ?? null, stage])
  const row = fold.agents.get(key) ?? {
    ...{ agent: outcome.agent, model: outcome.model ?? null, stage },
    ...{ calls: 0, refunded: 0, costUsd: 0, unknownCosts: 0, tokens: 0, ms: 0 },
  }
  const { costUsd, inputTokens, outputTokens } = outcome.usage
  fold.agents.set(key, {
    ...row,
    calls: row.calls + 1,
    refunded: row.refunded + (outcome.fault && isExcused(outcome.fault) ? 1 : 0),
    costUsd: row.costUsd + (costUsd ?? 0),
    unknownCosts: row.unknownCosts + (costUsd === null ? 1 : 0),
    tokens: row.tokens + (inputTokens ?? 0) + (outputTokens ?? 0),
    ms: row.ms + outcome.ms,
  })
}

export function summarise(states: TaskState[], fold: SummaryFold, workflow: Workflow): Summary {
  const present = states.filter(state => state.status !== 'removed')
  const tasks = present.map(state => taskSummary(state, fold, workflow))
  const agents = [...fold.agents.values()]
  const sum = (pick: (row: AgentSummary) => number) => agents.reduce((total, row) => total + pick(row), 0)
  return {
    tasks,
    done: tasks.filter(task => task.status === 'done').length,
    total: tasks.length,
    agents,
    reviews: reviewSummary(tasks, workflow),
    costUsd: sum(row => row.costUsd),
    unknownCosts: sum(row => row.unknownCosts),
    tokens: sum(row => row.tokens),
    ms: sum(row => row.ms),
  }
}

function taskSummary(state: TaskState, fold: SummaryFold, workflow: Workflow): TaskSummary {
  const { evidence, status, spent } = state
  const { review } = evidence
  const begun = status === 'done' ? 1 : 0
  return {
    id: labelOf(state.task),
    title: state.task.title,
    status,
    proof: status === 'done' ? proofOf(evidence) : null,
    autoApproved: status === 'done' && review?.verdict === 'auto-pass' ? review.note : null,
    attempts: Math.max(state.failures + begun, state.history.length),
    reviews: reviewStages(workflow).reduce((count, stage) => count + (state.performed?.[stage] ?? 0), 0),
    calls: spent.calls,
    costUsd: spent.costUsd,
    unknownCosts: spent.unknownCosts,
    ms: spent.ms,
    note: state.note,
    lastStage: state.endedIn ?? state.history.at(-1)?.stage ?? null,
    branch: fold.branches.get(state.task.id) ?? null,
  }
}

function reviewStages(workflow: Workflow): string[] {
  return Object.entries(workflow.stages).flatMap(([name, stage]) =>
    stage.kind === 'agent' && stage.review === true ? [name] : [],
  )
}

function reviewSummary(tasks: TaskSummary[], workflow: Workflow): ReviewSummary | null {
  if (reviewStages(workflow).length === 0) return null
  const counts = new Map<number, number>()
  for (const { reviews, status } of tasks)
    if (status === 'done' && reviews > 0) counts.set(reviews, (counts.get(reviews) ?? 0) + 1)
  const distribution = [...counts]
    .sort(([a], [b]) => a - b)
    .map(([reviews, count]) => ({ reviews, tasks: count }))
  const atCap = tasks.filter(task => task.autoApproved !== null).map(task => task.id)
  return { distribution, atCap, advice: reviewAdvice(distribution, atCap) }
}

/** How to read the counts (S1-145, G-05). */
function reviewAdvice(distribution: ReviewSummary['distribution'], atCap: string[]): string {
  const all = distribution.reduce((sum, row) => sum + row.tasks, 0)
  if (all === 0) return 'No task has been reviewed yet.'
  if (atCap.length > 0)
    return `Look at ${atCap.join(', ')} yourself: approved only because the review cap was reached.`
  const once = distribution.find(row => row.reviews === 1)?.tasks ?? 0
  const often = distribution.filter(row => row.reviews >= 3).reduce((sum, row) => sum + row.tasks, 0)
  if (once * 2 > all) return 'Mostly one review per task: the review costs little here.'
  if (often * 2 >= all) return 'Many tasks took three or more reviews: the reviews catch real issues.'
  return 'Most tasks took two reviews: one round of corrections each.'
}
