import type { AgentOutcome, Violation } from './outcome.ts'
import type { Signal } from './signals.ts'
import type { Task } from './task.ts'
import { oneLine } from './text.ts'
import type { AgentStage, SignalRule } from './workflow.ts'

/** The judgement of a stage. `unclear`: no valid signal was given. */
export type Verdict = { verdict: 'pass' | 'fail' | 'unclear'; reason: string; detail: string }

/**
 * Judges what an agent did and said. A claim never outweighs a fact: a bad end, a broken rule or an untouched tree is a
 * failure whatever the message says. `committed`: the attempt has made a commit, in this call or before.
 */
export function judgeAgent(
  stage: AgentStage,
  outcome: AgentOutcome,
  task: Task,
  committed = outcome.change.commits.length > 0,
): Verdict {
  const failed = badEnd(outcome) ?? brokenRules(outcome.violations)
  // What it found, if anything, is not worth hearing: where a stage has a way for that, it is simply asked again.
  if (failed) return { verdict: 'unclear', reason: failed, detail: outcome.message }
  const said = judgeSignals(stage.signal, outcome.signals, task, committed)
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

function judgeSignals(
  rule: SignalRule,
  signals: Signal[],
  task: Task,
  committed: boolean,
): Omit<Verdict, 'detail'> {
  switch (rule.from) {
    case 'exit':
      return findings(signals) ?? { verdict: 'pass', reason: '' }
    case 'tags':
      return judgeTags(signals, task, rule.legacy)
    case 'promise':
      return judgePromise(rule, signals, committed)
    case 'verdict':
      return judgeReview(signals)
    case 'report':
    case 'backlog':
      return judgeFiles(signals)
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

/** S2: a promise counts when it is there, nothing said beside it speaks against it, and the facts agree. */
function judgePromise(
  { text, verify }: Extract<SignalRule, { from: 'promise' }>,
  signals: Signal[],
  committed: boolean,
): Omit<Verdict, 'detail'> {
  const found = signals.some(signal => signal.type === 'promise' && signal.text === text)
  const rejected = findings(signals)
  if (rejected) return rejected
  if (!found) return { verdict: 'unclear', reason: 'Promise not found or malformed' }
  const doubt = signals.find(signal => signal.type === 'doubt')
  if (doubt?.type === 'doubt')
    return { verdict: 'unclear', reason: doubt.text ? `${doubt.reason}: ${doubt.text}` : doubt.reason }
  if (verify.fact === 'commit' && !committed)
    return { verdict: 'unclear', reason: 'No commit detected: HEAD did not move' }
  return { verdict: 'pass', reason: '' }
}

/** An agent that says what is wrong is believed, whatever else counts in its stage. */
function findings(signals: Signal[]): Omit<Verdict, 'detail'> | null {
  const verdict = signals.filter(signal => signal.type === 'verdict').at(-1)
  if (verdict?.type !== 'verdict' || verdict.pass) return null
  return { verdict: 'fail', reason: verdict.findings || 'Found issues' }
}

/** What the agent wrote, as the layout read it; nothing written is a rejection. */
function judgeFiles(signals: Signal[]): Omit<Verdict, 'detail'> {
  const judged = signals.filter(signal => signal.type === 'judged').at(-1)
  if (judged?.type !== 'judged') return { verdict: 'fail', reason: 'Wrote no verdict' }
  return { verdict: judged.verdict, reason: judged.reason }
}

/** A review that does not clearly pass is a rejection. */
function judgeReview(signals: Signal[]): Omit<Verdict, 'detail'> {
  const verdict = signals.filter(signal => signal.type === 'verdict').at(-1)
  if (verdict?.type !== 'verdict') return { verdict: 'fail', reason: 'Review gave no verdict' }
  if (verdict.pass) return { verdict: 'pass', reason: '' }
  return { verdict: 'fail', reason: verdict.findings || 'Review found issues' }
}

/** What a soft gate's reviewer found: its lines `WARNING: …`, else its reason for not passing. */
export function softFindings({ verdict, reason }: Omit<Verdict, 'detail'>, message: string): string[] {
  const found = [...message.matchAll(/^[ \t]*(?:[-*][ \t]+)?(?:\*\*)?WARNING:(?:\*\*)?[ \t]*(\S.*)$/gimu)]
  if (found.length > 0) return found.map(match => oneLine(match[1] ?? '', 300))
  return verdict === 'pass' ? [] : [oneLine(reason, 300)]
}
