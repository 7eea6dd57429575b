import { expect, it } from 'vitest'
import { startClocks } from '../../src/process/clocks.ts'

it('counts a night in which the machine slept as seconds', async () => {
  let jump = 0
  const up: string[] = []
  const elapsed = await new Promise<number>(resolve => {
    const clocks = startClocks({
      timeout: 20_000,
      idle: 10_000,
      excused: () => false,
      onTick: now => {
        clocks.stop()
        resolve(now.elapsed)
      },
      onUp: which => {
        up.push(which)
        resolve(Number.POSITIVE_INFINITY)
      },
      now: () => performance.now() + jump,
    })
    jump = 8 * 3_600_000
  })
  expect(up).toEqual([])
  expect(elapsed).toBeLessThan(5_000)
})
