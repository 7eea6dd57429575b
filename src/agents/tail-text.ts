/** Keeps the end of a stream of lines in bounded memory. */
export type TailText = { add(line: string): void; text(): string }

/** The most of a final message that is kept; its end, where the claim stands. */
export const messageLimit = 256 * 1024
/** The most of stderr and stray lines that is kept. */
export const strayLimit = 8 * 1024

export function tailText(limit: number): TailText {
  const kept = endText(limit)
  return {
    add(line) {
      kept.add(line)
      kept.add('\n')
    },
    text: () => kept.text().replace(/\n$/u, ''),
  }
}

/** Keeps the end of a text that comes in pieces. */
export type EndText = { add(piece: string): void; text(): string; clear(): void }

export function endText(limit: number): EndText {
  let kept = ''
  let recent = ''
  return {
    add(piece) {
      recent += piece
      if (recent.length < 8192) return
      // Small pieces that are kept for long are what costs most: they are written together before they grow old.
      kept += copyOf(recent)
      recent = ''
      // Cutting only at four times the limit keeps the cost per piece low.
      if (kept.length > limit * 4) kept = lastPart(kept, limit)
    },
    text: () => lastPart(kept + recent, limit),
    clear() {
      kept = ''
      recent = ''
    },
  }
}

/** The last `most` characters. A copy: a slice would keep the whole of the text it was cut from alive. */
export function lastPart(text: string, most: number): string {
  return text.length <= most ? text : copyOf(text.slice(-most))
}

/** The first `most` characters, for people; a copy, as above. */
export function firstPart(text: string, most: number): string {
  return text.length <= most ? text : `${copyOf(text.slice(0, most - 1))}…`
}

/** Joined to another text, a slice is written out anew when something is cut from it. Half the price of a buffer. */
function copyOf(slice: string): string {
  return ` ${slice}`.slice(1)
}
