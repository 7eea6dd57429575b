import { count, createTally, type RunnerCounter } from './counter.ts'

/** Jasmine (`3 specs, 1 failure, 1 pending spec`) and karma (`Executed 3 of 4 (1 FAILED) (skipped 1)`, repeated as it goes). */
export function jasmine(): RunnerCounter {
  const tally = createTally()
  const browsers = new Map<string, { passed: number; failed: number; skipped: number }>()
  let failures = false
  return {
    line(text) {
      if (text === 'Failures:' || text === 'Pending:') failures = text === 'Failures:'
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
      const karma = /^(.{1,80}?): Executed (\d+) of \d+(?: \((\d+) FAILED\))?(?: \(skipped (\d+)\))?/u.exec(text)
      if (karma && (browsers.has(karma[1] ?? '') || browsers.size < 20)) {
        const failed = count(karma[3])
        browsers.set(karma[1] ?? '', {
          passed: Math.max(0, count(karma[2]) - failed),
          failed,
          skipped: count(karma[4]),
        })
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
}
