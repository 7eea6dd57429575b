import { UserError } from '../core/errors.ts'

/**
 * Splits one line into words, without a shell: spaces separate, '…' is literal, "…" keeps spaces (\" and \\ inside), a
 * backslash outside quotes keeps the next character. Nothing is expanded, so what only a shell could do (pipes,
 * variables, `~`, globs) is refused instead of being passed on as text.
 */
export function splitCommand(line: string): string[] {
  const words: string[] = []
  let word: string | null = null
  let quote: "'" | '"' | null = null
  for (let index = 0; index < line.length; index++) {
    const char = line[index] ?? ''
    if (quote === null && /\s/u.test(char)) {
      if (word !== null) words.push(word)
      word = null
      continue
    }
    const wordStart = word === null
    word ??= ''
    if (quote !== "'" && char === '\\') {
      const next = line[++index]
      if (next === undefined) throw unfinished(line, 'ends in a backslash')
      word += quote === '"' && next !== '"' && next !== '\\' ? `\\${next}` : next
    } else if (quote !== null && char === quote) quote = null
    else if (quote === null && (char === "'" || char === '"')) quote = char
    else if (quote !== "'" && needsShell(line, index, quote, wordStart)) throw shellSyntax(line, char)
    else word += char
  }
  if (quote !== null) throw unfinished(line, `has an open ${quote}`)
  if (word !== null) words.push(word)
  return words
}

function needsShell(line: string, index: number, quote: string | null, wordStart: boolean): boolean {
  const char = line[index] ?? ''
  if (char === '`' || (char === '$' && /[\w({]/u.test(line[index + 1] ?? ''))) return true
  if (quote !== null) return false
  return '|&;<>*?'.includes(char) || (char === '~' && wordStart)
}

function shellSyntax(line: string, char: string): UserError {
  return new UserError(
    `agent command \`${line}\`: '${char}' means something only to a shell, and no shell is used`,
    `Put it in single quotes if it is plain text, or start a shell: ["sh", "-c", "…"].`,
    2,
  )
}

function unfinished(line: string, what: string): UserError {
  return new UserError(
    `agent command \`${line}\` ${what}`,
    'Close it, or give the command as a list of words.',
    2,
  )
}
