const most = 64

/** `a{b,c}d` → `abd`, `acd`, on the text of a word with its quotes; null when there are too many. */
export function expandBraces(text: string): string[] | null {
  const done: string[] = []
  const todo = [text]
  for (let word = todo.shift(); word !== undefined; word = todo.shift()) {
    if (done.length + todo.length > most) return null
    const group = firstGroup(word)
    if (!group) done.push(word)
    else {
      const { from, to, options } = group
      const [before, after] = [word.slice(0, from), word.slice(to)]
      todo.unshift(...options.map(option => before + option + after))
    }
  }
  return done
}

type Group = { from: number; to: number; options: string[] }

function firstGroup(word: string): Group | null {
  for (let at = 0; at < word.length; at = next(word, at)) {
    if (word[at] !== '{' || word[at - 1] === '$') continue
    const group = groupAt(word, at)
    if (group) return group
  }
  return null
}

function groupAt(word: string, from: number): Group | null {
  const commas: number[] = []
  let depth = 0
  for (let at = from; at < word.length; at = next(word, at)) {
    if (word[at] === '{') depth++
    else if (word[at] === ',' && depth === 1) commas.push(at)
    else if (word[at] === '}' && --depth === 0) {
      const inside = word.slice(from + 1, at)
      const to = at + 1
      if (commas.length === 0) {
        const options = sequence(inside)
        return options ? { from, to, options } : null
      }
      const cuts = [from, ...commas, at]
      return { from, to, options: cuts.slice(1).map((cut, index) => word.slice((cuts[index] ?? 0) + 1, cut)) }
    }
  }
  return null
}

/** One character on; over a quotation or an escape as a whole. */
function next(word: string, at: number): number {
  const char = word[at]
  if (char === '\\') return at + 2
  if (char !== "'" && char !== '"') return at + 1
  for (let end = at + 1; end < word.length; end++) {
    if (char === '"' && word[end] === '\\') end++
    else if (word[end] === char) return end + 1
  }
  return word.length
}

function sequence(inside: string): string[] | null {
  const ends = /^(-?\d{1,6}|[a-z])\.\.(-?\d{1,6}|[a-z])(?:\.\.-?\d+)?$/iu.exec(inside)
  if (!ends) return null
  const isNumber = /\d/u.test(ends[1] ?? '')
  const [from, to] = [ends[1] ?? '', ends[2] ?? ''].map(end => (isNumber ? Number(end) : end.charCodeAt(0)))
  if (from === undefined || to === undefined || Number.isNaN(to)) return null
  const count = Math.min(Math.abs(to - from) + 1, most + 1)
  const step = to < from ? -1 : 1
  return Array.from({ length: count }, (_, index) => {
    const value = from + index * step
    return isNumber ? String(value) : String.fromCharCode(value)
  })
}
