/** Keeps the end of a stream of lines in bounded memory. */
export type TailText = { add(line: string): void; text(): string }

/** The most of a final message that is kept; its end, where the claim stands. */
export const messageLimit = 256 * 1024
/** The most of stderr and stray lines that is kept. */
export const strayLimit = 8 * 1024

export function tailText(limit: number): TailText {
  let kept = ''
  return {
    add(line) {
      kept += `${line}\n`
      // Cutting only at twice the limit keeps the cost per line constant.
      if (kept.length > limit * 2) kept = lastPart(kept, limit)
    },
    text: () => lastPart(kept.replace(/\n$/u, ''), limit),
  }
}

/** The last `most` characters. A copy: a slice would keep the whole of the text it was cut from alive. */
export function lastPart(text: string, most: number): string {
  return text.length <= most ? text : Buffer.from(text.slice(-most), 'utf16le').toString('utf16le')
}

/** The first `most` characters, for people; a copy, as above. */
export function firstPart(text: string, most: number): string {
  return text.length <= most
    ? text
    : `${Buffer.from(text.slice(0, most - 1), 'utf16le').toString('utf16le')}…`
}
