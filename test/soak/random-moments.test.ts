import { it } from 'vitest'
import { chooseSeed, killAtRandom } from '../crash/random-kills.ts'

/** `RALPH_SOAK_KILLS=5000 npm run soak`: as in test/crash/random-moments.test.ts, for as long as one likes. */
const kills = Number(process.env.RALPH_SOAK_KILLS ?? 1_000)

// Two side by side, each with a seed of its own.
it.concurrent.each([1, 2])('G-11 kill -9 at very many random moments (%i)', async part => {
  await killAtRandom({ kills: Math.ceil(kills / 2), seed: chooseSeed() + part })
})
