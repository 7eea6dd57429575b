import type { AnyEvent, RunEnd, WholeReview } from './event.ts'
import { type Health, healthAfter } from './fallback.ts'
import { isExcused, type Usage } from './outcome.ts'
import type { Rules } from './transition.ts'

/** The fold of all events of one run: what it was allowed, what it has used. Budgets are derived from events, so that any worker on any machine comes to the same number. */
export type RunState = {
  id: string
  rules: Rules | null
  startedAt: number
  endedAt: number
  status: 'open' | 'finished'
  end: RunEnd | null
  message: string
  paused: boolean
  /** Units of `limits.iterations`. */
  iterations: number
  /** Steps begun; numbers their folders. */
  steps: number
  /** Agent calls, refunded ones too. */
  calls: number
  costUsd: number
  unknownCosts: number
  tokens: number
  host: string
  pid: number
  /** What reviewers of the whole have said in this run. */
  reviews?: WholeReview[]
  /** How the agents of a list have been, by their entry. */
  health?: Record<string, Health>
}

export function newRunState(id: string): RunState {
  return {
    id,
    rules: null,
    startedAt: 0,
    endedAt: 0,
    status: 'open',
    end: null,
    message: '',
    paused: false,
    iterations: 0,
    steps: 0,
    calls: 0,
    costUsd: 0,
    unknownCosts: 0,
    tokens: 0,
    host: '',
    pid: 0,
  }
}

export function foldRun(run: RunState, event: AnyEvent): RunState {
  switch (event.type) {
    case 'run.started':
      return {
        ...run,
        rules: { workflow: event.workflow, verify: event.verify },
        startedAt: event.at,
        host: event.host,
        pid: event.pid,
      }
    case 'run.finished':
      return { ...run, status: 'finished', end: event.reason, message: event.message, endedAt: event.at }
    case 'run.reviewed': {
      const { reviewer, agent, base, head, pass, findings } = event
      const reviews = [...(run.reviews ?? []), { reviewer, agent, base, head, pass, findings }]
      return { ...spendRun(run, event.usage), reviews }
    }
    case 'run.paused':
      return { ...run, paused: true }
    case 'run.resumed':
      return { ...run, paused: false }
    case 'step.started':
      return { ...run, steps: run.steps + 1 }
    case 'step.finished': {
      const iterations = run.iterations + iterationOf(run.rules, event)
      const { outcome } = event
      if (outcome.kind !== 'agent') return { ...run, iterations }
      return {
        ...spendRun(run, outcome.usage),
        iterations,
        ...(outcome.choice === undefined
          ? {}
          : {
              health: {
                ...run.health,
                [outcome.choice]: healthAfter(run.health?.[outcome.choice], outcome, event.at),
              },
            }),
      }
    }
    // `ralph retry` means now, with the first agent.
    case 'task.reopened':
      return run.health ? { ...run, health: {} } : run
    default:
      return run
  }
}

/** One agent call more. */
function spendRun(run: RunState, { costUsd, inputTokens, outputTokens }: Usage): RunState {
  return {
    ...run,
    calls: run.calls + 1,
    costUsd: run.costUsd + (costUsd ?? 0),
    unknownCosts: run.unknownCosts + (costUsd === null ? 1 : 0),
    tokens: run.tokens + (inputTokens ?? 0) + (outputTokens ?? 0),
  }
}

/** What a finished step adds to the run's iterations, as its preset counts them. */
function iterationOf(
  rules: Rules | null,
  { stage, outcome }: Extract<AnyEvent, { type: 'step.finished' }>,
): number {
  if (!rules) return 0
  const { workflow } = rules
  if (outcome.kind === 'agent' && outcome.fault && isExcused(outcome.fault)) return 0
  switch (workflow.iteration) {
    case 'call':
      return outcome.kind === 'agent' ? 1 : 0
    // The first stage need not be an agent's.
    case 'attempt':
      return stage === workflow.start ? 1 : 0
    case 'task':
      return outcome.kind === 'settle' ? 1 : 0
    default:
      return workflow.iteration satisfies never
  }
}
