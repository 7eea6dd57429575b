import { describe, expect, it } from 'vitest'
import { noProgress } from '../../src/core/failure.ts'
import type { TaskState } from '../../src/core/state.ts'
import type { Workflow } from '../../src/core/workflow.ts'
import { gated } from '../../src/presets/gated.ts'
import { pipeline } from '../../src/presets/pipeline.ts'
import { stories } from '../../src/presets/stories.ts'
import { bounded } from '../../src/presets/vocabulary.ts'
import {
  aChange,
  anAgent,
  aResult,
  aReviewer,
  done,
  failed,
  gates,
  green,
  rejects,
  someRules,
  type Walk,
  walk,
} from './build.ts'

const givesUp = anAgent({ signals: [failed('no such table')] })

describe('C-03 a limit of N is N tries in total', () => {
  it.each([1, 2, 3, 5])('attempts: %i', limit => {
    const one = walk(someRules({ ...stories, limits: { attempts: limit } }))
    let tries = 0
    for (; one.state().status === 'open'; tries++) one.step(givesUp)
    expect(tries).toBe(limit)
  })

  it.each([1, 2, 3, 5])('stage limit: %i', limit => {
    const one = walk(someRules(withCoderLimit(limit), 'none'))
    let tries = 0
    for (; one.state().pass === 1 && one.state().status === 'open'; tries++) one.step(anAgent())
    expect(tries).toBe(limit)
  })

  const withCoderLimit = (limit: number): Workflow => {
    const { coder } = pipeline.stages
    if (!coder) throw new Error('no coder')
    return { ...pipeline, stages: { ...pipeline.stages, coder: { ...coder, limit } } }
  }

  it.each([0, 1, 2])('bounded edge: %i, an unclear answer included', max => {
    const { implement, verify } = stories.stages
    if (!implement || !verify) throw new Error('no stages')
    const fail = bounded('implement', max, 'exhausted')
    const workflow = {
      ...stories,
      stages: { verify, implement: { ...implement, on: { pass: 'verify', fail } } },
    }
    const one = walk(someRules(workflow, 'none'))
    let tries = 0
    for (; one.state().status === 'open'; tries++) one.step(tries % 2 ? givesUp : anAgent())
    expect(tries).toBe(max + 1)
  })
})

describe('C-02 what happens when the tries are used up is the preset’s choice', () => {
  const spent = (over: Partial<Workflow>): TaskState => {
    const one = walk(someRules({ ...stories, ...over }))
    for (const _ of [1, 2, 3]) one.step(givesUp)
    return one.state()
  }

  it('halt: a person must look', () => {
    expect(spent({ onExhausted: 'halt' })).toMatchObject({ status: 'halted', next: null })
  })

  it('branch-and-skip: given up, the run goes on', () => {
    expect(spent({ onExhausted: 'branch-and-skip' })).toMatchObject({ status: 'failed', next: null })
  })

  it('requeue: from the beginning, as often as the limit says', () => {
    const state = spent({ onExhausted: 'requeue', limits: { attempts: 3, requeues: 1 } })
    expect(state).toMatchObject({
      status: 'open',
      pass: 2,
      failures: 0,
      next: { type: 'agent', stage: 'implement' },
    })
  })

  it('approve-with-note: only what is proven; here nothing is', () => {
    expect(spent({ onExhausted: 'approve-with-note' })).toMatchObject({ status: 'halted' })
  })

  it('approve-with-note: proven work with an open finding is done, and says so', () => {
    const { spec, tests, implement } = gated.stages
    if (!spec || !tests || !implement) throw new Error('no stages')
    const stages = { implement, tests, spec: { ...spec, on: { pass: 'done', fail: 'exhausted' } } }
    const one = walk(someRules({ ...gated, stages, onExhausted: 'approve-with-note' }))
    one.step(anAgent())
    one.step(green)
    one.step(aReviewer(rejects('the name is unclear')))
    expect(one.state().status).toBe('done')
    expect(one.state().evidence.review).toMatchObject({ verdict: 'auto-pass', note: 'the name is unclear' })
  })
})

describe('limits of one task over all its attempts', () => {
  const rules = someRules(gated)

  it('time for the task is bounded over all attempts; 0 is no limit', () => {
    const slow = anAgent({ ms: 31 * 60_000, ended: 'timeout', exit: null })
    const one = walk(rules)
    one.step(slow)
    one.step(slow)
    expect(one.state()).toMatchObject({
      status: 'failed',
      note: 'Time for this task is used up: Timeout after 1860s',
    })
    const free = walk(someRules({ ...gated, limits: { attempts: 9, task: { hard: 0 } } }))
    free.step(slow)
    expect(free.state().status).toBe('open')
  })

  it('money for the task is bounded when its workflow says so', () => {
    const dear = anAgent({ exit: 1, usage: { costUsd: 3, inputTokens: null, outputTokens: null } })
    const one = walk(someRules({ ...gated, limits: { attempts: 9, taskCost: 5 } }))
    one.step(dear)
    expect(one.state().status).toBe('open')
    one.step(dear)
    expect(one.state().note).toBe('Money for this task is used up: Agent exited with code 1')
  })
})

describe('no progress', () => {
  const broken = (fingerprint: string) => gates([aResult({ exit: 1, fingerprint })])
  const attempt = (one: Walk, tree: string, fingerprint: string) => {
    one.step(anAgent({ signals: [done()], change: aChange(['src/a.ts'], tree) }))
    one.step(broken(fingerprint))
    return noProgress(one.state().recent)
  }

  it('is the same content with the same error again', () => {
    const one = walk(someRules({ ...stories, limits: { attempts: 9 } }))
    expect(attempt(one, 't1', 'aaaaaaaa')).toBe(false)
    expect(attempt(one, 't1', 'aaaaaaaa')).toBe(true)
    expect(attempt(one, 't2', 'aaaaaaaa')).toBe(false)
    expect(attempt(one, 't2', 'bbbbbbbb')).toBe(false)
    expect(attempt(one, 't2', 'bbbbbbbb')).toBe(true)
  })
})
