import { describe, expect, it } from 'vitest'
import { adaptRules } from '../../src/core/adapt.ts'
import { pipeline } from '../../src/presets/pipeline.ts'
import { stories } from '../../src/presets/stories.ts'
import { anAgent, aTask, red, someRules, walk } from './build.ts'

const adaptive = someRules({ ...pipeline, limits: { ...pipeline.limits, adaptive: true } })
const caps = (complexity?: number) => {
  const task = aTask(complexity === undefined ? {} : { complexity })
  const { stages, limits } = adaptRules(adaptive, task).workflow
  return [stages.coder?.limit, stages.reviewer?.limit, limits.attempts]
}

describe('G-08 caps that follow the complexity of a task', () => {
  it('five is what the workflow says; simpler tasks get fewer tries, harder ones more', () => {
    expect(caps(5)).toEqual([15, 5, 3])
    expect(caps(1)).toEqual([9, 3, 2])
    expect(caps(10)).toEqual([23, 8, 5])
    expect(caps(99)).toEqual(caps(10))
    expect(caps()).toEqual([15, 5, 3])
  })

  it('is off unless asked for', () => {
    const rules = someRules(pipeline)
    expect(adaptRules(rules, aTask({ complexity: 1 }))).toBe(rules)
  })

  it('holds in the transition', () => {
    const tries = (complexity: number) => {
      const workflow = { ...stories, limits: { attempts: 4, adaptive: true } }
      const one = walk(someRules(workflow), aTask({ complexity }))
      let count = 0
      for (; one.state().status === 'open'; count++) {
        one.step(anAgent({ signals: [{ type: 'done', id: '1.1', legacy: false }] }))
        one.step(red)
      }
      return count
    }
    expect([tries(1), tries(5), tries(10)]).toEqual([2, 4, 6])
  })
})

it('a task stops when its tokens are used up', () => {
  const one = walk(someRules({ ...stories, limits: { attempts: 9, taskTokens: 100 } }))
  let calls = 0
  for (; one.state().status === 'open'; calls++)
    one.step(anAgent({ usage: { costUsd: null, inputTokens: 30, outputTokens: 10 } }))
  expect(calls).toBe(3)
  expect(one.state().note).toContain('Tokens for this task are used up: ')
})
