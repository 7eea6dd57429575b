import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasReview, stageOf, type Workflow, workflowProblems } from '../../src/core/workflow.ts'
import { gated } from '../../src/presets/gated.ts'
import { stories } from '../../src/presets/stories.ts'
import { agent, bounded, commands, engine } from '../../src/presets/vocabulary.ts'
import { anyWorkflow } from './arbitraries.ts'
import { holds } from './property.ts'

const writer = (on: Workflow['stages'][string]['on']) =>
  agent({ role: 'r', may: 'write', prompt: 'p', signal: { from: 'exit' }, on })
const gate = (on: Workflow['stages'][string]['on']) => commands({ gate: 'hard', on })
const workflow = (stages: Workflow['stages'], over: Partial<Workflow> = {}): Workflow => ({
  ...stories,
  start: 'a',
  stages,
  ...over,
})

const endless =
  'stages: the graph has a cycle without a bound; add a stage limit or { to, max, then } on an edge of the cycle'
const unprovable =
  "stages: no way to 'done' runs the verify commands and the review; without evidence no task is ever done"

describe('workflowProblems', () => {
  it.each<[string, Workflow, string[]]>([
    [
      'a sound one',
      workflow({ a: writer({ pass: 'b', fail: 'retry' }), b: gate({ pass: 'done', fail: 'retry' }) }),
      [],
    ],
    ['no start', workflow({ b: gate({ pass: 'done', fail: 'retry' }) }), ["start: no stage named 'a'"]],
    [
      'a target that is not there',
      workflow({ a: writer({ pass: 'b', fail: bounded('c', 1, 'd'), unclear: 'e' }) }),
      [
        "stages.a.on.pass: no stage or end named 'b'",
        "stages.a.on.fail: no stage or end named 'c'",
        "stages.a.on.fail: no stage or end named 'd'",
        "stages.a.on.unclear: no stage or end named 'e'",
      ],
    ],
    [
      'a stage with the name of an end',
      workflow({ a: gate({ pass: 'done', fail: 'retry' }), done: gate({ pass: 'done', fail: 'retry' }) }),
      ["stages.done: 'done' is the name of an end; choose another"],
    ],
    [
      'a cycle',
      workflow({ a: writer({ pass: 'b', fail: 'retry' }), b: gate({ pass: 'done', fail: 'a' }) }),
      [endless],
    ],
    ['a stage that leads to itself', workflow({ a: gate({ pass: 'done', fail: 'a' }) }), [endless]],
    [
      'a cycle through what comes after a bound',
      workflow({ a: gate({ pass: 'done', fail: bounded('a', 2, 'a') }) }),
      [endless],
    ],
    [
      'a cycle with a bounded edge',
      workflow({ a: gate({ pass: 'done', fail: bounded('a', 2, 'retry') }) }),
      [],
    ],
    [
      'a cycle through a stage with a limit',
      workflow({
        a: { ...writer({ pass: 'b', fail: 'retry' }), limit: 2 },
        b: gate({ pass: 'done', fail: 'a' }),
      }),
      [],
    ],
    ['no gates at all', workflow({ a: writer({ pass: 'done', fail: 'retry' }) }), [unprovable]],
    ['no way to done', workflow({ a: gate({ pass: 'retry', fail: 'exhausted' }) }), [unprovable]],
    [
      'a review that no way to done passes',
      workflow({
        a: gate({ pass: 'done', fail: 'b' }),
        b: { ...writer({ pass: 'retry', fail: 'retry' }), review: true },
      }),
      [unprovable],
    ],
    [
      'approval instead of done',
      workflow({ a: gate({ pass: 'exhausted', fail: 'retry' }) }, { onExhausted: 'approve-with-note' }),
      [],
    ],
    [
      'numbers that are no bounds',
      workflow(
        { a: { ...gate({ pass: 'done', fail: bounded('a', -1, 'retry') }), limit: 0 } },
        { limits: { attempts: Number.POSITIVE_INFINITY, requeues: 1.5 } },
      ),
      [
        'stages.a.limit: must be a whole number of 1 or more',
        'stages.a.on.fail.max: must be a whole number of 0 or more',
        'limits.attempts: must be a whole number of 1 or more',
        'limits.requeues: must be a whole number of 0 or more',
      ],
    ],
  ])('%s', (_, made, problems) => {
    expect(workflowProblems(made)).toEqual(problems)
  })

  it('finds an endless cycle exactly when there is one', () => {
    holds(
      fc.property(anyWorkflow, made => {
        assert.equal(workflowProblems(made).includes(endless), walksForEver(made))
      }),
      2_000,
    )
  })

  /** By hand: from which stages does a way of free edges come back? */
  function walksForEver({ stages }: Workflow): boolean {
    const free = (name: string) => {
      const stage = stages[name]
      if (!stage || stage.limit !== undefined) return []
      return Object.values(stage.on).map(edge => (typeof edge === 'string' ? edge : edge.then))
    }
    return Object.keys(stages).some(start => {
      const reached = new Set<string>()
      const todo = [...free(start)]
      for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
        if (name === start) return true
        if (Object.hasOwn(stages, name) && !reached.has(name)) todo.push(...free(name))
        reached.add(name)
      }
      return false
    })
  }
})

it('a stage is found by its own name only', () => {
  expect(stageOf(stories, 'implement')?.kind).toBe('agent')
  for (const name of ['constructor', 'toString', '__proto__', 'nothing'])
    expect(stageOf(stories, name)).toBeUndefined()
  const odd = workflow({ constructor: engine({ action: 'record', on: { pass: 'done', fail: 'done' } }) })
  expect(stageOf(odd, 'constructor')?.kind).toBe('engine')
})

it('a workflow has a review when one of its stages says so', () => {
  expect(hasReview(gated)).toBe(true)
  expect(hasReview(stories)).toBe(false)
})
