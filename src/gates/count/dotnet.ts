import { count, createTally, type RunnerCounter, starts } from './counter.ts'

/**
 * One line per test project (`Failed!  - Failed: 1, Passed: 3, …`), with the newer logger one for all of them (`Test
 * summary: total: 4, failed: 1, succeeded: 3, …`), and in other moods a few lines, one number each.
 */
export function dotnet(): RunnerCounter {
  const tally = createTally()
  let block: Record<string, number> | null = null
  const sum = (found: Record<string, number>) =>
    tally.sum({
      passed: found.passed ?? found.succeeded ?? 0,
      failed: found.failed ?? 0,
      skipped: found.skipped ?? 0,
    })
  const close = () => {
    if (block && Object.keys(block).length > 0) sum(block)
    block = null
  }
  return {
    line(text) {
      if (block) {
        const part = /^ +(passed|failed|skipped|succeeded|total): (\d+)$/iu.exec(text)
        if (part) block[(part[1] ?? '').toLowerCase()] = count(part[2])
        else close()
      }
      if (!starts(text, 'PFSTN f')) return
      if (
        /^(?:Passed|Failed|Skipped)! +- Failed: |^ *Test summary: total: |^Total tests: \d+\. Passed: /u.test(
          text,
        )
      ) {
        sum(labelled(text))
      } else if (/^Total tests: \d+$|^Test run summary: /u.test(text)) block = {}
      else if (/^No test is available in /u.test(text)) tally.sum({})
      const name =
        /^ {2,4}Failed (\S.*?) \[[^\]]+\]$/u.exec(text) ?? /^failed (\S.*?) \([\dms .]+\)$/u.exec(text)
      if (name) tally.name(name[1] ?? '')
    },
    end() {
      close()
      return tally.total()
    },
  }
}

/** `Failed:     1, Passed:     3` → { failed: 1, passed: 3 }. */
function labelled(text: string): Record<string, number> {
  const found: Record<string, number> = {}
  for (const match of text.matchAll(/([a-z]+): +(\d{1,9})/giu))
    found[(match[1] ?? '').toLowerCase()] = count(match[2])
  return found
}
