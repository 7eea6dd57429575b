import { beforeAll, describe, expect, it } from 'vitest'
import { crashAgainAndAgain, crashEverywhere, reference } from './every-point.ts'
import type { Reference } from './undisturbed.ts'

describe('kill -9 right after an event is durable', () => {
  let expected: Reference
  beforeAll(async () => {
    expected = await reference()
  })

  it('G-11 after every single event the next run comes to the same end', async () => {
    expect(await crashEverywhere('event', expected)).toBeGreaterThan(20)
  }, 300_000)

  it.each([5, 7])(
    'G-11 again and again after %i events: no attempt is lost or counted twice',
    async every => {
      expect(await crashAgainAndAgain(`event:${every}`, expected)).toBeGreaterThan(2)
    },
    120_000,
  )
})
