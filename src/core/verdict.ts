import type { AgentOutcome, Violation } from './outcome.ts'
import type { Signal } from './signals.ts'
import type { Task } from './task.ts'
import type { AgentStage, SignalRule } from './workflow.ts'

/** The judgement of a stage. `unclear`: no valid signal was given. */
export type Verdict = { verdict: 'pass' | 'fail' | 'unclear'; reason: string; detail: string }

/**
 * Judges what an agent did and said. A claim never outweighs a fact: a bad end, a broken rule or an untouched tree is a
 * failure whatever the message says.
 */
export function judgeAgent(stage: AgentStage, outcome: AgentOutcome, task: Task): Verdict {
  const failed = badEnd(outcome) ?? brokenRules(outcome.violations)
  if (failed) return { verdict: 'fail', reason: failed, detail: outcome.message }
  const said = judgeSignals(stage.signal, outcome.signals, task)
  return { ...said, detail: outcome.message }
}

/** How the process ended, when that alone is a failure. */
function badEnd(outcome: AgentOutcome): string | null {
  if (outcome.fault) return outcome.fault.message
  if (outcome.ended === 'timeout') return `Timeout after ${Math.round(outcome.ms / 1000)}s`
  if (outcome.ended === 'idle')
    return `No output for too long, stopped after ${Math.round(outcome.ms / 1000)}s`
  if (outcome.ended === 'stopped') return 'Stopped'
  if (outcome.killed) return `Agent was killed by ${outcome.killed}`
  if (outcome.exit !== 0) return `Agent exited with code ${outcome.exit}`
  return null
}

function brokenRules(violations: Violation[]): string | null {
  const first = violations[0]
  if (!first) return null
  const rest = violations.length > 1 ? ` (and ${violations.length - 1} more)` : ''
  return `${first.detail}${rest}`
}

function judgeSignals(rule: SignalRule, signals: Signal[], task: Task): Omit<Verdict, 'detail'> {
  switch (rule.from) {
    case 'exit':
      return { verdict: 'pass', reason: '' }
    case 'tags':
      return judgeTags(signals, task, rule.legacy)
    case 'promise':
      return signals.some(signal => signal.type === 'promise' && signal.text === rule.text)
        ? { verdict: 'pass', reason: '' }
        : { verdict: 'unclear', reason: 'Promise not found or malformed' }
    case 'verdict':
    case 'report':
      return judgeReview(signals)
    case 'backlog':
      return { verdict: 'pass', reason: '' }
    default:
      return rule satisfies never
  }
}

/** S4: DONE for the asked id, then FAIL, then the legacy marks, else no signal. */
function judgeTags(signals: Signal[], task: Task, legacy: boolean): Omit<Verdict, 'detail'> {
  const done = signals.filter(signal => signal.type === 'done' && !signal.legacy)
  if (done.some(signal => signal.type === 'done' && signal.id === task.id))
    return { verdict: 'pass', reason: '' }
  const other = done[0]
  if (other?.type === 'done') {
    return { verdict: 'fail', reason: `Signal mismatch: DONE ${other.id}, expected ${task.id}` }
  }
  const fail = signals.find(signal => signal.type === 'fail' && !signal.legacy)
  if (fail?.type === 'fail') return { verdict: 'fail', reason: fail.reason || 'Agent reported failure' }
  if (legacy && signals.some(signal => signal.type === 'done' && signal.legacy))
    return { verdict: 'pass', reason: '' }
  if (legacy && signals.some(signal => signal.type === 'fail' && signal.legacy)) {
    return { verdict: 'fail', reason: 'Agent reported [FAIL]' }
  }
  return { verdict: 'unclear', reason: 'No completion signal in output' }
}

/** A review that does not clearly pass is a rejection. */
function judgeReview(signals: Signal[]): Omit<Verdict, 'detail'> {
  const verdict = signals.filter(signal => signal.type === 'verdict').at(-1)
  if (verdict?.type !== 'verdict') return { verdict: 'fail', reason: 'Review gave no verdict' }
  if (verdict.pass) return { verdict: 'pass', reason: '' }
  return { verdict: 'fail', reason: verdict.findings || 'Review found issues' }
}
