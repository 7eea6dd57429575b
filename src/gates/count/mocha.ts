import { count, createTally, type RunnerCounter } from './counter.ts'

/** `  1 passing (9ms)`, `  1 pending`, `  2 failing`, then the failures with their titles one per line. */
export function mocha(): RunnerCounter {
  const tally = createTally()
  let counts: { passed: number; failed: number; skipped: number } | null = null
  let title: string[] | null = null
  const close = () => {
    if (counts) tally.sum(counts)
    counts = null
  }
  return {
    line(text) {
      if (!text.startsWith('  ')) {
        title = null
        return
      }
      const summary = /^ {2}(\d+) (passing|pending|failing)(?: \([^)]*\))?$/u.exec(text)
      if (summary) {
        const value = count(summary[1])
        if (summary[2] === 'passing') {
          close()
          counts = { passed: value, failed: 0, skipped: 0 }
        } else if (counts && summary[2] === 'pending') counts.skipped = value
        else if (counts) counts.failed = value
        return
      }
      if (!counts || counts.failed === 0) return
      const begin = /^ {2}\d+\) (.+)$/u.exec(text)
      if (begin) title = []
      if (!title) return
      const piece = (begin?.[1] ?? text).trim()
      if (piece === '' || title.length > 12) {
        title = null
        return
      }
      title.push(piece.replace(/:$/u, ''))
      if (!piece.endsWith(':')) return
      tally.name(title.join(' > '))
      title = null
    },
    end() {
      close()
      return tally.total()
    },
  }
}
