import { it } from 'vitest'
import { chooseSeed, killAtRandom } from './random-kills.ts'

it('G-11 S0-03 kill -9 at another hundred random moments: nothing is lost, nothing is counted twice', async () => {
  await killAtRandom({ kills: 100, seed: chooseSeed() })
}, 600_000)
