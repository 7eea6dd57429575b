import { count, createTally, type RunnerCounter, starts, startsWithDigit } from './counter.ts'

/** `3 examples, 1 failure, 1 pending`, and the failures as `rspec ./a_spec.rb:3 # sum fails here`. */
export function rspec(): RunnerCounter {
  const tally = createTally()
  return {
    line(text) {
      if (!startsWithDigit(text) && !starts(text, 'r')) return
      const summary =
        /^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?$/u.exec(
          text,
        )
      if (summary) {
        const failed = count(summary[2])
        const skipped = count(summary[3])
        tally.sum({
          passed: Math.max(0, count(summary[1]) - failed - skipped),
          failed: failed + count(summary[4]),
          skipped,
        })
        return
      }
      const name = /^rspec (\S+?)(?::\d+|\[[\d:,]+\])? # (.+)$/u.exec(text)
      if (name) tally.name(`${name[1]} ${name[2]}`)
    },
    end: tally.total,
  }
}

/** minitest: `4 runs, 2 assertions, 1 failures, 1 errors, 1 skips`; test-unit: `4 tests, …, 1 pendings, 0 omissions`. */
export function minitest(): RunnerCounter {
  const tally = createTally()
  let named = false
  return {
    line(text) {
      if (!named && !startsWithDigit(text) && !starts(text, ' ')) return
      const summary =
        /^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors(?:, (\d+) (?:skips|pendings))?(?:, (\d+) omissions)?/u.exec(
          text,
        )
      if (summary) {
        const failed = count(summary[2]) + count(summary[3])
        const skipped = count(summary[4]) + count(summary[5])
        tally.sum({ passed: Math.max(0, count(summary[1]) - failed - skipped), failed, skipped })
      } else if (named) tally.name(text.replace(/(?: \[.*\])?:$/u, ''))
      named = /^ +\d+\) (?:Failure|Error):$/u.test(text)
    },
    end: tally.total,
  }
}
