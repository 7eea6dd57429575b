import { fingerprint } from '../core/fingerprint.ts'
import { truncated } from '../core/text.ts'

/** The end of an output, in bounded memory however much is printed. */
export type OutputTail = {
  line(text: string): void
  /** The last lines as they were, at most `maxBytes` of them, and how many came before. */
  text(): string
  /**
   * Of the last lines without what changes from run to run. It goes by whole lines, not by bytes, so that a `9ms` which
   * becomes `10ms` does not move the window.
   */
  fingerprint(): string
}

/** With the command above and the mark of what was left out it makes a hundred lines. */
const maxLines = 98
const maxLine = 2_000
const maxBytes = 16_000

export function createOutputTail(): OutputTail {
  const kept: string[] = []
  let count = 0
  return {
    line(text) {
      count += 1
      kept.push(text.length > maxLine ? `${text.slice(0, maxLine)}…` : text)
      // Shifting one by one would cost more than dropping half of them now and then.
      if (kept.length > 2 * maxLines) kept.splice(0, kept.length - maxLines)
    },
    text() {
      const lines: string[] = []
      let bytes = 0
      for (const line of kept.slice(-maxLines).reverse()) {
        bytes += Buffer.byteLength(line) + 1
        if (bytes > maxBytes) break
        lines.unshift(line)
      }
      const left = count - lines.length
      return [...(left > 0 ? [truncated(left)] : []), ...lines].join('\n')
    },
    fingerprint: () => fingerprint(kept.slice(-maxLines).join('\n')),
  }
}
