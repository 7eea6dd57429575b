import type { AnyEvent, RunEnd } from './event.ts'
import { isExcused } from './outcome.ts'
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
      const { costUsd, inputTokens, outputTokens } = outcome.usage
      return {
        ...run,
        iterations,
        calls: run.calls + 1,
        costUsd: run.costUsd + (costUsd ?? 0),
        unknownCosts: run.unknownCosts + (costUsd === null ? 1 : 0),
        tokens: run.tokens + (inputTokens ?? 0) + (outputTokens ?? 0),
      }
    }
    default:
      return run
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
