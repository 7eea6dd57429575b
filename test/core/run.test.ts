import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AnyEvent, eventVersion, type RunEventBody } from '../../src/core/event.ts'
import { isExcused } from '../../src/core/outcome.ts'
import { foldRun, newRunState, type RunState } from '../../src/core/run.ts'
import type { Workflow } from '../../src/core/workflow.ts'
import { presets } from '../../src/presets/registry.ts'
import { stepwise } from '../../src/presets/stepwise.ts'
import { stories } from '../../src/presets/stories.ts'
import { move, soundWorkflow } from './arbitraries.ts'
import { anAgent, aTask, event } from './build.ts'
import { holds } from './property.ts'
import { newSimulation, type Simulation, turn } from './simulation.ts'

function runEvent(body: RunEventBody, at = 500): AnyEvent {
  return { v: eventVersion, at, run: 'r1', ...body }
}

function started(workflow: Workflow): AnyEvent {
  return runEvent({ type: 'run.started', workflow, verify: ['npm test'], host: 'here', pid: 7, options: {} })
}

function fold(workflow: Workflow, events: AnyEvent[]): RunState {
  return [started(workflow), ...events].reduce(foldRun, newRunState('r1'))
}

/** Only what happens in order: each event of the journal was taken. */
function play(workflow: Workflow, moves: Parameters<typeof turn>[1][]): Simulation {
  const sim = newSimulation({ workflow, verify: ['npm test'] }, aTask())
  for (const one of moves) turn(sim, { ...one, besides: one.besides === 'reopen' ? 'reopen' : null })
  return sim
}

const moves = fc.array(move(true), { maxLength: 30 })
const workflow = fc.oneof(fc.constantFrom(...Object.values(presets)), soundWorkflow)

describe('foldRun', () => {
  it('counts iterations as the preset counts them, and refunds what does not count', () => {
    holds(
      fc.property(workflow, moves, (made, all) => {
        const sim = play(made, all)
        const run = fold(made, sim.events)
        const finishes = sim.events.flatMap(one => (one.type === 'step.finished' ? [one] : []))
        const counted = finishes.filter(
          ({ outcome }) => outcome.kind !== 'agent' || !outcome.fault || !isExcused(outcome.fault),
        )
        const expected = {
          call: counted.filter(({ outcome }) => outcome.kind === 'agent').length,
          attempt: counted.filter(({ stage }) => stage === made.start).length,
          task: counted.filter(({ outcome }) => outcome.kind === 'settle').length,
        }[made.iteration]
        assert.equal(run.iterations, expected)
        assert.equal(run.calls, finishes.filter(({ outcome }) => outcome.kind === 'agent').length)
        assert.equal(sim.state.spent.calls, counted.filter(({ outcome }) => outcome.kind === 'agent').length)
        assert.equal(run.costUsd.toFixed(4), sim.state.spent.costUsd.toFixed(4))
        assert.equal(run.unknownCosts, sim.state.spent.unknownCosts)
        assert.equal(run.tokens, sim.state.spent.tokens)
      }),
      600,
    )
  })

  it('comes to the same numbers from JSON, and when events of several tasks are mixed', () => {
    holds(
      fc.property(workflow, moves, moves, (made, first, second) => {
        const [a, b] = [play(made, first).events, play(made, second).events]
        const mixed = a.flatMap((one, index) => [one, ...b.slice(index, index + 1)]).concat(b.slice(a.length))
        const apart = fold(made, [...a, ...b])
        const together = fold(made, JSON.parse(JSON.stringify(mixed)) as AnyEvent[])
        const rounded = ({ costUsd, ...rest }: RunState) => ({ ...rest, costUsd: costUsd.toFixed(4) })
        assert.deepEqual(rounded(together), rounded(apart))
      }),
      200,
    )
  })

  it('an interrupted step costs nothing', () => {
    const begun = event({
      type: 'step.started',
      step: 's',
      stage: 'implement',
      base: { head: '', branch: null, tree: '', snapshot: '' },
    })
    const cut = event({ type: 'step.interrupted', step: 's', why: 'x', kept: null })
    expect(fold(stories, [begun, cut])).toMatchObject({ iterations: 0, calls: 0, costUsd: 0 })
  })

  it('stepwise: an iteration is a finished task; stories: an attempt', () => {
    const settled = event({
      type: 'step.finished',
      step: 's',
      stage: '@settle',
      outcome: { kind: 'settle', head: 'h', committed: null, paths: [] },
    })
    const call = event({ type: 'step.finished', step: 's', stage: 'implement', outcome: anAgent() })
    expect(fold(stepwise, [call, settled, settled]).iterations).toBe(2)
    expect(fold(stories, [call, settled, call]).iterations).toBe(2)
  })

  it('an attempt counts also when its first stage is not an agent’s', () => {
    const first: Workflow = { ...stepwise, iteration: 'attempt' }
    const chosen = event({
      type: 'step.finished',
      step: 's',
      stage: 'choose_task',
      outcome: { kind: 'engine' },
    })
    expect(fold(first, [chosen, chosen]).iterations).toBe(2)
  })

  it('knows how a run began, paused and ended', () => {
    const begun = foldRun(newRunState('r1'), started(stories))
    expect(begun).toMatchObject({
      status: 'open',
      startedAt: 500,
      host: 'here',
      pid: 7,
      rules: { verify: ['npm test'] },
    })
    const paused = foldRun(begun, runEvent({ type: 'run.paused', by: 'me' }))
    expect(paused.paused).toBe(true)
    expect(foldRun(paused, runEvent({ type: 'run.resumed', by: 'me' })).paused).toBe(false)
    const ended = foldRun(
      begun,
      runEvent({ type: 'run.finished', reason: 'budget', message: 'used up' }, 900),
    )
    expect(ended).toMatchObject({ status: 'finished', end: 'budget', message: 'used up', endedAt: 900 })
  })

  it('an event before the start is not counted as an iteration', () => {
    const call = event({ type: 'step.finished', step: 's', stage: 'implement', outcome: anAgent() })
    expect(foldRun(newRunState('r1'), call)).toMatchObject({ iterations: 0, calls: 1 })
  })
})
