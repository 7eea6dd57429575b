/** One top-level entry of a front matter block. */
export type Entry = {
  /** Empty for a line that is no field at all. */
  name: string
  /** Lines within the block, from 0: where the field stands and where its value ends. */
  index: number
  last: number
  /** Columns of the value on the first line. */
  from: number
  to: number
  kind: 'empty' | 'text' | 'list' | 'other'
  items: string[]
  problem: string
}

const key = /^(?:"([^"\\]+)"|'([^']+)'|([A-Za-z_](?:[\w. -]*[\w.-])?))[ \t]*:(?=[ \t]|$)/u
const noSpace = /^([A-Za-z_][\w-]*):(?=[^ \t])/u

/** Walks the lines of a block. Never throws; what it does not understand is `other` or a problem. */
export function scanFields(lines: string[]): Entry[] {
  const entries: Entry[] = []
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? ''
    if (isIdle(line)) continue
    const head = key.exec(line) ?? noSpace.exec(line)
    if (!head) {
      entries.push({ ...blank(index, line.length), problem: 'not a `name: value` line' })
      continue
    }
    const entry = readEntry(lines, index, head)
    entries.push(entry)
    index = entry.last
  }
  return entries
}

function readEntry(lines: string[], index: number, head: RegExpExecArray): Entry {
  const line = lines[index] ?? ''
  const name = head[1] ?? head[2] ?? head[3] ?? ''
  const colon = head[0].length
  const rest = line.slice(colon)
  const from = colon + (rest.length - rest.trimStart().length)
  const isGlued = from === colon && rest !== ''
  const to = from + (isGlued ? rest.trimEnd().length : valueLength(line.slice(from)))
  const raw = line.slice(from, to)
  const last = lastLine(lines, index, raw)
  const more = lines.slice(index + 1, last + 1)
  // An empty value begins right after the colon, so that a comment behind it keeps its distance.
  const place = raw === '' ? { from: colon, to: colon } : { from, to }
  const entry = { ...blank(index, line.length), ...place, name, last }
  if (isGlued) return { ...entry, problem: `'${name}:' needs a space after the colon` }
  return { ...entry, ...readValue(raw, more) }
}

function blank(index: number, to: number): Entry {
  return { name: '', index, last: index, from: 0, to, kind: 'other', items: [], problem: '' }
}

function isIdle(line: string): boolean {
  return /^[ \t]*(?:#|$)/u.test(line)
}

/** Length of the value without trailing spaces and comment. */
function valueLength(text: string): number {
  const quoted = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')(?=[ \t]*$|[ \t]+#)/u.exec(text)
  if (quoted) return quoted[0].length
  const comment = /(?:^|[ \t])#/u.exec(text)
  return (comment ? text.slice(0, comment.index) : text).trimEnd().length
}

/** The last line that still belongs to the value: indented ones, and the items of a list. */
function lastLine(lines: string[], index: number, raw: string): number {
  const isBlockText = /^[|>]/u.test(raw)
  let last = index
  for (let at = index + 1; at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (isBlockText ? /^#|^[ \t]*$/u.test(line) : isIdle(line)) continue
    const belongs =
      /^[ \t]/u.test(line) ||
      (raw === '' && /^-(?: |$)/u.test(line)) ||
      (raw.startsWith('[') && /^\]/u.test(line))
    if (!belongs) break
    last = at
  }
  return last
}

type Value = Pick<Entry, 'kind' | 'items'>

const other: Value = { kind: 'other', items: [] }

function readValue(raw: string, more: string[]): Value {
  const text = more.filter(line => !isIdle(line))
  // Tabs have rules of their own.
  if ([raw, ...more].some(line => line.includes('\t'))) return other
  if (raw.startsWith('[')) return flowList([raw, ...text].join('\n'))
  if (text.length > 0) return raw === '' ? blockList(text) : other
  return single(scalar(raw))
}

function single(value: Scalar): Value {
  if (value.type === 'unsure') return other
  return value.type === 'null' ? { kind: 'empty', items: [] } : { kind: 'text', items: [value.text] }
}

function blockList(lines: string[]): Value {
  const items: Scalar[] = []
  const indent = /^ */u.exec(lines[0] ?? '')?.[0] ?? ''
  for (const line of lines) {
    const item = /^( *)- +(\S.*)$/u.exec(line)
    if (!item || item[1] !== indent) return other
    const text = item[2] ?? ''
    items.push(scalar(text.slice(0, valueLength(text))))
  }
  return list(items)
}

function flowList(text: string): Value {
  const inner = /^\[([\s\S]*)\]$/u.exec(text)?.[1]
  if (inner === undefined) return other
  if (inner.trim() === '') return { kind: 'list', items: [] }
  const items: Scalar[] = []
  // A comma may follow the last item.
  const parts = /,\s*$/u.test(inner) ? inner.replace(/,\s*$/u, '') : inner
  for (let at = 0; at <= parts.length; ) {
    const part = /^(?:\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*|([^,"'[\]{}]+))(?:,|$)/u.exec(parts.slice(at))
    if (!part) return other
    items.push(scalar((part[1] ?? part[2] ?? '').trim()))
    at += part[0].length
    if (!part[0].endsWith(',')) break
    if (at === parts.length) return other
  }
  return list(items)
}

function list(items: Scalar[]): Value {
  const texts = items.flatMap(item => (item.type === 'text' ? [item.text] : []))
  return texts.length === items.length ? { kind: 'list', items: texts } : other
}

type Scalar = { type: 'text'; text: string } | { type: 'null' } | { type: 'unsure' }

function scalar(raw: string): Scalar {
  if (raw === '' || /^(?:~|null|Null|NULL)$/u.test(raw)) return { type: 'null' }
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff]/u.test(raw)) return { type: 'unsure' }
  const double = /^"((?:[^"\\]|\\["\\/])*)"$/u.exec(raw)
  if (double) return { type: 'text', text: (double[1] ?? '').replace(/\\(.)/gu, '$1') }
  const single = /^'((?:[^']|'')*)'$/u.exec(raw)
  if (single) return { type: 'text', text: (single[1] ?? '').replaceAll("''", "'") }
  const isPlain = /^(?:[^\s\-?:,[\]{}#&*!|>'"%@`]|-[0-9A-Za-z])/u.test(raw) && !/: |:$| #/u.test(raw)
  return isPlain ? { type: 'text', text: raw } : { type: 'unsure' }
}
