import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { budgetLines, checkBudget, taskWarnings } from '../../src/core/budget.ts'
import { newRunState, type RunState } from '../../src/core/run.ts'
import { newTaskState } from '../../src/core/state.ts'
import type { Limits } from '../../src/core/workflow.ts'
import { aTask } from './build.ts'
import { holds } from './property.ts'

const run = (over: Partial<RunState> = {}): RunState => ({ ...newRunState('r1'), startedAt: 1_000, ...over })

describe('checkBudget', () => {
  it.each<[Limits, Partial<RunState>, string]>([
    [{ iterations: 45 }, { iterations: 45 }, '45 of 45 iterations used'],
    [{ cost: 5 }, { costUsd: 5.001 }, '$5.00 of $5.00 spent'],
    [{ tokens: 100 }, { tokens: 250 }, '250 of 100 tokens used'],
    [{ run: { hard: 60_000 } }, {}, '2m 00s of 1m 00s used'],
  ])('%j is spent', (limits, used, reason) => {
    expect(checkBudget(limits, run(used), 121_000)).toMatchObject({ type: 'spent', reason })
  })

  it('a limit of N is N: the last one may still begin', () => {
    expect(checkBudget({ iterations: 3 }, run({ iterations: 2 }), 0).type).toBe('ok')
    expect(checkBudget({ iterations: 3 }, run({ iterations: 3 }), 0).type).toBe('spent')
  })

  it('warns of a task that has used four fifths of its money', () => {
    const spent = (costUsd: number) => {
      const state = newTaskState(aTask())
      return { ...state, since: { ms: 0, costUsd: 2 }, spent: { ...state.spent, costUsd } }
    }
    expect(taskWarnings({}, spent(100))).toEqual([])
    expect(taskWarnings({ taskCost: 10 }, spent(9))).toEqual([])
    expect(taskWarnings({ taskCost: 10 }, spent(10.5))).toEqual([
      "1.1: $8.50 of $10.00 spent (80 % of the task's budget)",
    ])
    expect(taskWarnings({ taskCost: 10 }, spent(12))).toEqual([])
  })

  it('warns from four fifths on, and not before', () => {
    expect(checkBudget({ iterations: 10 }, run({ iterations: 7 }), 0)).toEqual({ type: 'ok', warnings: [] })
    const warnings = ['8 of 10 iterations used (80 % of the budget)']
    expect(checkBudget({ iterations: 10 }, run({ iterations: 8 }), 0)).toEqual({ type: 'ok', warnings })
  })

  it('without limits, with a time limit of 0 or before the start nothing is spent', () => {
    const much = { iterations: 1e6, costUsd: 1e6, tokens: 1e9, unknownCosts: 9 }
    expect(checkBudget({}, run(much), 1e9)).toEqual({ type: 'ok', warnings: [] })
    expect(checkBudget({ run: { hard: 0 } }, run(), 1e9).type).toBe('ok')
    expect(checkBudget({ run: { hard: 1_000 } }, run({ startedAt: 0 }), 1e9).type).toBe('ok')
  })

  const amount = fc.nat({ max: 20 })
  const limits: fc.Arbitrary<Limits> = fc.record(
    { iterations: amount, cost: amount, tokens: amount, run: fc.record({ hard: amount }) },
    { requiredKeys: [] },
  )
  const used = fc.record({ iterations: amount, costUsd: amount, tokens: amount }).map(run)
  const now = fc.integer({ min: 1_000, max: 1_020 })

  it('is spent exactly when one limit is reached, and stays so', () => {
    holds(
      fc.property(limits, used, now, (allowed, state, at) => {
        const pairs: [number, number | undefined][] = [
          [state.iterations, allowed.iterations],
          [state.costUsd, allowed.cost],
          [state.tokens, allowed.tokens],
          [at - 1_000, allowed.run?.hard || undefined],
        ]
        const reached = pairs.some(([is, limit]) => limit !== undefined && is >= limit)
        const verdict = checkBudget(allowed, state, at)
        assert.equal(verdict.type, reached ? 'spent' : 'ok')
        const later = { ...state, iterations: state.iterations + 1, costUsd: state.costUsd + 1 }
        if (verdict.type === 'spent') assert.equal(checkBudget(allowed, later, at + 1).type, 'spent')
        assert.equal(
          budgetLines(allowed, state, at).length,
          pairs.filter(([, limit]) => limit !== undefined).length,
        )
        assert(verdict.warnings.length <= pairs.length)
      }),
      300,
    )
  })
})
