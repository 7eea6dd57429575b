import { hole, isPlain } from './marks.ts'

const single: Record<string, string> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
  e: '\x1b',
  '\\': '\\',
  '"': '"',
  "'": "'",
}

/** `\n`, `\x72`, `\0162` as `echo -e` and `printf` read them. */
export function decodeEscapes(text: string): string {
  return text.replace(
    /\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|0?([0-7]{1,3})|c[\s\S]*|(.))/giu,
    (all, hex?: string, unicode?: string, octal?: string, char?: string) => {
      if (hex ?? unicode) return String.fromCharCode(Number.parseInt(hex ?? unicode ?? '', 16))
      if (octal) return String.fromCharCode(Number.parseInt(octal, 8))
      if (char === undefined) return ''
      return single[char] ?? all
    },
  )
}

const longest = 65_536

/** `printf`: the format is used again until the arguments are used up. */
export function formatted(args: readonly string[]): string {
  const [format = '', ...values] = args
  let text = ''
  let at = 0
  do {
    const begun = at
    text += decodeEscapes(format.replaceAll('%%', '\u0000')).replace(
      /%([-+ #0]*[\d.*]*)([a-zA-Z])/gu,
      (_, width, kind) => {
        const value = values[at++] ?? ''
        if (kind === 'b') return decodeEscapes(value)
        if (kind === 's' && width === '') return value
        if (kind === 'c') return value.slice(0, 1)
        if (/[dixXou]/u.test(kind) && /^-?\d+$/u.test(value)) return value
        return hole
      },
    )
    if (at === begun) break
  } while (at < values.length && text.length < longest)
  return text.replaceAll('\u0000', '%')
}

export function readHex(text: string): string {
  const digits = text.replace(/[^\da-f]/giu, '')
  return Buffer.from(digits.slice(0, digits.length & ~1), 'hex').toString('utf8')
}

/** `tr a b` and `tr -d a` with plain sets; null when they are not plain. */
export function translated(args: readonly string[], stdin: string): string | null {
  const isDelete = args[0] === '-d'
  const [from, to] = args.filter(arg => !arg.startsWith('-') || arg === '-').map(letters)
  if (!from || (args[0]?.startsWith('-') && !isDelete) || !isPlain(stdin)) return null
  if (isDelete) return [...stdin].filter(char => !from.includes(char)).join('')
  if (!to || to.length === 0) return null
  return [...stdin]
    .map(char => {
      const at = from.indexOf(char)
      return at === -1 ? char : (to[Math.min(at, to.length - 1)] ?? char)
    })
    .join('')
}

function letters(set: string): string[] | null {
  const plain = decodeEscapes(set)
  if (/\[[:=.]|\*\]/u.test(plain) || plain.length > 200) return null
  const found: string[] = []
  for (let at = 0; at < plain.length; at++) {
    const [from, dash, to] = [plain.charCodeAt(at), plain[at + 1], plain.charCodeAt(at + 2)]
    if (dash === '-' && at + 2 < plain.length && to >= from && to - from < 256) {
      for (let code = from; code <= to; code++) found.push(String.fromCharCode(code))
      at += 2
    } else found.push(plain[at] ?? '')
  }
  return found
}
