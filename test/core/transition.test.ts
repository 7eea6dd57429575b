import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TaskEvent } from '../../src/core/event.ts'
import type { TaskState } from '../../src/core/state.ts'
import { backOff, transition } from '../../src/core/transition.ts'
import type { Rules, Workflow } from '../../src/core/workflow.ts'
import { gated } from '../../src/presets/gated.ts'
import { presets } from '../../src/presets/registry.ts'
import { stories } from '../../src/presets/stories.ts'
import { anyEvent, move, soundWorkflow } from './arbitraries.ts'
import {
  aBase,
  aChange,
  anAgent,
  approves,
  aReviewer,
  aTask,
  done,
  event,
  green,
  rejects,
  someRules,
  walk,
} from './build.ts'
import { checkInvariants } from './invariants.ts'
import { holds } from './property.ts'
import { finish, mostCalls, mostEffects, newSimulation, type Simulation, turn } from './simulation.ts'

/**
 * Properties of the whole state machine. `simulation.ts` plays the engine and the world with arbitrary outcomes (lies,
 * faults, broken rules, red gates, cut-off steps, people who cancel and reopen) and checks after every event that the
 * state is sound and that a task is done only with evidence that is true in that world.
 */

const verify = fc.constantFrom<Rules['verify']>('none', ['npm test'])
const ownCommands = fc.constantFrom<string[]>([], ['sh check.sh'])
const settings = { verify, own: ownCommands }

function play(workflow: Workflow, made: { verify: Rules['verify']; own: string[] }): Simulation {
  return newSimulation({ workflow, verify: made.verify }, aTask({ verify: made.own }))
}

const workflows: [string, fc.Arbitrary<Workflow>, number][] = [
  ...Object.entries(presets).map(([name, preset]): [string, fc.Arbitrary<Workflow>, number] => [
    name,
    fc.constant(preset),
    120,
  ]),
  ['any workflow a user may write', soundWorkflow, 800],
]

describe.each(workflows)('%s', (_, workflow, cases) => {
  it('ends within its bounds, never done without evidence, whatever agents and gates do', () => {
    const moves = fc.array(move(false), { minLength: 1, maxLength: 12 })
    holds(
      fc.property(workflow, fc.record({ ...settings, moves }), (made, { moves, ...rest }) => {
        const sim = play(made, rest)
        finish(sim, moves, mostEffects(sim))
        assert(sim.state.spent.calls <= mostCalls(sim), `${sim.state.spent.calls} calls`)
        assert.notEqual(sim.state.status, 'open')
      }),
      cases,
    )
  })

  it('keeps its promises when steps are cut off and people interfere', () => {
    const moves = fc.array(move(true), { minLength: 1, maxLength: 40 })
    holds(
      fc.property(workflow, fc.record({ ...settings, moves }), (made, { moves, ...rest }) => {
        const sim = play(made, rest)
        for (const one of moves) turn(sim, one)
        finish(sim, moves, mostEffects(sim))
        assert(sim.state.spent.calls <= mostCalls(sim), `${sim.state.spent.calls} calls`)
      }),
      cases,
    )
  })

  it('comes to the same state when its journal is replayed, also from JSON', () => {
    const moves = fc.array(move(true), { minLength: 1, maxLength: 25 })
    holds(
      fc.property(workflow, fc.record({ ...settings, moves }), (made, { moves, ...rest }) => {
        const sim = play(made, rest)
        for (const one of moves) turn(sim, one)
        assert.deepStrictEqual(fold(sim.rules, sim.events), sim.state)
        const rules = JSON.parse(JSON.stringify(sim.rules)) as Rules
        const events = JSON.parse(JSON.stringify(sim.events)) as TaskEvent[]
        assert.deepStrictEqual(fold(rules, events), sim.state)
        assert.deepStrictEqual(JSON.parse(JSON.stringify(sim.state)), sim.state)
      }),
      Math.ceil(cases / 3),
    )
  })
})

function fold(rules: Rules, events: TaskEvent[]): TaskState | null {
  return events.reduce<TaskState | null>((state, event) => transition(rules, state, event).state, null)
}

describe('any event at any time', () => {
  it('is answered with a sound state, never with an error', () => {
    const story = fc
      .oneof(soundWorkflow, fc.constantFrom(...Object.values(presets)))
      .chain(workflow =>
        fc.tuple(fc.constant(workflow), fc.array(anyEvent(Object.keys(workflow.stages)), { maxLength: 60 })),
      )
    holds(
      fc.property(story, verify, ([workflow, events], verify) => {
        const rules = { workflow, verify }
        let { state } = transition(rules, null, event({ type: 'task.added', task: aTask() }))
        for (const one of events) {
          const before = JSON.stringify(state)
          const after = transition(rules, state, one)
          assert.equal(JSON.stringify(state), before, 'the state before was changed in place')
          state = after.state
          checkInvariants(rules, state)
          assert.deepEqual(after.effects, state.next && state.status !== 'held' ? [state.next] : [])
        }
      }),
      1_500,
    )
  })

  it('leaves a task with something to do when the workflow was changed under it', () => {
    const both = fc.tuple(fc.constantFrom(...Object.values(presets)), soundWorkflow)
    const story = both.chain(([first, second]) =>
      fc.tuple(
        fc.constant([first, second] as const),
        fc.array(anyEvent(Object.keys({ ...first.stages, ...second.stages })), { maxLength: 30 }),
        fc.nat({ max: 30 }),
      ),
    )
    holds(
      fc.property(story, ([[first, second], events, change]) => {
        let rules: Rules = { workflow: first, verify: ['npm test'] }
        let { state } = transition(rules, null, event({ type: 'task.added', task: aTask() }))
        events.forEach((one, index) => {
          if (index === change) {
            rules = { workflow: second, verify: 'none' }
            state = transition(rules, state, event({ type: 'task.reopened', why: 'a new run' })).state
          }
          state = transition(rules, state, one).state
          if (state.status === 'open') assert(state.next)
          if (state.next && 'stage' in state.next) {
            assert.equal(rules.workflow.stages[state.next.stage]?.kind, state.next.type)
          }
        })
      }),
      500,
    )
  })

  it('needs a task first', () => {
    expect(() => transition(someRules(stories), null, event({ type: 'task.removed' }))).toThrow('task.added')
  })
})

describe('what earlier events leave behind', () => {
  it('a task that is cancelled, removed or halted before its tree was put back has that done first when it comes again', () => {
    const begun = () => {
      const one = walk(someRules(stories, 'none'))
      one.effect(anAgent({ signals: [done()] }))
      return one
    }
    const cancelled = begun()
    expect(cancelled.tell({ type: 'task.cancelled', why: 'no' })).toMatchObject({
      status: 'cancelled',
      next: { type: 'restore' },
    })
    const removed = begun()
    expect(removed.tell({ type: 'task.removed' })).toMatchObject({
      status: 'removed',
      next: { type: 'restore' },
    })
    const halted = walk(someRules({ ...stories, limits: { attempts: 1 } }, 'none'))
    halted.effect(anAgent())
    expect(halted.state()).toMatchObject({ status: 'halted', next: { type: 'restore' } })
    expect(halted.tell({ type: 'task.removed' })).toMatchObject({
      status: 'removed',
      next: { type: 'restore' },
    })
    for (const [one, comes] of [
      [halted, { type: 'task.changed', task: aTask() }],
      [cancelled, { type: 'task.reopened', why: 'again' }],
      [removed, { type: 'task.changed', task: aTask() }],
    ] as const) {
      expect(one.tell(comes)).toMatchObject({
        status: 'open',
        next: { type: 'restore' },
        base: aBase(),
        failures: 0,
      })
      one.effect({ kind: 'restore', kept: null, branch: null })
      expect(one.state()).toMatchObject({
        base: null,
        evidence: {},
        next: { type: 'agent', stage: 'implement' },
      })
    }
  })

  it('a change that stays in the tree stays evidence, the gates that saw it do not', () => {
    const keeps: Workflow = { ...stories, git: { commit: 'agent', onFail: 'keep' } }
    const one = walk(someRules(keeps, 'none'))
    one.effect(anAgent({ signals: [] }))
    expect(one.state()).toMatchObject({ failures: 1, next: { type: 'agent' }, base: aBase() })
    one.effect(aReviewer(done()))
    expect(one.state().next).toEqual({ type: 'commands', stage: 'verify' })
    one.step(green)
    expect(one.state().status).toBe('done')
    const rejected = walk(someRules({ ...gated, git: { commit: 'agent', onFail: 'keep' } }))
    for (const outcome of [anAgent(), green, aReviewer(rejects('no'))]) rejected.step(outcome)
    expect(Object.keys(rejected.state().evidence)).toEqual(['change'])
  })

  it('only who may write adds to the change', () => {
    const one = walk(someRules(gated))
    one.step(anAgent())
    one.step(green)
    one.step(anAgent({ signals: [approves], change: aChange(['src/b.ts'], 't2') }))
    expect(one.state().evidence).toMatchObject({ review: { verdict: 'pass' }, change: { to: 't1' } })
    expect(one.state().evidence.change?.files.map(file => file.path)).toEqual(['src/a.ts'])
    expect(one.state().evidence.gates).toBeUndefined()
    one.step(aReviewer(approves))
    expect(one.state()).toMatchObject({
      failures: 1,
      note: 'Not proven: the gates did not run on the final state',
    })
  })

  it('outages are waited out, longer each time; too many in a row hold the task', () => {
    const rules = someRules({ ...stories, limits: { faults: 3 } }, 'none')
    const outage = anAgent({ fault: { kind: 'infrastructure', message: 'overloaded' } })
    const one = walk(rules)
    const waits = () => one.state().waitUntil - (one.events.at(-1)?.at ?? 0)
    one.effect(outage)
    expect(waits()).toBe(1_000)
    one.effect(outage)
    expect(waits()).toBe(2_000)
    one.effect(anAgent())
    expect(one.state()).toMatchObject({ status: 'open', failures: 1, faults: 0 })
    one.effect({ kind: 'restore', kept: null, branch: null })
    one.effect(outage)
    one.effect(outage)
    expect(one.state()).toMatchObject({ status: 'open', faults: 2, failures: 1 })
    one.effect(outage)
    expect(one.state()).toMatchObject({ status: 'held', note: 'infrastructure: overloaded' })
    expect(one.tell({ type: 'task.reopened', why: 'a new run' })).toMatchObject({
      status: 'open',
      faults: 0,
      waitUntil: 0,
      failures: 1,
      next: { type: 'agent', stage: 'implement' },
    })
  })

  it('a login or a permission that is missing holds the task at once', () => {
    for (const kind of ['auth', 'permission'] as const) {
      const one = walk(someRules(stories, 'none'))
      one.effect(anAgent({ fault: { kind, message: 'not logged in' } }))
      expect(one.state()).toMatchObject({ status: 'held', note: `${kind}: not logged in`, failures: 0 })
      const held = one.state()
      expect(one.tell({ type: 'step.started', step: 's', stage: 'implement', base: aBase() })).toEqual(held)
      const outcome = anAgent({ signals: [done()] })
      expect(one.tell({ type: 'step.finished', step: 's', stage: 'implement', outcome })).toEqual(held)
    }
  })

  it('the wait grows to a quarter of an hour and no further', () => {
    expect([1, 2, 3, 10, 11, 50].map(backOff)).toEqual([1_000, 2_000, 4_000, 512_000, 900_000, 900_000])
  })

  it('money is counted for calls that do not count', () => {
    const one = walk(someRules(stories, 'none'))
    const usage = { costUsd: 0.5, inputTokens: 10, outputTokens: 5 }
    one.effect(anAgent({ usage, fault: { kind: 'limit', message: 'usage limit', until: 9_000_000 } }))
    expect(one.state().spent).toEqual({ calls: 0, costUsd: 0.5, unknownCosts: 0, tokens: 15, ms: 1_000 })
    expect(one.state().waitUntil).toBe(9_000_000)
    one.effect(anAgent({ signals: [done()] }))
    expect(one.state().spent).toMatchObject({ calls: 1, costUsd: 0.5, unknownCosts: 1 })
  })
})

describe('the simulation itself', () => {
  it('does reach done, halted, failed, held and auto-passed tasks', () => {
    const seen = new Set<string>()
    const moves = fc.array(move(false), { minLength: 1, maxLength: 12 })
    for (const workflow of Object.values(presets)) {
      for (const one of fc.sample(moves, { numRuns: 150, seed: 7 })) {
        const sim = play(workflow, { verify: ['npm test'], own: [] })
        finish(sim, one, mostEffects(sim))
        seen.add(`${workflow.name} ${sim.state.status}`)
        if (sim.state.evidence.review) seen.add(`${workflow.name} ${sim.state.evidence.review.verdict}`)
      }
    }
    expect([...seen]).toEqual(
      expect.arrayContaining([
        ...Object.keys(presets).flatMap(name => [`${name} done`, `${name} held`]),
        'stories halted',
        'stepwise halted',
        'gated failed',
        'pipeline failed',
        'reviewed auto-pass',
      ]),
    )
  })
})
