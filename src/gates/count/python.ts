import { count, createTally, parts, type RunnerCounter, starts, startsWithDigit } from './counter.ts'

/** `=== 2 failed, 1 passed, 1 skipped, 1 xfailed, 1 error in 1.23s ===`, with `-q` without the rulers. */
export function pytest(): RunnerCounter {
  const tally = createTally()
  return {
    line(text) {
      if (!startsWithDigit(text) && !starts(text, '=FEn')) return
      if (/^=+ test session starts =+$/u.test(text)) {
        tally.begin()
        return
      }
      const failed = /^(?:FAILED|ERROR) (\S+\.py(?:::.+?)?)(?: - .*)?$/u.exec(text)
      if (failed) tally.name(failed[1] ?? '')
      if (!text.includes(' in ')) return
      const summary =
        /^(?:=+ )?(no tests ran|\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?|rerun|subtests)\b[^=]*?) in [\d.]+s(?: \([\d:]+\))?(?: =+)?$/u.exec(
          text,
        )
      if (!summary) return
      const found = parts(summary[1] ?? '')
      tally.sum({
        passed: (found.passed ?? 0) + (found.xpassed ?? 0),
        failed: (found.failed ?? 0) + (found.error ?? 0) + (found.errors ?? 0),
        // A test that is expected to fail proves nothing either.
        skipped: (found.skipped ?? 0) + (found.xfailed ?? 0),
      })
    },
    end: tally.total,
  }
}

/** `Ran 5 tests in 0.001s`, then `OK` or `FAILED (failures=1, errors=1, skipped=1)`. */
export function unittest(): RunnerCounter {
  const tally = createTally()
  let ran: number | null = null
  return {
    line(text) {
      if (ran === null && !starts(text, 'FER')) return
      const name = /^(?:FAIL|ERROR): (\S.*)$/u.exec(text)
      if (name) tally.name(name[1] ?? '')
      const summary = /^Ran (\d+) tests? in [\d.]+s$/u.exec(text)
      if (summary) {
        ran = count(summary[1])
        return
      }
      if (ran === null || text === '') return
      const verdict = /^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$/u.exec(text)
      if (verdict) {
        const value = (key: string) =>
          count(new RegExp(`(?:^|, )${key}=(\\d+)`, 'u').exec(verdict[1] ?? '')?.[1])
        const failed = value('failures') + value('errors') + value('unexpected successes')
        const skipped = value('skipped') + value('expected failures')
        tally.sum({ passed: Math.max(0, ran - failed - skipped), failed, skipped })
      }
      ran = null
    },
    end: tally.total,
  }
}
