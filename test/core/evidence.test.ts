import { describe, expect, it } from 'vitest'
import { type Evidence, type GateEvidence, missingEvidence, proofOf } from '../../src/core/evidence.ts'
import type { AgentOutcome } from '../../src/core/outcome.ts'
import type { Edges, Workflow } from '../../src/core/workflow.ts'
import { gated } from '../../src/presets/gated.ts'
import { stories } from '../../src/presets/stories.ts'
import { agent, commands } from '../../src/presets/vocabulary.ts'
import {
  aChange,
  anAgent,
  approves,
  aResult,
  aReviewer,
  aTask,
  done,
  gates,
  green,
  red,
  rejects,
  someRules,
  walk,
} from './build.ts'

const works = anAgent({ signals: [done()] })
const ran = (over: Partial<GateEvidence> = {}): GateEvidence => ({
  tree: 't1',
  results: [aResult()],
  notes: [],
  unverified: false,
  at: 1,
  ...over,
})
const change = { from: 't0', to: 't1', files: [{ path: 'a', how: 'added' as const }], more: 0, commits: [] }
const review = { stage: 'spec', agent: 'a', verdict: 'pass' as const, note: '', at: 1 }

describe('what is missing', () => {
  it.each<[string, Workflow, Evidence, string[]]>([
    ['nothing', stories, { change, gates: ran() }, []],
    [
      'all of it',
      gated,
      {},
      ['nothing changed', 'the gates did not run on the final state', 'no review passed'],
    ],
    ['the change', stories, { gates: ran() }, ['nothing changed']],
    [
      'a change without files',
      stories,
      { change: { ...change, files: [] }, gates: ran() },
      ['nothing changed'],
    ],
    [
      'no change, when the task’s own command is green',
      stories,
      { gates: ran({ results: [aResult({ own: true })] }) },
      [],
    ],
    [
      'the change, when its own command is red',
      stories,
      { gates: ran({ results: [aResult({ own: true, exit: 1 })] }) },
      ['nothing changed'],
    ],
    ['the gates', stories, { change }, ['the gates did not run on the final state']],
    ['the review, where there is one', gated, { change, gates: ran() }, ['no review passed']],
    ['nothing, with the review', gated, { change, gates: ran(), review }, []],
  ])('%s', (_, workflow, evidence, missing) => {
    expect(missingEvidence(workflow, evidence)).toEqual(missing)
  })
})

it('a proof is verified, unverified or recorded', () => {
  expect(proofOf({ change, gates: ran() })).toBe('verified')
  expect(proofOf({ change, gates: ran({ unverified: true }) })).toBe('unverified')
  expect(proofOf({ recorded: 'progress.txt' })).toBe('recorded')
})

describe('a lie', () => {
  it('DONE without a change is a failed attempt', () => {
    const one = walk(someRules(stories))
    one.step(anAgent({ signals: [done()], change: aChange([]) }))
    expect(one.state()).toMatchObject({ failures: 1, note: 'Claimed done, but nothing changed' })
  })

  it('DONE without a change is checked when the task brings its own commands, which decide', () => {
    const satisfied = walk(someRules(stories, 'none'), aTask({ verify: ['sh check.sh'] }))
    const own = (exit: number) => gates([aResult({ command: 'sh check.sh', own: true, exit })])
    satisfied.step(anAgent({ signals: [done()], change: aChange([]) }))
    satisfied.step(own(0))
    expect(satisfied.state()).toMatchObject({ status: 'done', evidence: { head: 'h2' } })
    expect(proofOf(satisfied.state().evidence)).toBe('verified')
  })

  it('DONE over red gates is a failed attempt that says which command, and why', () => {
    const one = walk(someRules(stories))
    one.step(works)
    one.step(red)
    expect(one.state()).toMatchObject({
      failures: 1,
      note: '`npm test` fails with exit code 1',
      evidence: {},
    })
    expect(one.state().recent[0]?.detail).toBe('$ npm test\nexpected 1, got 2')
  })

  it('`verify: none` ends as done, unverified', () => {
    const one = walk(someRules(stories, 'none'))
    one.step(works)
    one.step(gates([]))
    expect(one.state().status).toBe('done')
    expect(proofOf(one.state().evidence)).toBe('unverified')
  })
})

describe('proof gets old', () => {
  const writer = (on: Edges) => agent({ role: 'r', may: 'write', prompt: 'p', signal: { from: 'exit' }, on })
  const gate = (kind: 'hard' | 'soft', on: Edges) => commands({ gate: kind, on })
  const implement = writer({ pass: 'verify', fail: 'retry' })
  /** Clean-up after the gates, as a careless user may write it. */
  const careless: Workflow = {
    ...stories,
    stages: {
      implement,
      verify: gate('hard', { pass: 'cleanup', fail: 'retry' }),
      cleanup: writer({ pass: 'done', fail: 'done' }),
    },
  }
  const finish = (cleanup: AgentOutcome) => {
    const one = walk(someRules(careless))
    for (const outcome of [anAgent(), green, cleanup]) one.step(outcome)
    return one.state()
  }
  const broken = { rule: 'journal' as const, path: '', detail: 'Changed the journal' }
  const outdated = {
    status: 'open',
    failures: 1,
    note: 'Not proven: the gates did not run on the final state',
  }

  it('a later change outdates the gates', () => {
    expect(finish(anAgent())).toMatchObject(outdated)
    expect(finish(anAgent({ change: { ...aChange([]), commits: ['c1'] } }))).toMatchObject(outdated)
    expect(finish(aReviewer()).status).toBe('done')
  })

  it('and so does a broken rule', () => {
    expect(finish(anAgent({ change: aChange([]), violations: [broken] }))).toMatchObject(outdated)
  })

  it('and so do red gates after green ones, at a soft gate too', () => {
    for (const kind of ['hard', 'soft'] as const) {
      const again = gate(kind, { pass: 'done', fail: 'done' })
      const twice: Workflow = { ...careless, stages: { ...careless.stages, cleanup: again } }
      const one = walk(someRules(twice))
      for (const outcome of [anAgent(), green, red]) one.step(outcome)
      expect(one.state()).toMatchObject(outdated)
    }
  })

  it('a soft reviewer does not block, but his rejection is not written down as an approval', () => {
    const soft: Workflow = {
      ...stories,
      stages: {
        implement,
        verify: gate('hard', { pass: 'review', fail: 'retry' }),
        review: agent({
          role: 'reviewer',
          may: 'read',
          prompt: 'p',
          signal: { from: 'verdict' },
          gate: 'soft',
          review: true,
          on: { pass: 'done', fail: 'done' },
        }),
      },
    }
    const one = walk(someRules(soft))
    for (const outcome of [anAgent(), green, aReviewer(rejects('long function'))]) one.step(outcome)
    expect(one.state().status).toBe('done')
    expect(one.state().evidence.review).toMatchObject({ verdict: 'auto-pass', note: 'long function' })
    const other = walk(someRules(soft))
    for (const outcome of [anAgent(), green, aReviewer(approves)]) other.step(outcome)
    expect(other.state().evidence.review).toMatchObject({ verdict: 'pass' })
  })

  it('a soft reviewer who breaks a rule does block', () => {
    const one = walk(someRules(gated))
    for (const outcome of [
      anAgent(),
      green,
      aReviewer(approves),
      { ...aReviewer(approves), violations: [broken] },
    ])
      one.step(outcome)
    expect(one.state()).toMatchObject(outdated)
    expect(one.state().recent.map(failure => failure.reason)).toEqual(['Changed the journal', outdated.note])
  })
})
