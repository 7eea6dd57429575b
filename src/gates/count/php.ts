import { count, createTally, parts, type RunnerCounter, starts, startsWithDigit } from './counter.ts'

/** `OK (2 tests, 2 assertions)` or `Tests: 5, Assertions: 2, Errors: 1, Failures: 1, Skipped: 1.`; also Pest. */
export function phpunit(): RunnerCounter {
  const tally = createTally()
  let hollow = 0
  return {
    line(text) {
      if (!startsWithDigit(text) && !starts(text, 'PNOT ')) return
      if (/^PHPUnit \d/u.test(text)) {
        tally.begin()
        hollow = 0
        return
      }
      const name = /^\d+\) (\S+::\S.*)$/u.exec(text) ?? /^ {2,4}FAILED {2}(\S.*)$/u.exec(text)
      if (name) tally.name(name[1] ?? '')
      // PHPUnit 9 counts a class without tests as one.
      if (/^No tests found in class /u.test(text)) hollow += 1
      if (/^No tests executed!$/u.test(text)) tally.sum({})
      const ok = /^OK \((\d+) tests?, \d+ assertions?\)$/u.exec(text)
      if (ok) tally.sum({ passed: count(ok[1]) })
      const summary = /^Tests: (\d+), Assertions: \d+(.*)\.$/u.exec(text)
      if (summary) {
        const value = (key: string) => count(new RegExp(`, ${key}: (\\d+)`, 'u').exec(summary[2] ?? '')?.[1])
        const failed = value('Errors') + value('Failures')
        const skipped = value('Skipped') + value('Incomplete')
        tally.sum({ passed: Math.max(0, count(summary[1]) - failed - skipped - hollow), failed, skipped })
      }
      const pest = /^ {2}Tests: +(\d+ .*) \(\d+ assertions?\)$/u.exec(text)
      if (pest) {
        const found = parts(pest[1] ?? '')
        const skipped =
          (found.skipped ?? 0) + (found.todo ?? 0) + (found.todos ?? 0) + (found.incomplete ?? 0)
        tally.sum({ passed: (found.passed ?? 0) + (found.risky ?? 0), failed: found.failed ?? 0, skipped })
      }
    },
    end: tally.total,
  }
}
