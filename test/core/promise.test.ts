import { describe, expect, it } from 'vitest'
import { promiseDoubts } from '../../src/core/promise.ts'
import { readSignals } from '../../src/core/signals.ts'
import { judgeAgent } from '../../src/core/verdict.ts'
import type { AgentStage, PromiseChecks, SignalRule } from '../../src/core/workflow.ts'
import { pipeline } from '../../src/presets/pipeline.ts'
import { aChange, anAgent, aTask, promised, someRules, type Walk, walk } from './build.ts'

const contradiction = 'Output contains contradictions to promise'
const doubtsOf = (message: string) => promiseDoubts(message.split('\n'), { contradictions: true })

describe('S2-30 S2-T04 H-19 what takes a promise back', () => {
  it.each([
    ['TODO:', 'TODO: handle the empty cart'],
    ['FIXME:', '- FIXME: the rounding is off'],
    ['not yet implemented', 'The export is Not yet implemented.'],
    ['still need to', 'I still need to write the docs.'],
    ['remaining work', 'Remaining work: the migration'],
    ['blocked by', 'I am blocked by a missing API key.'],
    ['cannot complete', 'I cannot complete this without access.'],
    ['tests? fail', 'All done; 2 tests fail.'],
    ['tests? fail', 'One test fails on Windows.'],
    ['a denial of something else', 'No, the tests fail.'],
    ['a denial in another clause', 'It does not work, tests fail.'],
    ['a denial behind "and"', '0 tests pass and 12 tests fail'],
    ['a number that ends in 0', '10 tests fail'],
    ['no denial at all', 'No doubt the tests fail.'],
    ['a condition that is the failure itself', 'The tests fail when input is null.'],
    ['something else was fixed', 'I fixed the parser but two tests fail.'],
    ['not resolved', 'The tests fail, which is not fixed.'],
    ['a sentence over two lines', 'Everything is there, only three of the\ntests fail for now.'],
    ['beside a quotation', 'I removed "TODO:" but TODO: write docs'],
  ])('%s: %s', (_, message) => {
    const [doubt, ...more] = doubtsOf(message)
    expect(more).toEqual([])
    expect(doubt?.reason).toBe(contradiction)
    // The words that were taken for it are told.
    expect(message.replace(/\s+/gu, ' ')).toContain(doubt?.text)
    expect(doubt?.text).not.toBe('')
  })

  it.each([
    'No tests fail.',
    'None of the tests fail any more.',
    'none of the\ntests fail',
    'Now 0 tests fail.',
    'I made sure that no test fails.',
    'The tests don’t fail.',
    'Nothing is blocked by this.',
    'It is not blocked by anything.',
    "It isn't blocked by the migration any longer.",
    'There is no remaining work.',
    'Remaining work: none',
    '## Remaining work\n\nNone.',
    'TODO: nothing',
    'Test failures: 0',
    'The TODO list is empty.',
    'There is no TODO: left in src.',
    'Removed the last TODO: in the parser.',
    'Finished the remaining work.',
    'Fixed the race that made the tests fail.',
    'The tests fail when input is null, which is now handled.',
    'Three tests failed at first and now pass.',
    'I watched the new tests fail first, then pass.',
    'If the tests fail on your machine, run npm ci.',
    'The command exits with 1 when tests fail.',
    'The marker `TODO:` is recognised.',
    'The marker "FIXME:" is recognised, and so is ‘TODO:’.',
    "Lines with 'TODO:' are listed.",
    'A todo: list is shown.',
  ])('is not taken back by: %s', message => {
    expect(doubtsOf(message)).toEqual([])
  })

  it('code, quotations and echoes are not the agent’s own words', () => {
    const prompt = 'Do it.\nTODO: one\nTODO: two\nTODO: three\n'
    const rule: SignalRule = { from: 'promise', text: 'X', verify: { contradictions: true } }
    const quiet = [
      '```\nTODO: in code\n```',
      '> the tests fail, said the reviewer',
      '    TODO: indented code',
      'TODO: one\nTODO: two\nTODO: three',
    ]
    for (const message of quiet)
      expect(readSignals(`${message}\n\nDone.\n\n<promise>X</promise>`, prompt, rule)).toEqual([
        { type: 'promise', text: 'X' },
      ])
    expect(readSignals('TODO: four\n<promise>X</promise>', prompt, rule)).toEqual([
      { type: 'promise', text: 'X' },
      { type: 'doubt', reason: contradiction, text: 'TODO: four' },
    ])
  })

  it('noise of any length is judged at once', () => {
    const started = performance.now()
    for (const noise of [
      'no '.repeat(100_000),
      'TODO: no '.repeat(30_000),
      ' '.repeat(300_000),
      "'".repeat(100_000),
    ])
      doubtsOf(noise)
    expect(performance.now() - started).toBeLessThan(5_000)
  })
})

describe('the words a stage must say', () => {
  const must = (words: string[], message: string) =>
    promiseDoubts(message.split('\n'), { contradictions: false, must: { words, reason: 'not said' } })
      .length === 0

  it('in any case, unless the word is written in capitals', () => {
    expect(must(['approved'], 'Approved by me')).toBe(true)
    expect(must(['REVIEW PASSED'], 'REVIEW PASSED')).toBe(true)
    expect(must(['REVIEW PASSED'], 'the review passed')).toBe(false)
  })

  it('a word that is denied was not said', () => {
    expect(must(['approved'], 'This is not approved.')).toBe(false)
    expect(must(['commit', 'committed'], 'No commit was made')).toBe(false)
    expect(must(['passed'], 'Not one test passed')).toBe(false)
    expect(must(['passed'], 'No test was skipped, 12 passed')).toBe(true)
  })
})

/** A whole message, judged as the engine does it. */
function judge(stage: string, message: string, over: { commits?: string[]; verify?: PromiseChecks } = {}) {
  const found = pipeline.stages[stage]
  if (found?.kind !== 'agent' || found.signal.from !== 'promise') throw new Error(`no promise in ${stage}`)
  const signal = over.verify ? { ...found.signal, verify: over.verify } : found.signal
  const agent: AgentStage = { ...found, signal }
  const signals = readSignals(message, '', signal)
  const change = { ...aChange(['a.ts']), commits: over.commits ?? ['c1'] }
  const { verdict, reason } = judgeAgent(agent, anAgent({ signals, change }), aTask())
  return { verdict, reason }
}
const believed = { verdict: 'pass', reason: '' }
const doubted = (reason: string) => ({ verdict: 'unclear', reason })

describe('S2-26 S2-28 S2-T03 H-23 the tag', () => {
  const with_ = (tag: string) => judge('qa', `All is well.\n\n${tag}\n`)
  it.each([
    ['on its own line', '<promise>QA_PASSED</promise>', true],
    ['in bold', '**<promise>QA_PASSED</promise>**', true],
    ['inside a sentence', 'I say <promise>QA_PASSED</promise> now', false],
    ['in another case', '<promise>qa_passed</promise>', false],
    ['with another text', '<promise>TESTS_COMPLETE</promise>', false],
    ['with room in it', '<promise> QA_PASSED </promise>', false],
    ['not closed', '<promise>QA_PASSED', false],
    ['in a code block', '```\n<promise>QA_PASSED</promise>\n```', false],
    ['quoted', '> <promise>QA_PASSED</promise>', false],
    ['in backticks', '`<promise>QA_PASSED</promise>`', false],
  ])('%s', (_, tag, found) => {
    expect(with_(tag)).toEqual(found ? believed : doubted('Promise not found or malformed'))
  })
})

describe('S2-27 S2-29 S2-31 S2-32 S2-33 S2-34 S2-T04 the levels, in their order and with their exact reasons', () => {
  const said = (stage: string, words: string, promise: string) =>
    judge(stage, `${words}\n\n<promise>${promise}</promise>`)

  it('coder: a commit is said, and there is one', () => {
    const promise = 'IMPLEMENTATION_COMPLETE'
    expect(said('coder', 'Committed as abc.', promise)).toEqual(believed)
    expect(said('coder', 'See the last COMMIT.', promise)).toEqual(believed)
    expect(said('coder', 'It works.', promise)).toEqual(doubted('No commit detected in coder output'))
    const lie = judge('coder', `Committed.\n<promise>${promise}</promise>`, { commits: [] })
    expect(lie).toEqual(doubted('No commit detected: HEAD did not move'))
  })

  it('tester: passing tests are said', () => {
    expect(said('tester', '12 tests Passed', 'TESTS_COMPLETE')).toEqual(believed)
    expect(said('tester', 'TESTS PASSED', 'TESTS_COMPLETE')).toEqual(believed)
    expect(said('tester', 'All good.', 'TESTS_COMPLETE')).toEqual(doubted('No passing tests detected'))
  })

  it('reviewer: an approval is said', () => {
    expect(said('reviewer', 'REVIEW PASSED', 'REVIEW_COMPLETE')).toEqual(believed)
    expect(said('reviewer', 'Approved.', 'REVIEW_COMPLETE')).toEqual(believed)
    expect(said('reviewer', 'Looks fine.', 'REVIEW_COMPLETE')).toEqual(doubted('No review approval detected'))
  })

  it('qa: no rule of its own', () => {
    expect(said('qa', 'Fine.', 'QA_PASSED')).toEqual(believed)
  })

  it('the form comes first, then contradictions, then the stage’s own rule', () => {
    expect(judge('tester', 'TODO: all of it')).toEqual(doubted('Promise not found or malformed'))
    expect(said('tester', 'TODO: all of it', 'TESTS_COMPLETE')).toEqual(
      doubted(`${contradiction}: TODO: all of it`),
    )
  })

  it('S2-35 without verification the tag is enough', () => {
    const verify = { contradictions: false }
    expect(
      judge('coder', 'TODO: all\n<promise>IMPLEMENTATION_COMPLETE</promise>', { verify, commits: [] }),
    ).toEqual(believed)
    expect(judge('coder', 'TODO: all', { verify })).toEqual(doubted('Promise not found or malformed'))
  })

  it('H-22 what a reviewer finds outweighs its promise', () => {
    const message =
      'Approved.\n\nVERDICT: fail: no test for the empty cart\n\n<promise>REVIEW_COMPLETE</promise>'
    expect(judge('reviewer', message)).toEqual({ verdict: 'fail', reason: 'no test for the empty cart' })
  })
})

describe('S2-07 S2-08 S2-09 S2-T01 the loop of a stage', () => {
  const rules = someRules(pipeline, 'none')
  const promise = promised('IMPLEMENTATION_COMPLETE')
  const kept = anAgent({ signals: [promise], change: { ...aChange(['a.ts']), commits: ['c1'] } })
  const doubt = { type: 'doubt' as const, reason: contradiction, text: 'TODO: x' }
  /** The stage under way, its iteration and the loop's start. */
  const look = (one: Walk) => {
    const { stage, visits, loop } = one.state()
    return { stage, iteration: visits[stage ?? ''], loop }
  }

  it('starts with iteration 1, and goes on with the next as long as there is no promise that holds', () => {
    const one = walk(rules)
    expect(look(one)).toEqual({ stage: 'coder', iteration: 1, loop: undefined })
    one.step(anAgent())
    expect(look(one)).toMatchObject({ stage: 'coder', iteration: 2, loop: { stage: 'coder' } })
    one.step(anAgent({ signals: [promise, doubt] }))
    expect(look(one)).toMatchObject({ stage: 'coder', iteration: 3 })
    one.step(kept)
    expect(look(one)).toEqual({ stage: 'reviewer', iteration: 1, loop: undefined })
  })

  it('with verification off a promise is enough', () => {
    const { coder } = pipeline.stages
    if (coder?.kind !== 'agent') throw new Error('no coder')
    const signal: SignalRule = {
      from: 'promise',
      text: 'IMPLEMENTATION_COMPLETE',
      verify: { contradictions: false },
    }
    const stages = { ...pipeline.stages, coder: { ...coder, signal } }
    const one = walk(someRules({ ...pipeline, stages }, 'none'))
    one.step(
      anAgent({ signals: readSignals('TODO: x\n<promise>IMPLEMENTATION_COMPLETE</promise>', '', signal) }),
    )
    expect(look(one)).toMatchObject({ stage: 'reviewer' })
  })

  it('S2-15 a limit of N is N calls, and then the pass is over', () => {
    const one = walk(rules)
    let calls = 0
    for (; one.state().pass === 1; calls++) one.step(anAgent())
    expect(calls).toBe(15)
    expect(one.state().note).toBe('Ralph loop exceeded 15 iterations: Promise not found or malformed')
  })

  it('ends when a person cancels the task', () => {
    const one = walk(rules)
    one.step(anAgent())
    one.tell({ type: 'task.cancelled', why: 'cancelled by me' })
    expect(one.state()).toMatchObject({ status: 'cancelled', next: { type: 'restore' } })
  })
})
