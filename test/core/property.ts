import fc from 'fast-check'

/** `RALPH_ROUNDS=100 npx vitest run test/core` searches anew and for longer; without it each run tries the same cases. */
const rounds = Number(process.env.RALPH_ROUNDS ?? 0)

/** Looks for a counterexample in so many cases. */
export function holds<T>(property: fc.IRawProperty<T>, cases: number): void {
  fc.assert(property, rounds > 0 ? { numRuns: cases * rounds } : { numRuns: cases, seed: 20_26 })
}
