import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  blockedTasks,
  type Candidate,
  choose,
  dependencyProblems,
  isBegun,
  rank,
  rankOf,
} from '../../src/core/select.ts'
import { newTaskState, type TaskState } from '../../src/core/state.ts'
import { type Task, taskStatuses } from '../../src/core/task.ts'
import { stories } from '../../src/presets/stories.ts'
import { aBase, anAgent, aTask, done, green, red, someRules, walk } from './build.ts'
import { holds } from './property.ts'

const ids = ['a', 'b', 'c', 'd', 'e', 'f'] as const
const now = 1_000

describe('choose', () => {
  const candidate: fc.Arbitrary<Candidate> = fc.record({
    id: fc.constantFrom(...ids),
    needs: fc.subarray([...ids], { maxLength: 2 }),
    begun: fc.constantFrom(false, false, false, true),
    waitUntil: fc.constantFrom(0, 0, 0, 500, 1_500, 2_500),
  })
  const candidates = fc.uniqueArray(candidate, { selector: one => one.id })
  const doneIds = fc.subarray([...ids])

  it('takes what is begun first, then the first in rank order whose needs are done and that need not wait', () => {
    holds(
      fc.property(candidates, doneIds, (all, finished) => {
        const isDone = (id: string) => finished.some(one => one === id)
        const choice = choose(all, isDone, now)
        const begun = all.find(one => one.begun)
        const able = all.filter(one => one.needs.every(isDone))
        const ready = begun ?? able.find(one => one.waitUntil <= now)
        if (ready && ready.waitUntil <= now) return assert.deepEqual(choice, { type: 'task', id: ready.id })
        const waiting = begun ? [begun] : able
        if (waiting.length === 0) return assert.deepEqual(choice, { type: 'none' })
        assert.deepEqual(choice, { type: 'wait', until: Math.min(...waiting.map(one => one.waitUntil)) })
      }),
      2_000,
    )
  })

  it('reads no further than it must', () => {
    function* tenThousand(): Generator<Candidate> {
      yield { id: 'first', needs: [], begun: true, waitUntil: 0 }
      throw new Error('read on')
    }
    expect(choose(tenThousand(), () => true, now)).toEqual({ type: 'task', id: 'first' })
  })
})

describe('rank', () => {
  const task = fc
    .record({
      order: fc.nat({ max: 9_999 }),
      priority: fc.option(fc.integer({ min: -5, max: 1_000 })),
      complexity: fc.option(fc.nat({ max: 1_000 })),
    })
    .map(({ order, priority, complexity }) =>
      aTask({
        order,
        ...(priority === null ? {} : { priority }),
        ...(complexity === null ? {} : { complexity }),
      }),
    )

  it.each(['order', 'complexity', 'priority'] as const)(
    '%s: the lowest first, without a number last, then backlog order',
    rule => {
      const key = (one: Task) => (rule === 'order' ? 0 : (one[rule] ?? Number.POSITIVE_INFINITY))
      holds(
        fc.property(task, task, (a, b) => {
          const byKey = key(a) === key(b) ? 0 : key(a) < key(b) ? -1 : 1
          assert.equal(Math.sign(rank(rule, a) - rank(rule, b)), byKey || Math.sign(a.order - b.order))
        }),
        300,
      )
    },
  )
})

it('a task is begun while its work is in the tree', () => {
  const one = walk(someRules(stories, 'none'))
  expect(isBegun(one.state())).toBe(false)
  one.tell({ type: 'step.started', step: 's', stage: 'implement', base: aBase() })
  expect(isBegun(one.state())).toBe(true)
  one.tell({ type: 'step.interrupted', step: 's', why: 'x', kept: null })
  expect(isBegun(one.state())).toBe(false)
  one.effect(anAgent({ signals: [done()] }))
  expect(isBegun(one.state())).toBe(true)
  one.effect(red)
  expect(one.state().next).toEqual({ type: 'restore' })
  expect(isBegun(one.state())).toBe(true)
  one.effect({ kind: 'restore', kept: null, branch: null })
  expect(isBegun(one.state())).toBe(false)
  one.effect(anAgent({ signals: [done()] }))
  one.effect(green)
  expect(isBegun(one.state())).toBe(true)
  one.effect({ kind: 'settle', head: 'h2', committed: null, paths: [] })
  expect(isBegun(one.state())).toBe(false)
})

it('a task that ended is begun only as long as its work waits to be put back', () => {
  const one = walk(someRules(stories, 'none'))
  one.effect(anAgent({ signals: [done()] }))
  one.tell({ type: 'task.cancelled', why: 'no' })
  expect(isBegun(one.state())).toBe(true)
  one.effect({ kind: 'restore', kept: null, branch: null })
  expect(isBegun(one.state())).toBe(false)
  const held = walk(someRules(stories, 'none'))
  held.effect(anAgent({ fault: { kind: 'auth', message: 'not logged in' } }))
  expect(isBegun(held.state())).toBe(false)
})

describe('rankOf', () => {
  const workflow = { ...stories, select: 'priority' as const, first: ['review-fix', 'review'] }
  const at = (stage: string | null, priority: number, status: TaskState['status'] = 'open') =>
    rankOf(workflow, { ...newTaskState(aTask({ priority })), status, stage })

  it('puts tasks at the stages that go first before all others, in their order, whatever their priority', () => {
    expect(at('review-fix', 900_000)).toBeLessThan(at('review', 1))
    expect(at('review', 900_000)).toBeLessThan(at('implement', 1))
    expect(at('review', 1)).toBeLessThan(at('review', 2))
    expect(at('review', 1, 'done')).toBe(at(null, 1))
  })

  it('is the plain rank where no stage goes first', () => {
    const { first: _, ...plain } = workflow
    const state = { ...newTaskState(aTask({ priority: 3 })), stage: 'review' }
    expect(rankOf(plain, state)).toBe(rank('priority', state.task))
  })
})

describe('G-18 dependencies', () => {
  const backlog = fc
    .uniqueArray(
      fc.record({
        id: fc.constantFrom(...ids),
        needs: fc.array(fc.constantFrom(...ids, 'x'), { maxLength: 3 }),
      }),
      {
        selector: one => one.id,
      },
    )
    .map(all => all.map(aTask))

  /** By hand and slowly: what can be reached from where. */
  function reaches(tasks: Task[], from: string, to: string, seen = new Set<string>()): boolean {
    const needs = tasks.find(task => task.id === from)?.needs ?? []
    return needs.some(need => {
      if (need === to) return true
      if (seen.has(need)) return false
      seen.add(need)
      return reaches(tasks, need, to, seen)
    })
  }
  const cycleOf = (message: string) => /^dependency cycle: (.*)$/u.exec(message)?.[1]?.split(' → ') ?? null

  it('every reported cycle is one, and without the needs that close them none is left', () => {
    holds(
      fc.property(backlog, tasks => {
        const cycles = dependencyProblems(tasks).flatMap(problem => {
          const cycle = cycleOf(problem.message)
          return cycle ? [cycle] : []
        })
        for (const cycle of cycles) {
          cycle.slice(1).forEach((need, index) => {
            assert(
              tasks.find(task => task.id === cycle[index])?.needs.includes(need),
              `${cycle[index]} needs ${need}`,
            )
          })
        }
        const closing = new Set(cycles.map(cycle => `${cycle.at(-2)} ${cycle.at(-1)}`))
        assert.equal(closing.size, cycles.length, 'a cycle was reported twice')
        const rest = tasks.map(task => ({
          ...task,
          needs: task.needs.filter(need => !closing.has(`${task.id} ${need}`)),
        }))
        for (const task of rest) assert(!reaches(rest, task.id, task.id), 'a cycle is left')
        assert.equal(
          cycles.length > 0,
          tasks.some(task => reaches(tasks, task.id, task.id)),
        )
      }),
      2_000,
    )
  })

  it('every need that is not in the backlog is reported, once', () => {
    holds(
      fc.property(backlog, tasks => {
        const known = new Set(tasks.map(task => task.id))
        const expected = tasks.flatMap(task =>
          [...new Set(task.needs)]
            .filter(need => !known.has(need))
            .map(need => `${task.id}: needs '${need}', which is not in the backlog`),
        )
        const found = dependencyProblems(tasks).filter(problem => !cycleOf(problem.message))
        assert.deepEqual(
          found.map(problem => `${problem.id}: ${problem.message}`),
          expected,
        )
      }),
      300,
    )
  })

  it('a chain of ten thousand is no problem, its last link back to the first is', () => {
    const chain = Array.from({ length: 10_000 }, (_, index) =>
      aTask({ id: `${index}`, needs: index > 0 ? [`${index - 1}`] : [] }),
    )
    expect(dependencyProblems(chain)).toEqual([])
    const [first, ...rest] = chain
    if (!first) throw new Error('no tasks')
    const [problem] = dependencyProblems([{ ...first, needs: ['9999'] }, ...rest])
    expect(problem?.message).toContain('dependency cycle: 0 → 9999 → 9998')
  })

  it('blocked is what can never be chosen: not what only waits for its turn', () => {
    const state: fc.Arbitrary<Pick<TaskState, 'status'>> = fc.record({
      status: fc.constantFrom('open', 'open', 'open', ...taskStatuses),
    })
    const states = fc
      .tuple(backlog, fc.array(state, { minLength: 6, maxLength: 6 }))
      .map(([tasks, with_]) => tasks.map((task, index) => ({ ...newTaskState(task), ...with_[index] })))
    holds(
      fc.property(states, all => {
        const blocked = blockedTasks(all)
        // What a run that always succeeds would get done.
        const finished = new Set(all.filter(one => one.status === 'done').map(one => one.task.id))
        for (let grown = true; grown; ) {
          const next = all.find(
            one =>
              one.status === 'open' &&
              !finished.has(one.task.id) &&
              one.task.needs.every(need => finished.has(need)),
          )
          if (next) finished.add(next.task.id)
          grown = next !== undefined
        }
        const left = all.filter(one => one.status === 'open' && !finished.has(one.task.id))
        assert.deepEqual(
          blocked.map(one => one.id),
          left.map(one => one.task.id),
        )
        for (const { id, missing } of blocked) {
          const needs = all.find(one => one.task.id === id)?.task.needs ?? []
          assert.deepEqual(
            missing,
            needs.filter(need => !finished.has(need)),
          )
          assert(missing.length > 0)
        }
      }),
      2_000,
    )
  })

  it('what is begun is not blocked', () => {
    const begun: TaskState = { ...newTaskState(aTask({ id: 'a', needs: ['x'] })), base: aBase() }
    expect(blockedTasks([begun, newTaskState(aTask({ id: 'b', needs: ['a'] }))])).toEqual([])
  })
})
