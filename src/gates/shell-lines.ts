/** One simple command of a shell line: its words without quotes, and the subshell it runs in. */
export type ShellCommand = {
  words: string[]
  /** `0` is the line itself; every `( … )` has its own number and its parent's. */
  scope: number
  parent: number
}

/**
 * Takes a shell line (or a script) apart without running it: operators, quotes, comments, here-documents, subshells and
 * command substitutions. It is lenient: what it does not understand stays a word. Variables are left as they are.
 */
export function shellCommands(text: string): ShellCommand[] {
  const found: ShellCommand[] = []
  collect(text.slice(0, maxLength), [0], { found, scopes: 1 })
  return found
}

/** More is no command line; deeper nesting is no honest one. */
const maxLength = 64_000
const maxDepth = 20

/** `inside` are the numbers of the subshells around, the innermost last. */
function collect(
  text: string,
  inside: readonly number[],
  all: { found: ShellCommand[]; scopes: number },
): void {
  const open = [...inside]
  let words: string[] = []
  const enter = () => {
    all.scopes += 1
    return [...open, all.scopes - 1]
  }
  const finish = () => {
    const scope = open.at(-1) ?? 0
    const bare = withoutKeywords(words)
    if (bare.length > 0) all.found.push({ words: bare, scope, parent: open.at(-2) ?? scope })
    words = []
  }
  for (const token of tokens(text)) {
    if (token.type === 'word') words.push(token.text)
    else if (token.type === 'inner') {
      if (open.length < maxDepth) collect(token.text, enter(), all)
    } else {
      finish()
      if (token.text === '(' && open.length < maxDepth) open.splice(0, open.length, ...enter())
      if (token.text === ')' && open.length > inside.length) open.pop()
    }
  }
  finish()
}

const keywords = new Set([
  'if',
  'then',
  'else',
  'elif',
  'fi',
  'do',
  'done',
  'while',
  'until',
  '!',
  '{',
  '}',
  'esac',
  'exec',
  'command',
  'time',
])

function withoutKeywords(words: string[]): string[] {
  let from = 0
  while (from < words.length && keywords.has(words[from] ?? '')) from += 1
  const rest = words.slice(from)
  return rest[0] === 'for' || rest[0] === 'case' || rest[0] === 'function' ? [] : rest
}

type Token = { type: 'word' | 'operator' | 'inner'; text: string }

function tokens(text: string): Token[] {
  const found: Token[] = []
  const heredocs: string[] = []
  let word: string | null = null
  let skipNext = false
  let at = 0
  const endWord = () => {
    if (word !== null && !skipNext) found.push({ type: 'word', text: word })
    if (word !== null) skipNext = false
    word = null
  }
  const inner = (end: string, from: number): number => {
    const to = closing(text, from, end)
    found.push({ type: 'inner', text: text.slice(from, to) })
    return to + end.length
  }
  while (at < text.length) {
    const char = text.charAt(at)
    if (char === '\\') {
      if (text.charAt(at + 1) !== '\n') word = (word ?? '') + text.charAt(at + 1)
      at += 2
    } else if (char === "'") {
      const to = text.indexOf("'", at + 1)
      const end = to < 0 ? text.length : to
      word = (word ?? '') + text.slice(at + 1, end)
      at = end + 1
    } else if (char === '"') {
      word ??= ''
      at += 1
      while (at < text.length && text.charAt(at) !== '"') {
        if (text.startsWith('$(', at)) {
          const from = at
          at = inner(')', at + 2)
          word += text.slice(from, at)
        } else {
          if (text.charAt(at) === '\\') at += 1
          word += text.charAt(at)
          at += 1
        }
      }
      at += 1
    } else if (text.startsWith('$((', at)) {
      at = closing(text, at + 3, ')') + 2
      word = `${word ?? ''}$`
    } else if (text.startsWith('$(', at)) {
      at = inner(')', at + 2)
      word = `${word ?? ''}$`
    } else if (char === '`') {
      at = inner('`', at + 1)
      word = `${word ?? ''}$`
    } else if (char === '#' && word === null) {
      const to = text.indexOf('\n', at)
      at = to < 0 ? text.length : to
    } else if (char === '\n') {
      endWord()
      found.push({ type: 'operator', text: '\n' })
      at += 1
      at = afterHeredocs(text, at, heredocs)
    } else if (text.startsWith('<<', at) && !text.startsWith('<<<', at)) {
      endWord()
      const end = /^<<-?\s*(['"]?)([\w.-]+)\1/u.exec(text.slice(at, at + 80))
      if (end) heredocs.push(end[2] ?? '')
      at += end ? end[0].length : 2
    } else if (char === '>' || text.startsWith('&>', at)) {
      // A digit before is the number of the stream; the word behind is written, not read.
      if (word !== null && /^\d$/u.test(word)) word = null
      endWord()
      const operator = /^(?:&>>?|>>?&?|>\|)/u.exec(text.slice(at, at + 3))?.[0] ?? '>'
      at += operator.length
      skipNext = true
    } else if (char === '<') {
      if (word !== null && /^\d$/u.test(word)) word = null
      endWord()
      at += 1
    } else if (char === ' ' || char === '\t' || char === '\r') {
      endWord()
      at += 1
    } else if (';&|()'.includes(char)) {
      endWord()
      found.push({ type: 'operator', text: char })
      at += 1
    } else {
      word = (word ?? '') + char
      at += 1
    }
  }
  endWord()
  return found
}

/** Where a substitution ends: nested ones and quotes are passed over. */
function closing(text: string, from: number, end: string): number {
  let depth = 0
  for (let at = from; at < text.length; at += 1) {
    const char = text.charAt(at)
    if (char === '\\') at += 1
    else if (char === "'" && end === ')') {
      const to = text.indexOf("'", at + 1)
      if (to < 0) return text.length
      at = to
    } else if (end === ')' && char === '(') depth += 1
    else if (char === end && depth === 0) return at
    else if (end === ')' && char === ')') depth -= 1
  }
  return text.length
}

function afterHeredocs(text: string, from: number, ends: string[]): number {
  let at = from
  for (const end of ends.splice(0)) {
    while (at < text.length) {
      const to = text.indexOf('\n', at)
      const line = text.slice(at, to < 0 ? text.length : to)
      at = to < 0 ? text.length : to + 1
      if (line.trim() === end) break
    }
  }
  return at
}
