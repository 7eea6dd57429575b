import { count, createTally, type RunnerCounter, starts, startsWithDigit } from './counter.ts'

/** `50% tests passed, 1 tests failed out of 2`; what did not run stands in the lines before. */
export function ctest(): RunnerCounter {
  const tally = createTally()
  let skipped = 0
  let disabled = 0
  let failures = false
  return {
    line(text) {
      if (!startsWithDigit(text) && !starts(text, 'TN \t')) return
      if (/^Test project \S/u.test(text)) {
        tally.begin()
        skipped = 0
        disabled = 0
        return
      }
      const left = /^ *\d+\/\d+ Test +#\d+: .*\*{3}(Not Run|Skipped)/u.exec(text)
      if (left?.[1] === 'Skipped') skipped += 1
      else if (left) disabled += 1
      const summary = /^\d+% tests passed, (\d+) tests? failed out of (\d+)/u.exec(text)
      if (summary) {
        const failed = count(summary[1])
        // A disabled test is not in the total, a skipped one is.
        tally.sum({
          passed: Math.max(0, count(summary[2]) - failed - skipped),
          failed,
          skipped: skipped + disabled,
        })
      } else if (/^No tests were found!!!/u.test(text)) tally.sum({})
      else if (/^The following tests (?:FAILED|did not run):/u.test(text)) failures = text.includes('FAILED')
      else if (failures) {
        const name = /^\s+\d+ - (.+?) \(.*$/u.exec(text)
        if (name) tally.name(name[1] ?? '')
        else failures = false
      }
    },
    end: tally.total,
  }
}
