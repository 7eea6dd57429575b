import type { Effect } from '../core/effect.ts'
import type { RunEnd } from '../core/event.ts'
import { proofOf } from '../core/evidence.ts'
import type { RunState } from '../core/run.ts'
import type { TaskState } from '../core/state.ts'
import { ago, plural } from '../core/text.ts'
import { isStuck, type Rules } from '../core/transition.ts'
import { timestamp } from '../reporters/log-file.ts'
import type { EngineNow } from './look.ts'
import { attemptCount } from './stage-words.ts'

/** A command a person can type now, and what it does. */
export type Advice = { command: string; does: string }

/** Why the run goes on or has stopped. */
export function runWords(run: RunState | null, engine: EngineNow, now: number): string[] {
  if (engine?.alive) {
    const { what, pid, since } = engine.holder
    const paused = run?.paused ? ' It is paused: it waits for `ralph resume`.' : ''
    return [`${what} (pid ${pid}) has been working for ${ago(now - since)}.${paused}`]
  }
  if (!run) return ['No run was made yet.']
  if (run.end !== null)
    return [`The last run ended ${ago(now - run.endedAt)} ago ${ends[run.end]}: ${run.message}.`]
  return [
    `The last run began ${ago(now - run.startedAt)} ago and wrote no end: ${
      engine ? `its engine (pid ${engine.holder.pid}) is gone` : 'it was made of single steps, or cut off'
    }. What was under way does not count and is taken again.`,
    ...(run.paused ? ['It was paused.'] : []),
  ]
}

const ends: Record<RunEnd, string> = {
  complete: 'because every task it was to do is done',
  halted: 'because a task has used up its tries and a person must look',
  failed: 'because tasks failed and nothing else was left to do',
  blocked: 'because no open task could be begun',
  budget: 'because its budget is used up',
  held: 'because something is in the way that is not the task’s fault (login, permission, outage)',
  cancelled: 'because somebody cancelled it',
  interrupted: 'because it was interrupted (Ctrl-C or a signal)',
  paused: 'because it was paused',
  'dry-run': 'as a dry run',
  error: 'with an error',
}

/** What is to be done next for a task, as an action. */
export function effectWords(effect: Effect, state: TaskState, rules: Rules | null): string {
  const { n, of } = attemptCount(state, rules)
  switch (effect.type) {
    case 'baseline':
      return `run the gates once, to know what is red before attempt ${n}/${of}`
    case 'agent':
      return `call the agent (stage ${effect.stage}, attempt ${n}/${of})`
    case 'commands':
      return `run the gates (stage ${effect.stage}, attempt ${n}/${of})`
    case 'engine':
      return `stage ${effect.stage}`
    case 'restore':
      return 'put the tree back to where the attempt began and keep the work aside'
    case 'settle':
      return 'commit what is left and write the preset’s files'
    default:
      return effect satisfies never
  }
}

export type Needed = { id: string; status: string }

/** Why a task is where it is. `needs`: what it depends on and is not done. `strict`: whether it waits for that. */
export function taskWords(
  state: TaskState,
  context: { rules: Rules | null; needs: Needed[]; strict: boolean; now: number },
): string[] {
  const { rules, needs, strict, now } = context
  const words = [statusWords(state, rules)]
  for (const { attempt, stage, reason, at } of state.history.slice(-5)) {
    words.push(`Attempt ${attempt} (${timestamp(at)}) failed at ${stage}: ${reason}.`)
  }
  const { same } = state.stuck
  if (state.status === 'open' && state.exhausted)
    words.push(`It went back to the queue ${timestamp(state.exhausted.at)}: ${state.exhausted.reason}.`)
  if (state.status !== 'done' && same > 1) words.push(`The same failure came ${same} times in a row.`)
  if (rules && state.status === 'open' && isStuck(rules, state)) {
    words.push('The next attempt is told to try something fundamentally different.')
  }
  if (state.waitUntil > now) {
    words.push(`It waits until ${timestamp(state.waitUntil)} (${ago(state.waitUntil - now)}): ${state.note}.`)
  }
  for (const { id, status } of needs) {
    const waits = strict ? 'it waits for that (--strict-deps)' : 'with --strict-deps it waits for that'
    words.push(`It depends on ${id}, which is ${status}; ${waits}.`)
  }
  for (const text of state.steering) words.push(`The next prompt will tell the agent: ${text}`)
  if (state.step)
    words.push(`Step ${state.step.id} (${state.step.stage}) began at ${timestamp(state.step.at)}.`)
  if (state.status === 'open' && state.next) words.push(`Next: ${effectWords(state.next, state, rules)}.`)
  return words
}

function statusWords(state: TaskState, rules: Rules | null): string {
  const { status, note } = state
  const last = note ? ` The reason: ${note}.` : ''
  switch (status) {
    case 'open': {
      if (state.failures === 0)
        return state.startedAt === 0
          ? 'It is open; no attempt was made yet.'
          : 'It is open; its work has begun.'
      const { of } = attemptCount({ ...state, stage: null }, rules)
      return `It is open; ${state.failures} of ${plural(of, 'try', 'tries')} failed.`
    }
    case 'done': {
      const proof = proofOf(state.evidence)
      if (proof === 'recorded')
        return `It counts as done because ${state.evidence.recorded ?? 'the preset’s own files'} recorded it before this journal began.`
      return proof === 'verified'
        ? 'It is done, and the gates proved it.'
        : 'It is done by the agent’s word only: no gate ran (`verify: none`).'
    }
    case 'halted':
      return `It is halted, out of tries: a person must look.${last}`
    case 'failed':
      return `It is given up, and the run goes on without it.${last}`
    case 'held':
      return `It is held by something that is not its fault, and goes on where it was.${last}`
    case 'cancelled':
      return `It is cancelled.${last}`
    case 'removed':
      return 'It is no longer in the backlog.'
    default:
      return status satisfies never
  }
}

/** What a person can do about a task. */
export function taskAdvice({ task: { id }, status, history, spent }: TaskState): Advice[] {
  const look: Advice[] = spent.calls > 0 ? [{ command: `ralph logs ${id}`, does: 'what happened' }] : []
  const steer = { command: `ralph steer ${id} "…"`, does: 'tell the agent something with its next prompt' }
  switch (status) {
    case 'done':
      return [
        { command: `ralph evidence ${id}`, does: 'what proves it' },
        { command: `ralph verify ${id}`, does: 'whether it still holds' },
      ]
    case 'halted':
    case 'failed':
    case 'cancelled':
      return [
        ...look,
        steer,
        { command: `ralph retry ${id}`, does: 'begin it anew with the next run' },
        { command: 'ralph run', does: 'go on' },
      ]
    case 'held':
      return [
        ...look,
        { command: 'ralph doctor', does: 'see what is in the way' },
        { command: 'ralph run', does: 'go on, once it is mended' },
      ]
    case 'open':
      return [
        ...look,
        ...(history.length > 0 ? [steer] : []),
        { command: `ralph cancel ${id}`, does: 'take it out' },
      ]
    case 'removed':
      return look
    default:
      return status satisfies never
  }
}
