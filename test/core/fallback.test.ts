import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  faultsBeforeFallback,
  type Health,
  healthAfter,
  pickAgent,
  withJitter,
} from '../../src/core/fallback.ts'
import type { Fault } from '../../src/core/outcome.ts'
import { foldRun, newRunState } from '../../src/core/run.ts'
import { stories } from '../../src/presets/stories.ts'
import { anAgent, event, someRules, walk } from './build.ts'
import { holds } from './property.ts'

const outage: Fault = { kind: 'infrastructure', message: 'HTTP 529' }
const limit = (until?: number): Fault => ({
  kind: 'limit',
  message: 'usage limit',
  ...(until === undefined ? {} : { until }),
})
const healthOf = (faults: (Fault | null)[], at = 1_000) =>
  faults.reduce<Health | undefined>((health, fault) => healthAfter(health, { fault }, at), undefined)

describe('which agent of a list is called', () => {
  it('the first, until it is at its limit; then the next, until the first recovers', () => {
    const health = { claude: healthAfter(undefined, { fault: limit(5_000) }, 1_000) }
    expect(pickAgent(['claude', 'codex'], {}, 1_000)).toBe(0)
    expect(pickAgent(['claude', 'codex'], health, 1_000)).toBe(1)
    expect(pickAgent(['claude', 'codex'], health, 4_999)).toBe(1)
    expect(pickAgent(['claude', 'codex'], health, 5_000)).toBe(0)
  })

  it('one outage is no reason to go elsewhere, several in a row are', () => {
    const some = Array(faultsBeforeFallback - 1).fill(outage)
    expect(healthOf(some)).toEqual({ faults: faultsBeforeFallback - 1, until: 0 })
    expect(healthOf([...some, outage])?.until).toBeGreaterThan(1_000)
    expect(healthOf([...some, null, outage])).toEqual({ faults: 1, until: 0 })
  })

  it('a limit without a time of its own is a rest of some minutes', () => {
    expect(healthOf([limit()])?.until).toBe(301_000)
  })

  it('when all of them rest, the one whose turn comes first', () => {
    const health = { a: { faults: 1, until: 9_000 }, b: { faults: 1, until: 3_000 } }
    expect(pickAgent(['a', 'b'], health, 1_000)).toBe(1)
  })

  it('is always one of the list', () => {
    const some = fc.dictionary(
      fc.constantFrom('a', 'b', 'constructor'),
      fc.record({ faults: fc.nat(), until: fc.nat() }),
    )
    holds(
      fc.property(
        fc.uniqueArray(fc.constantFrom('a', 'b', 'constructor'), { minLength: 1 }),
        some,
        fc.nat(),
        (keys, health, now) => {
          const picked = keys[pickAgent(keys, health, now)]
          assert(picked !== undefined)
          const free = keys.find(key => (Object.hasOwn(health, key) ? (health[key]?.until ?? 0) : 0) <= now)
          if (free !== undefined) assert.equal(picked, free)
        },
      ),
      2_000,
    )
  })
})

describe('a fault with another agent at hand', () => {
  it('is refunded without a wait, and says who takes over', () => {
    const one = walk(someRules(stories))
    one.step(anAgent({ fault: limit(99_000), choice: 'claude', fallback: 'codex' }))
    expect(one.state()).toMatchObject({
      ...{ status: 'open', failures: 0, waitUntil: 0 },
      note: 'usage limit; codex takes over',
      next: { type: 'agent', stage: 'implement' },
    })
  })

  it('a missing login still stops at once: it will not mend itself', () => {
    const one = walk(someRules(stories))
    one.step(
      anAgent({ fault: { kind: 'auth', message: 'not logged in' }, choice: 'claude', fallback: 'codex' }),
    )
    expect(one.state().status).toBe('held')
  })
})

it('the run remembers how its agents were, and a retry forgets it', () => {
  const finished = (fault: Fault | null) =>
    event({
      type: 'step.finished',
      step: 's',
      stage: 'implement',
      outcome: anAgent({ fault, choice: 'claude' }),
    })
  const limited = foldRun(newRunState('r1'), finished(limit(50_000)))
  expect(limited.health).toEqual({ claude: { faults: 1, until: 50_000 } })
  expect(foldRun(limited, finished(null)).health).toEqual({ claude: { faults: 0, until: 0 } })
  expect(foldRun(limited, event({ type: 'task.reopened', why: 'retried' })).health).toEqual({})
})

it('a wait ends a little later than asked, never sooner, and never much', () => {
  holds(
    fc.property(
      fc.nat(10_000_000),
      fc.nat(10_000_000),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (now, wait, chance) => {
        const later = withJitter(now + wait, now, chance)
        assert(later >= now + wait)
        assert(later <= now + wait + Math.min(wait / 10, 30_000))
      },
    ),
    1_000,
  )
})
