import { count, createTally, type RunnerCounter, starts, startsWithDigit } from './counter.ts'

/** `Tests run: 5, Failures: 1, Errors: 0, Skipped: 1` once per module; the lines of single classes go on behind that. */
export function maven(): RunnerCounter {
  const tally = createTally()
  return {
    line(text) {
      if (!starts(text, '[TN') && !text.endsWith('!')) return
      const bare = text.replace(/^\[(?:INFO|ERROR|WARNING)\] /u, '')
      const summary = /^Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)\s*$/u.exec(bare)
      if (summary) {
        const failed = count(summary[2]) + count(summary[3])
        const skipped = count(summary[4])
        tally.sum({ passed: Math.max(0, count(summary[1]) - failed - skipped), failed, skipped })
      } else if (/^No tests to run\.$/u.test(bare)) tally.sum({})
      if (!/ <<< (?:FAILURE|ERROR)!$/u.test(bare) || bare.startsWith('Tests run:')) return
      const end = bare.indexOf('Time elapsed:')
      if (end > 0) tally.name(bare.slice(0, end).replace(/ --\s*$/u, ''))
    },
    end: tally.total,
  }
}

/** `5 tests completed, 1 failed, 1 skipped`: gradle says it only when something fails, and of empty projects `NO-SOURCE`. */
export function gradle(): RunnerCounter {
  const tally = createTally()
  let empty = 0
  let tasks = 0
  return {
    line(text) {
      if (text.endsWith(' FAILED') && /^\S+ > /u.test(text)) tally.name(text.slice(0, -' FAILED'.length))
      if (!startsWithDigit(text) && !starts(text, '>:')) return
      const summary = /^(\d+) tests? completed, ([1-9]\d*) failed(?:, (\d+) skipped)?$/u.exec(text)
      if (summary) {
        const failed = count(summary[2])
        const skipped = count(summary[3])
        tally.sum({
          passed: Math.max(0, count(summary[1]) - failed - skipped),
          failed,
          skipped,
          partial: true,
        })
        return
      }
      const task = /^(?:> Task )?:(?:[\w.-]+:)*test( NO-SOURCE)?\b/u.exec(text)
      if (task?.[1]) empty += 1
      else if (task) tasks += 1
    },
    end() {
      if (empty > 0 && tasks === 0) tally.sum({})
      empty = 0
      return tally.total()
    },
  }
}
