import { describe, expect, it } from 'vitest'
import type { AgentOutcome } from '../../src/core/outcome.ts'
import { readSignals, type Signal } from '../../src/core/signals.ts'
import { judgeAgent, type Verdict } from '../../src/core/verdict.ts'
import type { AgentStage, SignalRule } from '../../src/core/workflow.ts'
import { stories } from '../../src/presets/stories.ts'
import { agent } from '../../src/presets/vocabulary.ts'
import {
  aChange,
  anAgent,
  approves,
  aTask,
  done,
  failed,
  judged,
  promised,
  rejects,
  someRules,
  walk,
} from './build.ts'

function stage(signal: SignalRule): AgentStage {
  return agent({ role: 'r', may: 'write', prompt: 'p', signal, on: { pass: 'done', fail: 'retry' } })
}

const tags: SignalRule = { from: 'tags', legacy: true }

function judge(over: Partial<AgentOutcome>, rule: SignalRule = tags): Omit<Verdict, 'detail'> {
  const { verdict, reason } = judgeAgent(stage(rule), anAgent(over), aTask({ id: '8.3' }))
  return { verdict, reason }
}

/** The whole way from what the agent printed to the verdict. */
function says(message: string, legacy = true): Omit<Verdict, 'detail'> {
  return judge({ signals: readSignals(message, '') }, { from: 'tags', legacy })
}

const pass = { verdict: 'pass', reason: '' }
const fail = (reason: string) => ({ verdict: 'fail', reason })
/** Nothing worth hearing was said; where a stage has no way for that, it is a failure like any other. */
const unheard = (reason: string) => ({ verdict: 'unclear', reason })
const silent = { verdict: 'unclear', reason: 'No completion signal in output' }
const claim: Signal[] = [done('8.3')]

describe('S4-41 how the agent ended comes before what it said', () => {
  it.each<[Partial<AgentOutcome>, string]>([
    [{ ended: 'timeout', exit: null, ms: 1_800_400 }, 'Timeout after 1800s'],
    [{ ended: 'idle', exit: null, ms: 600_000 }, 'No output for too long, stopped after 600s'],
    [{ ended: 'stopped', exit: null }, 'Stopped'],
    [{ exit: 1 }, 'Agent exited with code 1'],
    [{ exit: 124 }, 'Agent exited with code 124'],
    [{ exit: null, killed: 'SIGSEGV' }, 'Agent was killed by SIGSEGV'],
    [{ fault: { kind: 'crash', message: 'claude crashed: out of memory' } }, 'claude crashed: out of memory'],
  ])('%j', (end, reason) => {
    expect(judge({ ...end, signals: claim })).toEqual(unheard(reason))
  })

  it('exit code 0: the output is parsed', () => {
    expect(judge({ exit: 0, signals: claim })).toEqual(pass)
  })
})

describe('S4-42 the order of parsing', () => {
  it('DONE, then FAIL, then the legacy marks', () => {
    expect(says('<ralph>FAIL 8.3: x</ralph>\n<ralph>DONE 8.3</ralph>')).toEqual(pass)
    expect(says('[DONE]\n<ralph>FAIL 8.3: x</ralph>')).toEqual(fail('x'))
    expect(says('[FAIL]\n[DONE]')).toEqual(pass)
  })

  it('learnings are kept whatever the verdict is', () => {
    for (const signals of [[done()], [failed('x')], []]) {
      const one = walk(someRules(stories))
      one.step(anAgent({ signals: [{ type: 'learn', text: 'use cents' }, ...signals] }))
      expect(one.state().learnings).toEqual(['use cents'])
    }
  })
})

it('S4-43 DONE with the asked id is a pass, with another id a failure', () => {
  expect(says('<ralph>DONE 8.3</ralph>')).toEqual(pass)
  expect(says('<ralph>DONE 8.4</ralph>')).toEqual(fail('Signal mismatch: DONE 8.4, expected 8.3'))
  expect(says('<ralph>DONE 8.4</ralph>\n<ralph>DONE 8.3</ralph>')).toEqual(pass)
  expect(says('<ralph>DONE 8.4</ralph>\n[DONE]')).toEqual(fail('Signal mismatch: DONE 8.4, expected 8.3'))
})

it('S4-44 FAIL is a failure with its reason', () => {
  expect(says('<ralph>FAIL 8.3: no such table</ralph>')).toEqual(fail('no such table'))
  expect(says('<ralph>FAIL 8.3</ralph>')).toEqual(fail('Agent reported failure'))
})

it('S4-45 without a tag the legacy marks count, and without these it is a failure', () => {
  expect(says('[DONE]')).toEqual(pass)
  expect(says('[FAIL]')).toEqual(fail('Agent reported [FAIL]'))
  expect(says('I think I am finished.')).toEqual(silent)
  expect(says('<ralph>LEARN: use cents</ralph>')).toEqual(silent)
})

it('H-27 the legacy marks can be switched off', () => {
  expect(says('[DONE]', false)).toEqual(silent)
  expect(says('[FAIL]', false)).toEqual(silent)
  expect(says('<ralph>DONE 8.3</ralph>', false)).toEqual(pass)
})

it('S4-59 confusion, silence and a cut-off answer are failures, not crashes', () => {
  for (const message of ['', '\u0000', '<ralph>DONE 8.', '<ralph>'.repeat(1_000), 'What should I do?']) {
    expect(says(message)).toEqual(silent)
    const one = walk(someRules(stories))
    one.step(anAgent({ signals: readSignals(message, '') }))
    expect(one.state()).toMatchObject({ status: 'open', failures: 1, note: silent.reason })
  }
})

describe('the other ways to speak', () => {
  const promise: SignalRule = { from: 'promise', text: 'QA_PASSED', verify: { contradictions: true } }

  it('a promise must be the one that was asked for', () => {
    expect(judge({ signals: [promised('QA_PASSED')] }, promise)).toEqual(pass)
    const missing = { verdict: 'unclear', reason: 'Promise not found or malformed' }
    for (const signals of [[], [promised('qa_passed')], [done('8.3')]])
      expect(judge({ signals }, promise)).toEqual(missing)
  })

  it('a review passes only by a plain word, the last one given', () => {
    const rule: SignalRule = { from: 'verdict' }
    expect(judge({ signals: [approves] }, rule)).toEqual(pass)
    expect(judge({ signals: [rejects('no test')] }, rule)).toEqual(fail('no test'))
    expect(judge({ signals: [rejects('')] }, rule)).toEqual(fail('Review found issues'))
    expect(judge({ signals: [approves, rejects('wait')] }, rule)).toEqual(fail('wait'))
    expect(judge({ signals: [] }, rule)).toEqual(fail('Review gave no verdict'))
  })

  it('a report and an edit of the backlog are what the layout read in them, and nothing else counts', () => {
    for (const from of ['report', 'backlog'] as const) {
      expect(judge({ signals: [judged('pass')] }, { from })).toEqual(pass)
      expect(judge({ signals: [approves, judged('fail', 'no test')] }, { from })).toEqual(fail('no test'))
      expect(judge({ signals: [judged('unclear', 'not written')] }, { from })).toEqual({
        verdict: 'unclear',
        reason: 'not written',
      })
      expect(judge({ signals: [approves] }, { from })).toEqual(fail('Wrote no verdict'))
    }
  })

  it('a doubt, a rejection or a missing commit takes a promise back', () => {
    const coder: SignalRule = { ...promise, verify: { contradictions: true, fact: 'commit' } }
    const kept = [promised('QA_PASSED')]
    expect(judge({ signals: kept, change: { ...aChange(['a.ts']), commits: ['c1'] } }, coder)).toEqual(pass)
    expect(judge({ signals: kept }, coder)).toEqual({
      verdict: 'unclear',
      reason: 'No commit detected: HEAD did not move',
    })
    const doubt = {
      type: 'doubt' as const,
      reason: 'Output contains contradictions to promise',
      text: 'TODO: x',
    }
    expect(judge({ signals: [...kept, doubt] }, coder)).toEqual({
      verdict: 'unclear',
      reason: 'Output contains contradictions to promise: TODO: x',
    })
    expect(judge({ signals: [...kept, rejects('no test')] }, coder)).toEqual(fail('no test'))
  })

  it('an exit code alone', () => {
    expect(judge({ signals: [] }, { from: 'exit' })).toEqual(pass)
    expect(judge({ exit: 2 }, { from: 'exit' })).toEqual(unheard('Agent exited with code 2'))
    expect(judge({ signals: [rejects('no test')] }, { from: 'exit' })).toEqual(fail('no test'))
  })

  it('a broken rule outweighs every claim', () => {
    const detail = 'Changed the protected file specs/a.md'
    const one = { rule: 'protected-file' as const, path: 'specs/a.md', detail }
    expect(judge({ signals: claim, violations: [one] })).toEqual(unheard(detail))
    expect(judge({ signals: claim, violations: [one, one, one] })).toEqual(unheard(`${detail} (and 2 more)`))
  })
})
