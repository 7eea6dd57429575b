import type { AnyEvent } from '../core/event.ts'
import type { AgentOutcome, CommandsOutcome } from '../core/outcome.ts'
import type { TaskState } from '../core/state.ts'
import { duration, oneLine, plural } from '../core/text.ts'

export type Line = { mark: 'start' | 'ok' | 'bad' | 'wait' | 'info' | 'done'; text: string; more: string[] }

/** An event in one line for people, with the state that followed. The same words in the terminal, the log file and `ralph logs`. */
export function describeEvent(event: AnyEvent, state: TaskState | null): Line | null {
  switch (event.type) {
    case 'run.started':
      return line('info', `Run ${event.run} started (preset ${event.workflow.name})`)
    case 'run.finished':
      return line(event.reason === 'complete' ? 'done' : 'bad', `Run ended: ${event.message}`)
    case 'run.paused':
      return line('wait', `Paused by ${event.by}`)
    case 'run.resumed':
      return line('info', `Resumed by ${event.by}`)
    case 'task.recorded':
      return line('info', `${name(state)} was recorded as done in ${event.source}`)
    case 'task.reopened':
      return line('info', `${name(state)} begins anew: ${event.why}`)
    case 'task.cancelled':
      return line('bad', `${name(state)} cancelled: ${event.why}`)
    case 'task.steered':
      return line('info', `${name(state)} will be told: ${oneLine(event.text)}`)
    case 'task.added':
    case 'task.changed':
    case 'task.removed':
      return null
    case 'step.started':
      return event.stage === '@baseline'
        ? line('start', `${name(state)} ${titleOf(state)} · how the gates stand before it`)
        : line(
            'start',
            `${name(state)} ${titleOf(state)} · ${event.stage} · attempt ${(state?.failures ?? 0) + 1}`,
          )
    case 'step.interrupted':
      return line(
        'wait',
        `${name(state)} ${event.why}; it does not count`,
        event.kept ? [`the work is kept under ${event.kept}`] : [],
      )
    case 'step.finished':
      return finished(event.outcome, state)
    default:
      return event satisfies never
  }
}

function finished(
  outcome: Extract<AnyEvent, { type: 'step.finished' }>['outcome'],
  state: TaskState | null,
): Line | null {
  switch (outcome.kind) {
    case 'agent':
      return agentLine(outcome, state)
    case 'commands':
      return commandsLine(outcome, state)
    case 'settle':
      return line('done', `${name(state)} done${proof(state)}`)
    case 'restore':
      return line(
        'info',
        `Tree put back to where the attempt began${outcome.kept ? `; the failed work is kept under ${outcome.branch ?? outcome.kept}` : ''}`,
      )
    case 'engine':
      return null
    default:
      return outcome satisfies never
  }
}

function agentLine(outcome: AgentOutcome, state: TaskState | null): Line {
  const took = `${duration(outcome.ms)}${cost(outcome)}`
  const files = plural(outcome.change.files.length + outcome.change.more, 'file')
  const failure = state?.recent.at(-1)
  if (outcome.fault && state && state.waitUntil > 0) {
    return line('wait', `${outcome.fault.message}; waiting, this does not count as a try`)
  }
  if (state?.status === 'held') return line('bad', state.note)
  const rejected = state !== null && (state.next?.type === 'restore' || state.status !== 'open') && failure
  if (rejected) {
    const why = outcome.violations.map(violation => violation.detail)
    return line('bad', `${outcome.agent} after ${took}: ${failure.reason}`, why.slice(0, 5))
  }
  return line('ok', `${outcome.agent} after ${took}: ${files} changed; claims done, now to be verified`)
}

function commandsLine(outcome: CommandsOutcome, state: TaskState | null): Line {
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
  const failure = state?.recent.at(-1)
  const rejected = state?.next?.type !== 'settle' && failure && state?.next?.type === 'restore'
  if (rejected || (state && state.status === 'halted'))
    return line('bad', `Not verified: ${failure?.reason ?? state?.note ?? ''}`, results)
  return line(
    'ok',
    outcome.results.length === 0 ? 'No gates: the agent’s word is accepted' : 'Verified',
    results,
  )
}

function proof(state: TaskState | null): string {
  const evidence = state?.evidence
  if (!evidence?.gates) return ''
  if (evidence.gates.unverified) return ', unverified'
  const files = (evidence.change?.files.length ?? 0) + (evidence.change?.more ?? 0)
  return `, with evidence: ${plural(files, 'file')} changed, ${plural(evidence.gates.results.length, 'gate')} green`
}

function cost(outcome: AgentOutcome): string {
  return outcome.usage.costUsd === null ? '' : `, $${outcome.usage.costUsd.toFixed(4)}`
}

function name(state: TaskState | null): string {
  return state ? `Story ${state.task.id}` : 'Task'
}

function titleOf(state: TaskState | null): string {
  return state?.task.title ? `“${state.task.title}”` : ''
}

function line(mark: Line['mark'], text: string, more: string[] = []): Line {
  return { mark, text, more }
}
