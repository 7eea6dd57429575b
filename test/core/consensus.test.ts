import { describe, expect, it } from 'vitest'
import { consensusOf, consensusText, foldWhole, nothingUnaccepted } from '../../src/core/consensus.ts'
import { type AnyEvent, eventVersion } from '../../src/core/event.ts'
import { unknownUsage } from '../../src/core/outcome.ts'
import { foldRun, newRunState } from '../../src/core/run.ts'
import { workflowProblems } from '../../src/core/workflow.ts'
import { gated } from '../../src/presets/gated.ts'
import { aBase } from './build.ts'

const rule = { reviewers: 3, quorum: 2 }
const envelope = { v: eventVersion, at: 1, run: 'r' }
const review = (pass: boolean, head = 'h', reviewer = 1): AnyEvent => ({
  ...envelope,
  ...{
    type: 'run.reviewed',
    step: 's',
    reviewer,
    agent: 'a',
    base: 'h0',
    head,
    pass,
    findings: pass ? '' : 'no',
  },
  ...{ usage: { ...unknownUsage, costUsd: 1 }, ms: 5 },
})
const step: AnyEvent = { ...envelope, type: 'step.started', step: 's', stage: 'implement', base: aBase() }
const fold = (events: AnyEvent[]) =>
  events.reduce((state, event) => foldWhole(rule, state, event), nothingUnaccepted)

describe('G-13 the consensus on the whole', () => {
  it('is reached when enough approve, and lost as soon as that can no longer be', () => {
    const verdict = (...passes: boolean[]) =>
      consensusOf(rule, fold([step, ...passes.map(pass => review(pass))]).reviews, 'h')
    expect(verdict()).toBe('open')
    expect(verdict(true)).toBe('open')
    expect(verdict(true, false)).toBe('open')
    expect(verdict(false, false)).toBe('fail')
    expect(fold([step, review(true), review(false), review(true)])).toMatchObject({ base: null, reviews: [] })
  })

  it('counts only what was said of this very commit, over all runs', () => {
    const { base, reviews } = fold([step, review(false, 'old'), review(false, 'old'), review(true, 'new')])
    expect(base).toBe('h0')
    expect(consensusOf(rule, reviews, 'old')).toBe('fail')
    expect(consensusOf(rule, reviews, 'new')).toBe('open')
  })

  it('begins with the first step after what was accepted last, and anew when somebody begins afresh', () => {
    const accepted = fold([step, review(true), review(true)])
    expect(accepted.accepted).toHaveLength(2)
    const later = { ...step, base: { ...aBase(), head: 'h5' } } as AnyEvent
    expect(foldWhole(rule, accepted, later)).toEqual({ base: 'h5', reviews: [], accepted: [] })
    const fresh = {
      ...envelope,
      type: 'run.started',
      workflow: gated,
      verify: 'none',
      host: '',
      pid: 1,
      options: { again: 'fresh' },
    } as AnyEvent
    expect(fold([step, review(false), fresh])).toMatchObject({ base: 'h0', reviews: [] })
  })

  it('is told in one line, and what it cost is spent by the run', () => {
    const { reviews } = fold([step, review(true), review(false)])
    expect(consensusText(rule, reviews)).toBe('1 of 2 reviewers approve the whole (2 of 3 must): no')
    expect(foldRun(newRunState('r'), review(true))).toMatchObject({
      calls: 1,
      costUsd: 1,
      reviews: [{ pass: true }],
    })
  })

  it('a quorum larger than the number of reviewers is refused', () => {
    expect(workflowProblems({ ...gated, consensus: rule })).toEqual([])
    expect(workflowProblems({ ...gated, consensus: { reviewers: 1, quorum: 2 } })).toEqual([
      'consensus.quorum: there are not so many reviewers',
    ])
  })
})
