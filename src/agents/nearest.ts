/** The known word that a mistyped one most likely means, or null. */
export function nearest(word: string, known: readonly string[]): string | null {
  let best: string | null = null
  let least = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    const steps = distance(word.toLowerCase(), candidate.toLowerCase())
    if (steps < least) [best, least] = [candidate, steps]
  }
  return best
}

/** Edits between two words: insert, remove, change, swap two neighbours. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)]
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? at(i - 2, j - 2) + 1
          : Number.POSITIVE_INFINITY
      row.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + change, swapped))
    }
  }
  return at(a.length, b.length)
}
