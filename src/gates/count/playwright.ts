import { count, createTally, type RunnerCounter, starts } from './counter.ts'

/** Between `Running 4 tests using 1 worker` and the next such line; a flaky test passed in the end. */
export function playwright(): RunnerCounter {
  const tally = createTally()
  let seen: Record<string, number> | null = null
  let naming = false
  return {
    line(text) {
      if (!starts(text, 'R ')) return
      if (/^Running \d+ tests? using \d+ workers?/u.test(text)) {
        tally.begin()
        seen = {}
        naming = false
        return
      }
      if (!seen) return
      const summary =
        /^ {2}(\d+) (failed|interrupted|flaky|skipped|did not run|passed)(?: \([^)]*\))?$/u.exec(text)
      if (summary) {
        seen[summary[2] ?? ''] = count(summary[1])
        naming = summary[2] === 'failed'
        tally.sum({
          passed: (seen.passed ?? 0) + (seen.flaky ?? 0),
          failed: (seen.failed ?? 0) + (seen.interrupted ?? 0),
          skipped: (seen.skipped ?? 0) + (seen['did not run'] ?? 0),
        })
        return
      }
      const name = naming ? /^ {4}(\S.*?) ?─*$/u.exec(text) : null
      if (name) tally.name((name[1] ?? '').replace(/:\d+:\d+(?= › )/u, ''))
      else naming = false
    },
    end: tally.total,
  }
}
