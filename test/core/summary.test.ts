import { describe, expect, it } from 'vitest'
import { estimateIterations } from '../../src/core/estimate.ts'
import type { TaskState } from '../../src/core/state.ts'
import { addToSummary, newSummaryFold, summarise } from '../../src/core/summary.ts'
import type { Workflow } from '../../src/core/workflow.ts'
import { workflowProblems } from '../../src/core/workflow.ts'
import { withoutReview, withReviewCap, withTimes } from '../../src/core/workflow-edit.ts'
import { gated } from '../../src/presets/gated.ts'
import { pipeline } from '../../src/presets/pipeline.ts'
import { presets } from '../../src/presets/registry.ts'
import { reviewed } from '../../src/presets/reviewed.ts'
import { stepwise } from '../../src/presets/stepwise.ts'
import { stories } from '../../src/presets/stories.ts'
import { anAgent, aReviewer, event, green, judged, red, someRules, type Walk, walk } from './build.ts'

const submits = anAgent({
  signals: [judged('pass')],
  usage: { costUsd: 0.5, inputTokens: 10, outputTokens: 5 },
})
const asks = { ...aReviewer(judged('fail', 'no test')), agent: 'other', model: 'small' }
const agrees = { ...aReviewer(judged('pass')), agent: 'other', model: 'small' }

function summaryOf(workflow: Workflow, walks: Record<string, Walk>) {
  const fold = newSummaryFold()
  const states: TaskState[] = []
  for (const [id, one] of Object.entries(walks)) {
    for (const done of one.events) addToSummary(fold, id, done)
    states.push({ ...one.state(), task: { ...one.state().task, id } })
  }
  return summarise(states, fold, workflow)
}

function reviewedWalk(...reviews: (typeof asks)[]): Walk {
  const one = walk(someRules(reviewed))
  one.step(submits)
  for (const review of reviews) {
    one.step(green)
    one.step(review)
    if (review === asks && one.state().status === 'open') one.step(submits)
  }
  return one
}

describe('the summary', () => {
  it('says who did what at what cost, with unknown costs as unknown', () => {
    const { agents, costUsd, unknownCosts } = summaryOf(reviewed, { a: reviewedWalk(asks, agrees) })
    expect(agents).toMatchObject([
      {
        agent: 'scripted',
        model: null,
        stage: 'implement',
        calls: 1,
        costUsd: 0.5,
        unknownCosts: 0,
        tokens: 15,
      },
      { agent: 'other', model: 'small', stage: 'review', calls: 2, costUsd: 0, unknownCosts: 2 },
      { agent: 'scripted', model: null, stage: 'review-fix', calls: 1, costUsd: 0.5 },
    ])
    expect([costUsd, unknownCosts]).toEqual([1, 2])
  })

  it('does not hide calls that did not count', () => {
    const one = walk(someRules(stories))
    one.step(anAgent({ fault: { kind: 'infrastructure', message: 'HTTP 529' } }))
    expect(summaryOf(stories, { a: one }).agents).toMatchObject([{ calls: 1, refunded: 1 }])
  })

  it('G-05 S1-145 counts the reviews of each task and says how to read them', () => {
    const advice = (walks: Record<string, Walk>) => summaryOf(reviewed, walks).reviews
    const once = { a: reviewedWalk(agrees), b: reviewedWalk(agrees), c: reviewedWalk(asks, agrees) }
    expect(advice(once)).toEqual({
      distribution: [
        { reviews: 1, tasks: 2 },
        { reviews: 2, tasks: 1 },
      ],
      atCap: [],
      advice: 'Mostly one review per task: the review costs little here.',
    })
    const often = { a: reviewedWalk(asks, asks, agrees), b: reviewedWalk(asks, asks, asks, agrees) }
    expect(advice(often)?.advice).toContain('the reviews catch real issues')
    const capped = { a: reviewedWalk(asks, asks, asks, asks, asks), b: reviewedWalk(agrees) }
    expect(advice(capped)).toMatchObject({
      distribution: [
        { reviews: 1, tasks: 1 },
        { reviews: 5, tasks: 1 },
      ],
      atCap: ['a'],
      advice: 'Look at a yourself: approved only because the review cap was reached.',
    })
    expect(advice({})?.advice).toBe('No task has been reviewed yet.')
    expect(summaryOf(stories, {}).reviews).toBeNull()
  })

  it('tells what failed, how often it was tried, and where the work is', () => {
    const one = walk(someRules({ ...gated, limits: { attempts: 2 } }))
    for (const _ of [1, 2]) {
      one.step(anAgent())
      one.step(red)
    }
    const fold = newSummaryFold()
    addToSummary(
      fold,
      'a',
      event({
        type: 'step.finished',
        step: 's',
        stage: '@restore',
        outcome: { kind: 'restore', kept: 'refs/x', branch: 'wip/ralph-fail-a' },
      }),
    )
    const [task] = summarise([{ ...one.state(), task: { ...one.state().task, id: 'a' } }], fold, gated).tasks
    expect(task).toMatchObject({
      ...{ id: 'a', status: 'failed', proof: null, attempts: 2, lastStage: 'tests' },
      branch: 'wip/ralph-fail-a',
    })
  })
})

describe('G-04 the estimate', () => {
  it('is the tasks that are left times what one takes', () => {
    expect(estimateIterations(reviewed, 5)).toEqual({ tasks: 5, each: 3, total: 15, limit: 15, enough: true })
    expect(estimateIterations(reviewed, 6)).toMatchObject({ total: 18, enough: false })
    expect(estimateIterations(pipeline, 2)).toMatchObject({ each: 5, total: 10, limit: null, enough: true })
    expect(estimateIterations(stepwise, 4)).toMatchObject({ each: 1, total: 4 })
  })

  it('comes from the backlog’s own history once there is some', () => {
    expect(estimateIterations(reviewed, 5, [4, 4, 5])).toMatchObject({ each: 4.3, total: 22, enough: false })
    expect(estimateIterations(reviewed, 5, [9])).toMatchObject({ each: 3 })
  })
})

describe('changes to a whole workflow', () => {
  it('S1-35 without review, what led to a reviewer leads on, and nobody is left who fixes for him', () => {
    const plain = withoutReview(reviewed)
    expect(Object.keys(plain.stages)).toEqual(['implement', 'verify'])
    expect(plain.stages.verify?.on.pass).toBe('done')
    for (const workflow of Object.values(presets))
      expect(workflowProblems(withoutReview(workflow))).toEqual([])
  })

  it('a review that said nothing is asked again as often as ever, whatever the cap', () => {
    const capped = withReviewCap(reviewed, 1).stages.review?.on
    expect(capped?.fail).toMatchObject({ max: 0 })
    expect(capped?.unclear).toEqual(reviewed.stages.review?.on.unclear)
  })

  it('S1-36 the cap is the number of reviews, the last one included', () => {
    for (const cap of [1, 2, 7]) {
      const one = walk(someRules(withReviewCap(reviewed, cap)))
      one.step(submits)
      while (one.state().status === 'open') {
        one.step(green)
        one.step(asks)
        if (one.state().status === 'open') one.step(submits)
      }
      expect(one.path.filter(stage => stage === 'review')).toHaveLength(cap)
      expect(one.state()).toMatchObject({ status: 'done', evidence: { review: { verdict: 'auto-pass' } } })
    }
  })

  it('S3-19 a factor scales every time limit', () => {
    const twice = withTimes(gated, 2)
    expect(twice.stages.implement?.time).toEqual({ soft: 24 * 60_000, hard: 40 * 60_000, idle: 20 * 60_000 })
    expect(twice.limits.task).toEqual({ soft: 90 * 60_000, hard: 120 * 60_000 })
    expect(twice.stages.tests?.on).toEqual(gated.stages.tests?.on)
  })
})
