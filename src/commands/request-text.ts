import type { TaskState } from '../core/state.ts'
import { ago } from '../core/text.ts'
import type { Rules } from '../core/transition.ts'
import type { RequestKind } from '../store/dispatch.ts'
import { attemptCount } from './stage-words.ts'

export type Asked = {
  kind: Exclude<RequestKind, 'stop'>
  task: string | null
  /** The task as it was when the request was made; null for a request without one, or a task no run has seen yet. */
  state: TaskState | null
  /** The step under way, whichever task it belongs to. */
  under: { task: string; stage: string; since: number } | null
  rules: Rules | null
  now: number
}

/** What came of the request: the engine's answer, no answer yet, or no engine to give one. */
export type Answer = { type: 'taken'; result: string } | { type: 'waiting' } | { type: 'no-engine' }

/** What the person is told, and whether it is what was asked for. */
export function requestText(asked: Asked, answer: Answer): { ok: boolean; text: string } {
  switch (answer.type) {
    case 'taken':
      return refused(answer.result)
        ? { ok: false, text: `${asked.kind}: ${answer.result}` }
        : { ok: true, text: takenText(asked, answer.result) }
    case 'waiting':
      return { ok: true, text: waitingText(asked) }
    case 'no-engine':
      return { ok: true, text: `no engine is running; ${laterText(asked)}` }
    default:
      return answer satisfies never
  }
}

/** The engine's own words for a request that it could not follow. */
function refused(result: string): boolean {
  return /^(?:no task|task )/u.test(result)
}

function takenText({ kind, task, state, rules }: Asked, result: string): string {
  switch (kind) {
    case 'cancel': {
      if (task === null) return 'Cancelled: the run ends; nothing is lost, `ralph run` goes on from here'
      if (!state || (state.step === null && state.base === null)) return `Cancelled ${task}`
      const { n, of } = attemptCount(state, rules)
      return `Cancelled Ralph loop for ${task} at iteration ${n}/${of}`
    }
    case 'pause':
      return 'Paused; `ralph resume` goes on'
    case 'resume':
      return 'Resumed'
    case 'retry':
      return task === null ? `Retry: ${result}` : `${task} begins anew`
    case 'steer':
      return `${task} will be told with its next prompt`
    default:
      return kind satisfies never
  }
}

/** An engine looks at requests between two steps; only a cancel reaches into one. */
function waitingText({ kind, task, under, now }: Asked): string {
  const step = under ? `${under.task} (${under.stage}, for ${ago(now - under.since)})` : 'its step'
  switch (kind) {
    case 'cancel':
      return `Asked: the agent is being ended${task === null ? ', then the run stops' : ''}; \`ralph status\` shows it`
    case 'pause':
      return `Asked: the loop pauses when ${step} is over`
    case 'resume':
      return `Asked: the loop goes on when ${step} is over`
    case 'retry':
      return `Asked: taken up when ${step} is over`
    case 'steer':
      return `Asked: ${task} will be told with its next prompt, once ${step} is over`
    default:
      return kind satisfies never
  }
}

function laterText({ kind, task }: Asked): string {
  switch (kind) {
    case 'cancel':
      return `the next \`ralph run\` will leave ${task} out (until \`ralph retry ${task}\`)`
    case 'pause':
      return 'the next `ralph run` will wait at its start until `ralph resume`'
    case 'resume':
      return 'the next `ralph run` will go on'
    case 'retry':
      return task === null
        ? 'the next `ralph run` will begin anew with all that stopped'
        : `the next \`ralph run\` will begin anew with ${task}`
    case 'steer':
      return `the next \`ralph run\` will tell ${task} with its first prompt`
    default:
      return kind satisfies never
  }
}
