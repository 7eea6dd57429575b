import { count, createTally, type RunnerCounter, startsWithDigit } from './counter.ts'

/** Jasmine (`3 specs, 1 failure, 1 pending spec`) and karma (`Executed 3 of 4 (1 FAILED) (skipped 1)`, repeated as it goes). */
export function jasmine(): RunnerCounter {
  const tally = createTally()
  const browsers = new Map<string, { passed: number; failed: number; skipped: number }>()
  let failures = false
  return {
    line(text) {
      if (text === 'Failures:' || text === 'Pending:') failures = text === 'Failures:'
      if (text.includes(': Executed ')) karma(text)
      if (!failures && !startsWithDigit(text) && text !== 'No specs found') return
      const specs = /^(\d+) specs?, (\d+) failures?(?:, (\d+) pending specs?)?$/u.exec(text)
      if (specs) {
        failures = false
        const failed = count(specs[2])
        const skipped = count(specs[3])
        tally.sum({ passed: Math.max(0, count(specs[1]) - failed - skipped), failed, skipped })
      } else if (text === 'No specs found') tally.sum({})
      else if (failures) {
        const name = /^\d+\) (.+)$/u.exec(text)
        if (name) tally.name(name[1] ?? '')
      }
    },
    end() {
      for (const counts of browsers.values()) {
        tally.begin()
        tally.sum(counts)
      }
      browsers.clear()
      return tally.total()
    },
  }

  function karma(text: string) {
    const executed =
      /^([^:]{1,80}): Executed (\d+) of \d+(?: \((\d+) FAILED\))?(?: \(skipped (\d+)\))?/u.exec(text)
    const browser = executed?.[1] ?? ''
    if (!executed || (!browsers.has(browser) && browsers.size >= 20)) return
    const failed = count(executed[3])
    browsers.set(browser, {
      passed: Math.max(0, count(executed[2]) - failed),
      failed,
      skipped: count(executed[4]),
    })
  }
}
