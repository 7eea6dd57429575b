import { describe, expect, it } from 'vitest'
import { isStuck } from '../../src/core/transition.ts'
import { softFindings } from '../../src/core/verdict.ts'
import type { Workflow } from '../../src/core/workflow.ts'
import { gated } from '../../src/presets/gated.ts'
import { stories } from '../../src/presets/stories.ts'
import {
  aBase,
  aChange,
  anAgent,
  approves,
  aResult,
  aReviewer,
  failed,
  gates,
  green,
  red,
  rejects,
  someRules,
  walk,
} from './build.ts'

const rules = someRules(gated)

describe('work of failed attempts', () => {
  it('stays for the next attempt where the preset builds on it, and is put back only when the task is given up', () => {
    const one = walk(rules)
    for (let count = 1; count < 5; count++) {
      one.step(anAgent())
      one.step(gates([aResult({ exit: 1, fingerprint: `error-${count}` })]))
      expect(one.state().next).toEqual({ type: 'agent', stage: 'implement' })
      expect(one.state().evidence.change?.files).toHaveLength(1)
    }
    const { base } = one.state()
    expect(base).not.toBe(null)
    one.step(anAgent({ change: aChange(['src/b.ts'], 't2') }))
    one.effect(red)
    expect(one.state()).toMatchObject({
      status: 'failed',
      next: { type: 'restore' },
      base,
      limit: 'attempts',
    })
    expect(one.state().recent.at(-1)?.files).toEqual(['src/a.ts', 'src/b.ts'])
    one.effect({ kind: 'restore', kept: 'refs/x', branch: 'wip/x' })
    expect(one.state()).toMatchObject({ status: 'failed', base: null, branch: 'wip/x', next: null })
  })

  it('is put back before each attempt where the preset does not say so', () => {
    const one = walk(someRules(stories))
    one.effect(gates([aResult()], { purpose: 'baseline' }))
    one.effect(anAgent({ signals: [failed('no')] }))
    expect(one.state().next).toEqual({ type: 'restore' })
  })

  it('earlier work counts as the change: the attempt that passes need not change anything more', () => {
    const one = walk(rules)
    for (const outcome of [
      anAgent(),
      red,
      anAgent({ change: aChange([]) }),
      green,
      aReviewer(approves),
      aReviewer(approves),
    ])
      one.step(outcome)
    expect(one.state().status).toBe('done')
  })
})

describe('H-24 what others commit in the middle of an attempt', () => {
  const start = (one: ReturnType<typeof walk>, head: string) =>
    one.tell({ type: 'step.started', step: 'x', stage: 'implement', base: { ...aBase(), head } })

  it('is seen at the next agent call, and only within one attempt', () => {
    const one = walk(rules)
    one.step(anAgent())
    one.step(red)
    expect(one.state().head).toBe('h1')
    start(one, 'h1')
    expect(one.state().mixed).toBe(undefined)
    one.tell({ type: 'step.interrupted', step: 'x', why: 'was', kept: null })
    start(one, 'theirs')
    expect(one.state()).toMatchObject({ head: 'h1', mixed: true })
    one.tell({ type: 'step.interrupted', step: 'x', why: 'was', kept: null })
    one.tell({ type: 'task.reopened', why: 'begun afresh', forget: true })
    expect(one.state()).toMatchObject({ mixed: true, next: { type: 'restore' } })
    one.effect({ kind: 'restore', kept: null, branch: null })
    expect([one.state().head, one.state().mixed]).toEqual([undefined, undefined])
  })
})

describe('S3-29 S3-31 the limit that ended a task is on record', () => {
  const ends = (workflow: Workflow, fingerprints: string[]) => {
    const one = walk(someRules(workflow))
    for (const fingerprint of fingerprints) {
      one.step(anAgent())
      one.step(gates([aResult({ exit: 1, fingerprint })]))
    }
    return one.state()
  }
  it('tries, the stuck rule, time', () => {
    expect(ends(gated, ['a', 'b', 'c', 'd', 'e'])).toMatchObject({ status: 'failed', limit: 'attempts' })
    expect(ends(gated, ['a', 'a', 'a', 'a', 'a'])).toMatchObject({
      status: 'failed',
      limit: 'stuck',
      stuck: { shifts: 2 },
    })
    const short = { ...gated, limits: { attempts: 5, task: { hard: 1_500 } } }
    expect(ends(short, ['a', 'b'])).toMatchObject({ status: 'failed', limit: 'time', failures: 2 })
  })

  it('a task that is tried again has none', () => {
    const one = walk(rules)
    for (const fingerprint of ['a', 'b', 'c', 'd', 'e']) {
      one.step(anAgent())
      one.step(gates([aResult({ exit: 1, fingerprint })]))
    }
    one.tell({ type: 'task.reopened', why: 'a new run' })
    expect(one.state()).toMatchObject({ status: 'open', failures: 0 })
    expect(one.state().limit).toBe(undefined)
    expect(one.state().history).toHaveLength(5)
  })
})

describe('S3-41 resume or fresh', () => {
  const tried = () => {
    const one = walk(rules)
    for (const fingerprint of ['a', 'a']) {
      one.step(anAgent())
      one.step(gates([aResult({ exit: 1, fingerprint })]))
    }
    return one
  }

  it('fresh forgets every attempt and puts their work back first', () => {
    const one = tried()
    one.tell({ type: 'task.reopened', why: 'begun afresh', forget: true })
    expect(one.state()).toMatchObject({
      status: 'open',
      failures: 0,
      history: [],
      recent: [],
      next: { type: 'restore' },
    })
    one.effect({ kind: 'restore', kept: null, branch: null })
    expect(one.state().next).toEqual({ type: 'baseline' })
    expect(one.state().spent.calls).toBe(2)
  })

  it('what the preset’s own files tell of earlier attempts counts, and stuckness with it', () => {
    const row = (attempt: number) => ({
      attempt,
      stage: 'tests',
      fingerprint: 'aaaaaaaa',
      shift: false,
      reason: '',
      at: 1,
    })
    const recent = [{ attempt: 3, stage: 'tests', reason: 'x', detail: 'x', fault: null, at: 1 }]
    const one = walk(rules)
    one.tell({ type: 'task.continued', source: '.ralph_state.md', history: [1, 2, 3].map(row), recent })
    expect(one.state()).toMatchObject({ failures: 3, recent, stuck: { same: 3 } })
    expect(isStuck(rules, one.state())).toBe(true)
    const capped = walk(rules)
    capped.tell({
      type: 'task.continued',
      source: '.ralph_state.md',
      history: [1, 2, 3, 4, 5].map(row),
      recent,
    })
    expect(capped.state()).toMatchObject({ failures: 0, status: 'open', stuck: { same: 0 } })
    expect(capped.state().history).toHaveLength(5)
    const late = tried()
    const before = late.state()
    late.tell({ type: 'task.continued', source: '.ralph_state.md', history: [row(1)], recent })
    expect(late.state()).toEqual(before)
  })
})

describe('soft gates', () => {
  it('S3-02 S3-53 leave warnings, never block, and a timeout of theirs is a warning, too', () => {
    const one = walk(rules)
    const slow = anAgent({ ...aReviewer(), ended: 'timeout', exit: null, ms: 180_000 })
    for (const outcome of [anAgent(), green, aReviewer(approves), slow]) one.step(outcome)
    expect(one.state()).toMatchObject({ status: 'done', warnings: ['Timeout after 180s'] })
  })

  it('each line WARNING: is one; without any, the reason is', () => {
    const fail = { verdict: 'fail' as const, reason: 'not nice' }
    expect(softFindings(fail, 'WARNING: a\ntext WARNING: no\n* **WARNING:** b\nwarning: c')).toEqual([
      'a',
      'b',
      'c',
    ])
    expect(softFindings(fail, 'no lines')).toEqual(['not nice'])
    expect(softFindings({ verdict: 'pass', reason: '' }, 'WARNING: a')).toEqual(['a'])
    expect(softFindings({ verdict: 'pass', reason: '' }, 'fine')).toEqual([])
    const one = walk(rules)
    for (const outcome of [anAgent(), green, aReviewer(approves), aReviewer(rejects('long function'))])
      one.step(outcome)
    expect(one.state().warnings).toEqual(['long function'])
  })
})
