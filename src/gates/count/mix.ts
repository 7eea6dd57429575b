import { count, createTally, type RunnerCounter, starts, startsWithDigit } from './counter.ts'

/** ExUnit: `1 doctest, 3 tests, 1 failure, 1 skipped`; bats in its pretty form says the same. */
export function mix(): RunnerCounter {
  const tally = createTally()
  return {
    line(text) {
      if (!startsWithDigit(text) && !starts(text, ' ')) return
      const summary =
        /^(?:(\d+) doctests?, )?(?:(\d+) propert(?:y|ies), )?(\d+) tests?, (\d+) failures?(.*)$/u.exec(text)
      if (summary) {
        const rest = summary[5] ?? ''
        const failed = count(summary[4])
        const skipped = count(/, (\d+) skipped/u.exec(rest)?.[1])
        const left = skipped + count(/, (\d+) (?:excluded|invalid)/u.exec(rest)?.[1])
        const all = count(summary[1]) + count(summary[2]) + count(summary[3])
        if (!/assertion/u.test(rest))
          tally.sum({ passed: Math.max(0, all - failed - left), failed, skipped: left })
        return
      }
      const name = /^ {2}\d+\) ((?:test|doctest|property) .+ \([\w.]+\))$/u.exec(text)
      if (name) tally.name(name[1] ?? '')
    },
    end: tally.total,
  }
}
