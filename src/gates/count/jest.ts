import { createTally, parts, type RunnerCounter, starts } from './counter.ts'

/** `Test Suites: …`, `Tests: … 6 total`, `Snapshots: …` in a row, at the left edge: what a test logs is indented. */
export function jest(): RunnerCounter {
  const tally = createTally()
  let file = ''
  let expected: 'suites' | 'tests' | 'snapshots' = 'suites'
  let tests = ''
  return {
    line(text) {
      if (expected === 'tests') {
        tests = /^Tests: +(.*\btotal)$/u.exec(text)?.[1] ?? ''
        expected = tests ? 'snapshots' : 'suites'
      } else if (expected === 'snapshots') {
        if (text.startsWith('Snapshots:')) tally.sum(counted(tests))
        expected = 'suites'
      }
      if (!starts(text, 'TNF ')) return
      if (/^Test Suites: .*\btotal$/u.test(text)) expected = 'tests'
      else if (/^No tests found, exiting with code/u.test(text)) tally.sum({})
      else if (text.startsWith('FAIL ')) file = /^FAIL (.+?)(?: \([\d.]+ m?s\))?$/u.exec(text)?.[1] ?? ''
      else if (text.startsWith('  ● ') && file) {
        const name = text.slice(4)
        if (name === 'Test suite failed to run') tally.name(`${file} › could not run`)
        else if (name !== 'Console') tally.name(`${file} › ${name}`)
      }
    },
    end: tally.total,
  }
}

function counted(text: string): { passed: number; failed: number; skipped: number } {
  const found = parts(text)
  return {
    passed: found.passed ?? 0,
    failed: found.failed ?? 0,
    skipped: (found.skipped ?? 0) + (found.todo ?? 0) + (found.pending ?? 0),
  }
}
