import { createTally, parts, type RunnerCounter } from './counter.ts'

/** `FAILED | 1 passed (1 step) | 2 failed (1 step) | 1 ignored (26ms)`; the failures as `name => ./file.ts:1:35`. */
export function deno(): RunnerCounter {
  const tally = createTally()
  return {
    line(text) {
      const summary = /^(?:ok|FAILED) \| (\d+ passed.* \| \d+ failed.*)$/u.exec(text)
      if (summary) {
        const found = parts((summary[1] ?? '').replace(/\([^)]*\)/gu, ''))
        tally.sum({ passed: found.passed ?? 0, failed: found.failed ?? 0, skipped: found.ignored ?? 0 })
        return
      }
      const failed = !text.includes(' => ') ? null : /^(.+) => (\S+?):\d+:\d+$/u.exec(text)
      if (failed) tally.name(`${failed[2]} > ${failed[1]}`)
    },
    end: tally.total,
  }
}
