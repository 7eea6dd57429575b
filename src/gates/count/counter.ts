import type { TestCounts } from '../../core/gate.ts'

/**
 * Reads one runner's output line by line. It sees every line and must stay cheap and bounded: no pattern may need more
 * than linear time, and most lines should be passed over by their beginning (`starts`).
 */
export type RunnerCounter = { line(text: string): void; end(): TestCounts | null }

/** A cheap look at a line's first character, before any pattern. */
export function starts(text: string, characters: string): boolean {
  return text !== '' && characters.includes(text.charAt(0))
}

export function startsWithDigit(text: string): boolean {
  const code = text.charCodeAt(0)
  return code >= 48 && code <= 57
}

/** Names kept per counter; a run with more failures is not excused by its names anyway. */
export const maxNames = 200
const maxName = 300

export function emptyCounts(): TestCounts {
  return { passed: 0, failed: 0, skipped: 0, names: [] }
}

/**
 * Adds up the summaries of one runner. A summary counts once: within a session (from one header of the runner to the
 * next) the last one wins, so that what the code under test prints is overruled by what its runner says at the end.
 */
export type Tally = {
  /** The runner began anew: what it summed up before stands. */
  begin(): void
  /** The runner summed up. Without a header before it, each summary is a session of its own. */
  sum(counts: Partial<Omit<TestCounts, 'names'>>): void
  name(text: string): void
  total(): TestCounts | null
}

export function createTally(): Tally {
  const names = new Set<string>()
  let closed: TestCounts | null = null
  let session: TestCounts | null = null
  let headed = false
  const close = () => {
    if (session) closed = add(closed, session)
    session = null
  }
  return {
    begin() {
      close()
      headed = true
    },
    sum(counts) {
      if (!headed) close()
      const { passed = 0, failed = 0, skipped = 0, unit, partial } = counts
      session = { passed, failed, skipped, names: [], ...(unit && { unit }), ...(partial && { partial }) }
    },
    name(text) {
      const name = text.trim().slice(0, maxName)
      if (name !== '' && names.size < maxNames) names.add(name)
    },
    total() {
      close()
      return closed && { ...closed, names: [...names] }
    },
  }
}

export function add(a: TestCounts | null, b: TestCounts): TestCounts {
  if (!a) return b
  const unit = a.unit ?? b.unit
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    names: [...new Set([...a.names, ...b.names])].slice(0, maxNames),
    ...(unit ? { unit } : {}),
    ...(a.partial || b.partial ? { partial: true as const } : {}),
  }
}

/** A number of a summary; what no runner could have counted is nothing. */
export function count(text: string | undefined): number {
  return text !== undefined && /^\d{1,9}$/u.test(text) ? Number(text) : 0
}

/** `3 failed | 12 passed` → { failed: 3, passed: 12 }; the words are those of the runner, the singular and the plural alike. */
export function parts(text: string): Record<string, number> {
  const found: Record<string, number> = {}
  for (const match of text.matchAll(/(\d{1,9}) ([a-z]+)/giu))
    found[match[2]?.toLowerCase() ?? ''] = count(match[1])
  return found
}
