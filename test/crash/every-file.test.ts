import { expect, it } from 'vitest'
import { crashEverywhere, reference } from './every-point.ts'

it('G-11 H-30 kill -9 between the halves of every file replacement: the next run comes to the same end', async () => {
  expect(await crashEverywhere('file', await reference())).toBeGreaterThan(20)
}, 300_000)
