import { describe, expect, it } from 'vitest'
import type { Outcome } from '../../src/core/outcome.ts'
import { foldRun, newRunState, type RunState } from '../../src/core/run.ts'
import { isBegun } from '../../src/core/select.ts'
import type { TaskState } from '../../src/core/state.ts'
import { isStuck } from '../../src/core/transition.ts'
import { isEnd, type Workflow, workflowProblems } from '../../src/core/workflow.ts'
import { gated } from '../../src/presets/gated.ts'
import { pipeline } from '../../src/presets/pipeline.ts'
import { presets } from '../../src/presets/registry.ts'
import { reviewed } from '../../src/presets/reviewed.ts'
import { stepwise } from '../../src/presets/stepwise.ts'
import { stories } from '../../src/presets/stories.ts'
import {
  aChange,
  anAgent,
  approves,
  aResult,
  aReviewer,
  aTask,
  done,
  event,
  failed,
  gates,
  green,
  judged,
  promised,
  red,
  rejects,
  someRules,
  type Walk,
  walk,
} from './build.ts'

const works = anAgent({ signals: [done()] })
const givesUp = anAgent({ signals: [failed('no such table')] })

describe('every preset', () => {
  it.each(Object.entries(presets))('%s is sound data under its own name', (name, preset) => {
    expect(preset.name).toBe(name)
    expect(workflowProblems(preset)).toEqual([])
    expect(JSON.parse(JSON.stringify(preset))).toEqual(preset)
  })
})

describe('stories', () => {
  /** `state.json` of the seed, as the states of the tasks tell it. */
  function stateJson(states: TaskState[]) {
    const current = states.find(
      state => state.status === 'halted' || (state.status === 'open' && isUnderWay(state)),
    )
    return {
      completed_stories: states.filter(state => state.status === 'done').map(state => state.task.id),
      current_story: current?.task.id ?? null,
      retry_count: current?.failures ?? 0,
    }
  }
  const isUnderWay = (state: TaskState) => state.step !== null || state.base !== null || state.failures > 0
  const json = (one: Walk) => stateJson([walk(someRules(stories), aTask({ id: '0.9' })).state(), one.state()])

  it('S4-46 a story is pending, then running, tried again, and done; or halted', () => {
    const seen: unknown[] = []
    const one = walk(someRules(stories))
    const look = () => seen.push([one.state().status, json(one).current_story, one.state().failures])
    look()
    one.tell({ type: 'step.started', step: 's', stage: '@baseline', base: aBaseOf(one) })
    look()
    one.tell({ type: 'step.interrupted', step: 's', why: 'x', kept: null })
    one.step(givesUp)
    look()
    one.step(works)
    one.step(green)
    look()
    expect(seen).toEqual([
      ['open', null, 0],
      ['open', '1.1', 0],
      ['open', '1.1', 1],
      ['done', null, 1],
    ])
    const other = walk(someRules(stories))
    for (const _ of [1, 2, 3]) other.step(givesUp)
    expect(other.state().status).toBe('halted')
  })

  const aBaseOf = (one: Walk) => one.state().base ?? { head: 'h0', branch: 'main', tree: 't0', snapshot: '' }

  it('S4-47 when a story starts nothing but the current story changes', () => {
    const one = walk(someRules(stories, 'none'))
    const before = json(one)
    one.tell({ type: 'step.started', step: 's', stage: 'implement', base: aBaseOf(one) })
    expect(json(one)).toEqual({ ...before, current_story: '1.1' })
  })

  it('S4-48 when it is done it is completed, nothing is current and the count is 0', () => {
    const one = walk(someRules(stories))
    one.step(givesUp)
    one.step(works)
    one.step(green)
    expect(json(one)).toEqual({ completed_stories: ['1.1'], current_story: null, retry_count: 0 })
  })

  it('S4-49 when it fails it stays current and the count grows by one', () => {
    const one = walk(someRules(stories))
    one.step(givesUp)
    expect(json(one)).toEqual({ completed_stories: [], current_story: '1.1', retry_count: 1 })
    one.step(givesUp)
    expect(json(one)).toEqual({ completed_stories: [], current_story: '1.1', retry_count: 2 })
  })

  it('S4-50 when it is halted it stays current and the count is the limit', () => {
    const one = walk(someRules(stories))
    for (const _ of [1, 2, 3]) one.step(givesUp)
    expect(one.state()).toMatchObject({ status: 'halted', note: 'no such table' })
    expect(json(one)).toEqual({ completed_stories: [], current_story: '1.1', retry_count: 3 })
  })

  it('S4-51 a retry is the same story again and uses one iteration of the run', () => {
    const one = walk(someRules(stories))
    const iterations = () => runOf(stories, one).iterations
    one.step(givesUp)
    expect(one.state().next).toEqual({ type: 'agent', stage: 'implement' })
    expect(iterations()).toBe(1)
    one.step(works)
    one.step(red)
    expect(iterations()).toBe(2)
    one.step(works)
    one.step(green)
    expect(iterations()).toBe(3)
  })

  it('S4-06 three tries and a signal that lies: red gates halt a story that always says DONE', () => {
    const one = walk(someRules(stories))
    for (const _ of [1, 2, 3]) {
      expect(one.state().status).toBe('open')
      one.step(works)
      one.step(red)
    }
    expect(one.state().status).toBe('halted')
    expect(one.state().history.map(row => row.reason)).toEqual(
      Array(3).fill('`npm test` fails with exit code 1'),
    )
  })
})

function runOf(workflow: Workflow, one: Walk): RunState {
  const started = event({ type: 'task.removed' })
  const begun = foldRun(newRunState('r1'), {
    ...started,
    type: 'run.started',
    workflow,
    verify: ['npm test'],
    host: 'here',
    pid: 1,
    options: {},
  })
  return one.events.reduce<RunState>(foldRun, begun)
}

describe('stepwise', () => {
  const cleanReview = aReviewer(judged('pass'))
  const issues = aReviewer(judged('fail', 'criterion 2 is not met'))

  it('walks the steps of one task in order', () => {
    const one = walk(someRules(stepwise))
    for (const outcome of [engineStep, anAgent(), cleanReview, anAgent(), aReviewer(), green])
      one.step(outcome)
    expect(one.path).toEqual(['choose_task', 'implementation', 'review', 'cleanup', 'sync', 'update_done'])
    expect(one.state().status).toBe('done')
  })

  const engineStep: Outcome = { kind: 'engine' }

  it('C-20 the third failed review is the last, after two fixes', () => {
    const one = walk(someRules(stepwise))
    for (const outcome of [engineStep, anAgent(), issues, anAgent(), issues, anAgent(), issues])
      one.step(outcome)
    expect(one.path).toEqual(['choose_task', 'implementation', 'review', 'fix', 'review', 'fix', 'review'])
    expect(one.state()).toMatchObject({ status: 'halted', note: 'criterion 2 is not met', next: null })
  })

  it('H-06 gates that are red after the clean-up lead to a fix, twice at most', () => {
    const one = walk(someRules(stepwise))
    const round = [cleanReview, anAgent(), aReviewer(), red]
    for (const outcome of [engineStep, anAgent(), ...round, anAgent(), ...round, anAgent(), ...round])
      one.step(outcome)
    expect(one.path.filter(stage => stage === 'fix')).toHaveLength(2)
    expect(one.state()).toMatchObject({ status: 'halted', endedIn: 'update_done' })
  })

  it('a task that was chosen is the current one until it ends, even before an agent has begun', () => {
    const one = walk(someRules(stepwise))
    expect(isBegun(one.state())).toBe(false)
    one.step(engineStep)
    expect(one.state()).toMatchObject({ base: null, chosen: true })
    expect(isBegun(one.state())).toBe(true)
    one.step(anAgent({ exit: 1 }))
    expect(isBegun(one.state())).toBe(false)
  })

  it('moved past its review a task is not done until it is reviewed', () => {
    const one = walk(someRules(stepwise))
    for (const outcome of [engineStep, anAgent()]) one.step(outcome)
    one.tell({ type: 'task.moved', stage: 'update_done', source: 'a person' })
    one.step(green)
    expect(one.state()).toMatchObject({ status: 'open', next: { type: 'agent', stage: 'review' } })
    for (const outcome of [cleanReview, anAgent(), aReviewer(), green]) one.step(outcome)
    expect(one.state().status).toBe('done')
  })

  it('tries that begin anew keep the work that stayed in the tree', () => {
    const one = walk(someRules(stepwise))
    for (const outcome of [engineStep, anAgent(), issues, anAgent({ exit: 1 })]) one.step(outcome)
    const { base, evidence } = one.state()
    expect(base).not.toBeNull()
    one.tell({ type: 'task.reopened', why: 'resumed' })
    expect(one.state()).toMatchObject({
      status: 'open',
      base,
      taken: {},
      evidence: { change: evidence.change },
    })
    one.tell({ type: 'task.moved', stage: 'choose_task', source: 'a person', away: true })
    expect(one.state()).toMatchObject({ base: null, evidence: {} })
  })

  it('only the record of a task leads to its end', () => {
    const toDone = Object.entries(stepwise.stages).filter(([, stage]) =>
      Object.values(stage.on).includes('done'),
    )
    expect(toDone.map(([name]) => name)).toEqual(['update_done'])
  })

  it('a failed implementation or fix ends the task at once; a failed clean-up or sync does not', () => {
    const broken = anAgent({ exit: 1 })
    const implementation = walk(someRules(stepwise))
    for (const outcome of [engineStep, broken]) implementation.step(outcome)
    expect(implementation.state().status).toBe('halted')
    const fix = walk(someRules(stepwise))
    for (const outcome of [engineStep, anAgent(), issues, broken]) fix.step(outcome)
    expect(fix.state().status).toBe('halted')
    const cleanup = walk(someRules(stepwise))
    for (const outcome of [engineStep, anAgent(), cleanReview, broken, broken]) cleanup.step(outcome)
    expect(cleanup.state().next).toEqual({ type: 'commands', stage: 'update_done' })
  })
})

describe('reviewed', () => {
  const badReview = aReviewer(judged('fail', 'no test for an empty list'))
  const submits = anAgent({ signals: [judged('pass')] })

  it('C-32 the worst case of a story is ten calls: it is approved with a note at the fifth review', () => {
    const one = walk(someRules(reviewed))
    let calls = 0
    while (one.state().status === 'open') {
      const { next } = one.state()
      const stage = next && 'stage' in next ? next.stage : 'implement'
      if (!stage.startsWith('verify')) calls++
      one.step(stage.startsWith('verify') ? green : stage === 'review' ? badReview : submits)
    }
    expect(calls).toBe(10)
    expect(one.path.filter(stage => stage === 'review')).toHaveLength(5)
    expect(one.path.filter(stage => stage === 'review-fix')).toHaveLength(4)
    expect(one.state().status).toBe('done')
    expect(one.state().evidence.review).toMatchObject({
      verdict: 'auto-pass',
      note: 'no test for an empty list',
    })
  })

  it('is never approved by reviewers that break a rule: each is asked again, then the attempt has failed', () => {
    const one = walk(someRules({ ...reviewed, limits: { attempts: 1 } }))
    const detail = 'Changed src/a.ts, but a reviewer may not edit'
    const edits = anAgent({
      change: aChange([]),
      violations: [{ rule: 'read-only', path: 'src/a.ts', detail }],
    })
    while (one.state().status === 'open') {
      const { next } = one.state()
      const stage = next && 'stage' in next ? next.stage : 'implement'
      one.step(stage.startsWith('verify') ? green : stage === 'review' ? edits : submits)
    }
    expect(one.state()).toMatchObject({ status: 'halted', note: detail })
    expect(one.path.slice(-6)).toEqual(['verify', 'review', 'verify', 'review', 'verify', 'review'])
  })

  it('goes on with unfinished work where it is, and puts back only what broke a rule or never ends', () => {
    const unfinished = anAgent({ signals: [judged('fail', 'Not finished')] })
    const going = walk(someRules(reviewed))
    for (const outcome of [unfinished, unfinished]) going.step(outcome)
    expect(going.state()).toMatchObject({ failures: 0, next: { type: 'agent', stage: 'implement' } })
    going.step(unfinished)
    expect(going.state()).toMatchObject({ failures: 1, base: null, evidence: {} })
    const detail = 'Implement iterations cannot set passes=true'
    const broken = anAgent({ violations: [{ rule: 'backlog', path: '', detail }] })
    const breaking = walk(someRules(reviewed))
    breaking.step(broken)
    expect(breaking.state()).toMatchObject({ failures: 1, base: null, evidence: {} })
  })

  it('mends a fix that breaks the gates without throwing the reviewed work away', () => {
    const one = walk(someRules(reviewed))
    for (const outcome of [submits, green, badReview, submits, red]) one.step(outcome)
    expect(one.state()).toMatchObject({ failures: 0, next: { type: 'agent', stage: 'review-fix' } })
    for (const outcome of [submits, green, aReviewer(judged('pass'))]) one.step(outcome)
    expect(one.state().status).toBe('done')
  })

  it('counts each call as an iteration', () => {
    const one = walk(someRules(reviewed))
    for (const outcome of [submits, green, aReviewer(judged('pass'))]) one.step(outcome)
    expect(one.state().status).toBe('done')
    expect(runOf(reviewed, one).iterations).toBe(2)
  })
})

describe('pipeline', () => {
  const committed = { ...aChange(['src/a.ts']), commits: ['c1'] }
  const coder = anAgent({ signals: [promised('IMPLEMENTATION_COMPLETE')], change: committed })
  const reviewer = aReviewer(promised('REVIEW_COMPLETE'))
  const tester = anAgent({ signals: [promised('TESTS_COMPLETE')] })
  const qa = aReviewer(promised('QA_PASSED'))

  it('goes from role to role by promises, each verified by the engine’s own gates', () => {
    const one = walk(someRules(pipeline))
    for (const outcome of [coder, reviewer, tester, green, qa]) one.step(outcome)
    expect(one.path).toEqual(['coder', 'reviewer', 'tester', 'verify', 'qa'])
    expect(one.state().status).toBe('done')
  })

  it('a missing promise is the same stage again, a red gate goes back to the coder', () => {
    const one = walk(someRules(pipeline))
    for (const outcome of [anAgent(), coder, aReviewer(), reviewer, anAgent(), tester, red]) one.step(outcome)
    expect(one.path).toEqual(['coder', 'coder', 'reviewer', 'reviewer', 'tester', 'tester', 'verify'])
    expect(one.state().next).toEqual({ type: 'agent', stage: 'coder' })
  })

  it('H-21 an exhausted stage puts the task back to the queue a bounded number of times, then it failed', () => {
    const one = walk(someRules(pipeline, 'none'))
    const passes: number[] = []
    for (let calls = 1; one.state().status === 'open'; calls++) {
      one.step(anAgent())
      if (passes.length + 1 < one.state().pass || one.state().status !== 'open') passes.push(calls)
    }
    expect(passes).toEqual([15, 30, 45])
    const note = 'Ralph loop exceeded 15 iterations: Promise not found or malformed'
    expect(one.state()).toMatchObject({ status: 'failed', pass: 3, note })
    expect(one.state().exhausted).toMatchObject({ stage: 'coder', used: 15, limited: true, reason: note })
  })

  it('a bad end and a broken rule are the same stage again, a finding goes back to the coder', () => {
    const late = anAgent({ ended: 'timeout', exit: null, change: aChange([]) })
    const rule = 'read-only' as const
    const meddled = { ...aReviewer(), violations: [{ rule, path: 'a', detail: 'Changed a' }] }
    const one = walk(someRules(pipeline))
    for (const outcome of [coder, late, meddled, aReviewer(rejects('no test')), coder, reviewer])
      one.step(outcome)
    expect(one.path).toEqual(['coder', 'reviewer', 'reviewer', 'reviewer', 'coder', 'reviewer'])
    expect(one.state().stage).toBe('tester')
    expect(one.state().visits).toMatchObject({ coder: 2, reviewer: 4 })
  })

  it('a loop is remembered from its first call on, over its iterations, until another stage begins', () => {
    const one = walk(someRules(pipeline, 'none'))
    expect(one.state().loop).toBeUndefined()
    one.step(anAgent())
    const { loop } = one.state()
    expect(loop).toMatchObject({ stage: 'coder' })
    one.step(anAgent())
    expect(one.state().loop).toEqual(loop)
    one.step(coder)
    expect(one.state().loop).toBeUndefined()
    one.step(reviewer)
    one.step(tester)
    expect(one.state().loop).toBeUndefined()
  })

  it('S2-52 money for a task ends it within a loop, and no requeue gives it more', () => {
    const dear = anAgent({ usage: { costUsd: 3, inputTokens: null, outputTokens: null } })
    const one = walk(someRules({ ...pipeline, limits: { ...pipeline.limits, taskCost: 5 } }, 'none'))
    one.step(dear)
    expect(one.state()).toMatchObject({ status: 'open', pass: 1 })
    one.step(dear)
    const note = 'Money for this task is used up: Promise not found or malformed'
    expect(one.state()).toMatchObject({ status: 'failed', pass: 1, note })
  })
})

describe('gated', () => {
  const gate = (fingerprint: string) => gates([aResult({ exit: 1, fingerprint })])
  const attempt = (one: Walk, fingerprint: string) => {
    one.step(anAgent())
    one.step(gate(fingerprint))
  }
  const rules = someRules(gated)

  it('S3-28 the same error three times in a row means stuck; another error begins the count anew', () => {
    const one = walk(rules)
    for (const fingerprint of ['a', 'a', 'b', 'b']) attempt(one, fingerprint)
    expect(isStuck(rules, one.state())).toBe(false)
    const other = walk(rules)
    for (const fingerprint of ['a', 'a', 'a']) attempt(other, fingerprint)
    expect(isStuck(rules, other.state())).toBe(true)
    attempt(other, 'b')
    expect(isStuck(rules, other.state())).toBe(false)
    expect(other.state().stuck).toMatchObject({ same: 1, shifts: 0 })
  })

  it('another error gives the strategy shifts back', () => {
    const patient = someRules({ ...gated, limits: { attempts: 20 } })
    const one = walk(patient)
    for (const fingerprint of ['a', 'a', 'a', 'a']) attempt(one, fingerprint)
    expect(one.state().stuck).toMatchObject({ same: 4, shifts: 1 })
    attempt(one, 'b')
    expect(one.state().stuck).toMatchObject({ same: 1, shifts: 0 })
    for (const fingerprint of ['b', 'b', 'b']) attempt(one, fingerprint)
    expect(one.state()).toMatchObject({ status: 'open', stuck: { shifts: 1 } })
    attempt(one, 'b')
    expect(one.state().status).toBe('failed')
  })

  it('two strategy shifts that end in the same error are the last', () => {
    const one = walk(rules)
    for (let count = 1; one.state().status === 'open'; count++) {
      attempt(one, 'a')
      expect(count).toBeLessThanOrEqual(5)
    }
    expect(one.state().history.map(row => [row.attempt, row.shift])).toEqual([
      [1, false],
      [2, false],
      [3, false],
      [4, true],
      [5, true],
    ])
    expect(one.state()).toMatchObject({ status: 'failed', note: 'Stuck: `npm test` fails with exit code 1' })
  })

  it('stops for being stuck even when tries are left, and for tries when the errors differ', () => {
    const many = walk(someRules({ ...gated, limits: { attempts: 20 } }))
    for (let count = 0; many.state().status === 'open' && count < 30; count++) attempt(many, 'a')
    expect(many.state()).toMatchObject({ status: 'failed', failures: 5 })
    const other = walk(rules)
    for (const fingerprint of ['a', 'b', 'c', 'd', 'e']) attempt(other, fingerprint)
    expect(other.state()).toMatchObject({
      status: 'failed',
      failures: 5,
      note: '`npm test` fails with exit code 1',
    })
  })

  it('the quality check warns and never blocks, the spec check blocks', () => {
    const one = walk(rules)
    for (const outcome of [anAgent(), green, aReviewer(approves), aReviewer(rejects('long function'))])
      one.step(outcome)
    expect(one.state().status).toBe('done')
    const other = walk(rules)
    for (const outcome of [anAgent(), green, aReviewer(rejects('no error message'))]) other.step(outcome)
    expect(other.state()).toMatchObject({ status: 'open', failures: 1, note: 'no error message' })
  })
})

describe('every stage of every preset', () => {
  const stages = Object.values(presets).flatMap(preset =>
    Object.entries(preset.stages).map(([name, stage]) => [`${preset.name}.${name}`, preset, stage] as const),
  )
  it.each(stages)(
    '%s leads to stages of its own preset and has a time limit where something runs',
    (_, preset, stage) => {
      for (const edge of Object.values(stage.on)) {
        for (const target of typeof edge === 'string' ? [edge] : [edge.to, edge.then]) {
          expect(isEnd(target) || Object.keys(preset.stages).includes(target)).toBe(true)
        }
      }
      if (stage.kind !== 'engine') expect(stage.time?.hard).toBeGreaterThan(0)
    },
  )
})
