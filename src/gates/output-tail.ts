import { fingerprint } from '../core/fingerprint.ts'
import { truncated } from '../core/text.ts'

/** What is kept of an output, in bounded memory however much is printed. */
export type OutputTail = {
  line(text: string): void
  /** The lines as they were; of more than a hundred the first and the last fifty, at most `maxBytes` of them (S3-25). */
  text(): string
  /**
   * Of the last lines without what changes from run to run. It goes by whole lines, not by bytes, so that a `9ms` which
   * becomes `10ms` does not move the window.
   */
  fingerprint(): string
}

const maxLines = 100
const half = maxLines / 2
const maxLine = 2_000
const maxBytes = 16_000

export function createOutputTail(): OutputTail {
  const first: string[] = []
  const last: string[] = []
  let count = 0
  return {
    line(text) {
      const line = text.length > maxLine ? `${text.slice(0, maxLine)}…` : text
      count += 1
      if (count <= half) first.push(line)
      last.push(line)
      // Shifting one by one would cost more than dropping half of them now and then.
      if (last.length > 2 * maxLines) last.splice(0, last.length - maxLines)
    },
    text() {
      // What comes last says most: it has the first claim on the room there is.
      const end = fitting(last.slice(-(count > maxLines ? half : maxLines)).reverse(), maxBytes).reverse()
      const left = count - end.length
      const room = maxBytes - sizeOf(end)
      const start = fitting(first.slice(0, left), room)
      const gone = left - start.length
      return [...start, ...(gone > 0 ? [truncated(gone)] : []), ...end].join('\n')
    },
    fingerprint: () => fingerprint(last.slice(-maxLines).join('\n')),
  }
}

function fitting(lines: string[], most: number): string[] {
  let bytes = 0
  const at = lines.findIndex(line => {
    bytes += Buffer.byteLength(line) + 1
    return bytes > most
  })
  return at < 0 ? lines : lines.slice(0, at)
}

function sizeOf(lines: string[]): number {
  return lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)
}
