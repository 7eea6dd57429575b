import type { AnyEvent } from '../core/event.ts'
import { type AgentOutcome, type CommandsOutcome, isExcused, type SettleOutcome } from '../core/outcome.ts'
import type { TaskState } from '../core/state.ts'
import { labelOf } from '../core/task.ts'
import { capital, duration, oneLine, plural } from '../core/text.ts'
import { type AgentStage, stageOf, type Workflow } from '../core/workflow.ts'

export type Line = { mark: 'start' | 'ok' | 'bad' | 'wait' | 'info' | 'done'; text: string; more: string[] }

/** An event in one line for people, with the state that followed. The same words in the terminal, the log file and `ralph logs`. */
export function describeEvent(
  event: AnyEvent,
  state: TaskState | null,
  workflow?: Workflow | undefined,
): Line | null {
  const name = nameOf(state, workflow?.noun ?? 'task')
  switch (event.type) {
    case 'run.started':
      return line('info', `Run ${event.run} started (preset ${event.workflow.name})`)
    case 'run.finished':
      return line(event.reason === 'complete' ? 'done' : 'bad', `Run ended: ${event.message}`)
    case 'run.reviewed':
      return event.pass
        ? line('ok', `${event.agent}, reviewer ${event.reviewer} of the whole: approved`)
        : line('bad', `${event.agent}, reviewer ${event.reviewer} of the whole: ${oneLine(event.findings)}`)
    case 'run.paused':
      return line('wait', `Paused by ${event.by}`)
    case 'run.resumed':
      return line('info', `Resumed by ${event.by}`)
    case 'task.recorded':
      return line('info', `${name} was recorded as done in ${event.source}`)
    case 'task.continued':
      return line(
        'info',
        `${name} goes on after ${plural(event.history.length, 'attempt')}, says ${event.source}`,
      )
    case 'task.reopened':
      return line('info', `${name} begins anew: ${event.why}`)
    case 'task.cancelled':
      return line('bad', `${name} cancelled: ${event.why}`)
    case 'task.steered':
      return line('info', `${name} will be told: ${oneLine(event.text)}`)
    case 'task.moved':
      return line('info', `${name} goes on at ${event.stage}, says ${event.source}`)
    case 'task.added':
    case 'task.changed':
    case 'task.removed':
      return null
    case 'step.started':
      return event.stage === '@baseline'
        ? line('start', `${name} ${titleOf(state)} · how the gates stand before it`)
        : line(
            'start',
            `${name} ${titleOf(state)} · ${event.stage} · ${countOf(event.stage, state, workflow)}`,
          )
    case 'step.interrupted':
      return line(
        'wait',
        `${name} ${event.why}; it does not count`,
        event.kept ? [`the work is kept under ${event.kept}`] : [],
      )
    case 'step.finished':
      return withEnd(finished(event, state, { name, workflow }), event, state)
    default:
      return event satisfies never
  }
}

/** A stage with a limit of its own counts for itself. */
function countOf(stage: string, state: TaskState | null, workflow: Workflow | undefined): string {
  const limit = workflow && stageOf(workflow, stage)?.limit
  if (limit === undefined) return `attempt ${(state?.failures ?? 0) + 1}`
  return `iteration ${state?.visits[stage] ?? 1}/${limit}`
}

/** What a task came to that goes back to the queue, or no longer does. */
function withEnd(found: Line | null, { at }: Finished, state: TaskState | null): Line | null {
  const over = state?.exhausted
  if (!found || over?.at !== at) return found
  const then = state?.status === 'open' ? 'back to the queue' : 'given up'
  return { ...found, more: [...found.more, `${over.reason}; ${then}`] }
}

type Finished = Extract<AnyEvent, { type: 'step.finished' }>

function finished(
  event: Finished,
  state: TaskState | null,
  { name, workflow }: { name: string; workflow: Workflow | undefined },
): Line | null {
  const { outcome } = event
  // The failure that this very step was, if it was one.
  const last = state?.recent.at(-1)
  const failure = last?.at === event.at ? last.reason : null
  switch (outcome.kind) {
    case 'agent': {
      const stage = workflow && stageOf(workflow, event.stage)
      return agentLine(outcome, state, { failure, stage: stage?.kind === 'agent' ? stage : undefined })
    }
    case 'commands':
      return commandsLine(outcome, failure)
    case 'settle':
      return line('done', `${name} done${proof(state)}`, waiting(outcome))
    case 'restore':
      return line(
        'info',
        `Tree put back to where the attempt began${(outcome.branch ?? outcome.kept) ? `; the failed work is kept under ${outcome.branch ?? outcome.kept}` : ''}`,
      )
    case 'engine':
      return null
    default:
      return outcome satisfies never
  }
}

function agentLine(
  outcome: AgentOutcome,
  state: TaskState | null,
  { failure, stage }: { failure: string | null; stage: AgentStage | undefined },
): Line {
  const { fault, fallback } = outcome
  if (state?.status === 'held') return line('bad', state.note)
  if (fault && failure === null && isExcused(fault)) {
    const then = fallback === undefined ? 'waiting' : `${fallback} takes over`
    return line('wait', `${fault.message}; ${then}, this does not count as a try`)
  }
  const who = stage && stage.role !== 'implementer' ? `${outcome.agent} (${stage.role})` : outcome.agent
  const head = `${who} after ${duration(outcome.ms)}${cost(outcome)}`
  if (failure !== null) {
    const why = outcome.violations.map(violation => violation.detail)
    return line('bad', `${head}: ${failure}`, why.slice(0, 5))
  }
  if (stage?.may === 'read') return line('ok', `${head}: approved`)
  const files = plural(outcome.change.files.length + outcome.change.more, 'file')
  return line('ok', `${head}: ${files} changed; claims done, now to be verified`)
}

function commandsLine(outcome: CommandsOutcome, failure: string | null): Line {
  const results = outcome.results.map(result => {
    const tests = result.tests ? `, ${result.tests.passed} passed, ${result.tests.failed} failed` : ''
    return `${result.exit === 0 ? 'green' : `red (exit ${result.exit ?? 'killed'})`}: ${result.command} (${duration(result.ms)}${tests})`
  })
  if (outcome.purpose === 'baseline') {
    const red = outcome.results.filter(result => result.exit !== 0).length
    return line(
      'info',
      red === 0 ? 'Before the task: all gates green' : `Before the task: ${plural(red, 'gate')} red`,
      results,
    )
  }
  if (failure !== null) return line('bad', `Not verified: ${failure}`, results)
  return line(
    'ok',
    outcome.results.length === 0 ? 'No gates: the agent’s word is accepted' : 'Verified',
    results,
  )
}

/** The work could not be brought into the user's branch. */
function waiting({ unmerged }: SettleOutcome): string[] {
  return unmerged ? [`the work is on ${unmerged.branch}: ${unmerged.why} → git merge ${unmerged.branch}`] : []
}

function proof(state: TaskState | null): string {
  const evidence = state?.evidence
  if (!evidence?.gates) return ''
  if (evidence.gates.unverified) return ', unverified'
  const files = (evidence.change?.files.length ?? 0) + (evidence.change?.more ?? 0)
  return `, with evidence: ${plural(files, 'file')} changed, ${plural(evidence.gates.results.length, 'gate')} green`
}

/** What is known of the price: money, and how much of the context was used. */
function cost({ usage, context }: AgentOutcome): string {
  const money = usage.costUsd === null ? '' : `, $${usage.costUsd.toFixed(4)}`
  const window = context?.windowTokens
  return window ? `${money}, ${Math.round((context.usedTokens / window) * 100)} % of its context` : money
}

function nameOf(state: TaskState | null, noun: string): string {
  const word = capital(noun)
  return state ? `${word} ${labelOf(state.task)}` : word
}

function titleOf(state: TaskState | null): string {
  return state?.task.title ? `“${state.task.title}”` : ''
}

function line(mark: Line['mark'], text: string, more: string[] = []): Line {
  return { mark, text, more }
}
