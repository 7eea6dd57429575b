import { it } from 'vitest'
import { chooseSeed, killAtRandom } from './random-kills.ts'

// The other hundred of the two hundred kills: random-moments-2.test.ts, so that both can run side by side.
it('G-11 S0-03 kill -9 at a hundred random moments: nothing is lost, nothing is counted twice', async () => {
  await killAtRandom({ kills: 100, seed: chooseSeed() })
}, 600_000)
