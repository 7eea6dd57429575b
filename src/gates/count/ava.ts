import { count, createTally, type RunnerCounter } from './counter.ts'

/** `  4 tests passed`, `  1 test failed` … after a ruler. With a failure ava leaves the passed ones out, so the ticks are counted. */
export function ava(): RunnerCounter {
  const tally = createTally()
  let ticks = 0
  let ruler = false
  let counts: { passed: number; failed: number; skipped: number; told: boolean } | null = null
  const close = () => {
    if (!counts) return
    const { told, passed, ...rest } = counts
    tally.sum({ ...rest, passed: told ? passed : ticks })
    counts = null
    ticks = 0
  }
  return {
    line(text) {
      if (text === '' || (!text.startsWith('  ') && !counts && !ruler)) return
      if (text === '  ─') {
        ruler = true
        return
      }
      if (text.startsWith('  ✔ ')) ticks += 1
      if (text.startsWith('  ✘ [fail]: ')) tally.name(text.slice('  ✘ [fail]: '.length))
      if (text.startsWith('  ✘ No tests found in ')) tally.sum({})
      const summary =
        /^ {2}(\d+) (?:tests? (passed|failed|skipped|todo)|(known) failures?|(uncaught) exceptions?|(unhandled) rejections?)$/u.exec(
          text,
        )
      if (summary && (ruler || counts)) {
        counts ??= { passed: 0, failed: 0, skipped: 0, told: false }
        const value = count(summary[1])
        if (summary[2] === 'passed') Object.assign(counts, { passed: value, told: true })
        else if (summary[2] === 'skipped' || summary[2] === 'todo' || summary[3]) counts.skipped += value
        else counts.failed += value
        return
      }
      if (text.trim() === '') return
      ruler = false
      close()
    },
    end() {
      close()
      return tally.total()
    },
  }
}
