/**
 * Secrets known by their shape. A pattern begins with a rare character and looks behind it for the letters that make
 * it a token: twice as quick as to begin with those letters, which are in every word. The letters go with the match.
 */
export const tokenPatterns: readonly RegExp[] = [
  startingWith('-', [
    // OpenAI, Anthropic, OpenRouter and the like. With a digit, so that names of styles stay; only the letter of an
    // escaped newline may stand before it.
    /(?<=(?<!(?<!\\)[A-Za-z0-9])sk-)(?=[\w-]{0,200}\d)[\w-]{20,}/,
    /(?<=glpat-)[\w-]{20,}/,
    /(?<=xox[a-z]-)[\w-]{10,}/,
    /----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/,
  ]),
  startingWith('_', [
    /(?<=gh[pousr]_|hf_)[A-Za-z0-9]{30,}/,
    /(?<=github_pat_)\w{30,}/,
    /(?<=npm_)[A-Za-z0-9]{36}/,
    /(?<=[rs]k_live_)[A-Za-z0-9]{16,}/,
  ]),
  // Amazon key ids and Google keys.
  startingWith('A', [/[KS]IA[A-Z0-9]{16}/, /Iza[\w-]{35}/]),
  // JSON web tokens.
  /\.eyJ(?<=eyJ[\w-]{8,400}\.eyJ)[\w-]{8,}(?:\.[\w-]*)?/,
  // What a header carries, and the password in an address.
  startingWith('[bB]', [/earer[ \t]+[\w.~+/=-]{16,}/, /asic[ \t]+[A-Za-z0-9+/]{16,}={0,2}/]),
  /:\/\/[^\s/:@"'\\]{1,64}:[^\s/:@"'\\]{3,200}@/,
]

export type Token = { start: number; end: number; type: 'token' | 'key' }

/** Every place where a pattern matches. A private key is found by its first line. */
export function findTokens(text: string, patterns: RegExp): Token[] {
  const tokens: Token[] = []
  patterns.lastIndex = 0
  for (let match = patterns.exec(text); match; match = patterns.exec(text)) {
    const [found] = match
    let start = match.index
    let end = start + found.length
    if (found.startsWith('://')) {
      // Of an address the user and the password go, the rest stays readable.
      start += 3
      end -= 1
    } else if (/^[-_.]/.test(found)) {
      // The letter of an escape like `\n` stays, or the text around would no longer be JSON.
      while (start > 0 && isNameCharacter(text.charCodeAt(start - 1)) && text[start - 2] !== '\\') start--
    }
    tokens.push({ start, end, type: found.startsWith('-----BEGIN ') ? 'key' : 'token' })
  }
  return tokens
}

/** Where the last line of a private key ends, or -1. */
export function endOfKey(text: string, from: number): number {
  const end = /-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/.exec(text.slice(from))
  return end ? from + end.index + end[0].length : -1
}

/**
 * Where the word at the end of the text begins, with what belongs before it: it may go on in the next piece. Of a very
 * long word only the last `most` characters count.
 */
export function unfinishedWord(text: string, most: number): number {
  let start = text.length
  while (start > 0 && text.length - start < most && isWordCharacter(text.charCodeAt(start - 1))) start--
  const before = text.slice(Math.max(0, start - 64), start)
  const belongs = /(?:[bB]earer|[bB]asic)[ \t]+$|-----BEGIN [A-Z ]*$/.exec(before)
  return belongs ? start - before.length + belongs.index : start
}

/** Where a token goes on that began before this text. */
export function restOfToken(text: string): number {
  const next = text.search(/[^\w.~+/=-]/)
  return next < 0 ? text.length : next
}

function startingWith(first: string, patterns: RegExp[]): RegExp {
  return new RegExp(`${first}(?:${patterns.map(pattern => pattern.source).join('|')})`)
}

/** Letters, digits, `_` and `-`. */
function isNameCharacter(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 45
  )
}

/** Anything but blanks, quotes, brackets and separators. */
function isWordCharacter(code: number): boolean {
  return code > 127 || wordCharacters[code] === true
}

const wordCharacters = Array.from({ length: 128 }, (_, code) =>
  /[^\s\0"'`<>()[\]{},;|]/.test(String.fromCharCode(code)),
)
