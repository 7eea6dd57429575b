import { count, createTally, parts, type RunnerCounter, starts } from './counter.ts'

/** ` Test Files  1 failed | 1 passed (2)` and, on the very next line, `      Tests  1 failed | 3 passed (4)`. */
export function vitest(): RunnerCounter {
  const tally = createTally()
  let afterFiles = false
  let last = { passed: 0, failed: 0, skipped: 0 }
  return {
    line(text) {
      if (!starts(text, ' NT')) {
        afterFiles = false
        return
      }
      if (/^ (?:RUN|DEV) {2}v\d/u.test(text)) tally.begin()
      const tests = afterFiles ? /^ +Tests {2}(.+)$/u.exec(text)?.[1] : undefined
      if (tests !== undefined) {
        const found = parts(tests)
        last = {
          passed: found.passed ?? 0,
          failed: found.failed ?? 0,
          skipped: (found.skipped ?? 0) + (found.todo ?? 0),
        }
        tally.sum(last)
      }
      afterFiles = /^ *Test Files {2}/u.test(text)
      // An error outside of any test fails the run as well.
      const errors = /^ +Errors {2}(\d+) errors?$/u.exec(text)
      if (errors) {
        last = { ...last, failed: last.failed + count(errors[1]) }
        tally.sum(last)
      }
      if (/^No test files found, exiting with code/u.test(text)) tally.sum({})
      const failed = /^ FAIL {2}(.+)$/u.exec(text)
      if (failed) tally.name(failed[1] ?? '')
    },
    end: tally.total,
  }
}
