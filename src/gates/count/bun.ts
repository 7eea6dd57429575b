import { count, createTally, type RunnerCounter, starts } from './counter.ts'

/** ` 1 pass`, ` 1 fail` … and at last `Ran 4 tests across 1 file.` */
export function bun(): RunnerCounter {
  const tally = createTally()
  let seen: Record<string, number> = {}
  return {
    line(text) {
      if (!starts(text, 'bR (✗')) return
      if (/^bun test v\d/u.test(text)) {
        tally.begin()
        seen = {}
        return
      }
      const part = /^ (\d+) (pass|fail|skip|todo|error)s?$/u.exec(text)
      if (part) seen[part[2] ?? ''] = count(part[1])
      else if (/^Ran \d+ tests? across \d+ files?/u.test(text)) {
        tally.sum({
          passed: seen.pass ?? 0,
          failed: (seen.fail ?? 0) + (seen.error ?? 0),
          skipped: (seen.skip ?? 0) + (seen.todo ?? 0),
        })
        seen = {}
      }
      const failed = /^(?:\(fail\)|✗) (.+?)(?: \[[\d.]+m?s\])?$/u.exec(text)
      if (failed) tally.name(failed[1] ?? '')
    },
    end: tally.total,
  }
}
