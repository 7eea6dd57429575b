import { scanFields } from './front-matter-fields.ts'

/** The YAML block at the head of a Markdown file, as far as a layout needs it: top-level fields with text or lists of text. */
export type FrontMatter = {
  /** False when the file does not begin with `---`, or when the block is never closed. */
  present: boolean
  /** By name. A name that stands there twice counts the first time. */
  fields: Map<string, Field>
  problems: FieldProblem[]
  /** Line on which the body begins, from 1. */
  bodyLine: number
  body: string
}

/**
 * `empty`: no value, or null · `text`: `items` holds one · `list`: `items` holds any number · `other`: a nested map, a
 * block of text or another form whose value is not read. Numbers stay as they were written: YAML would make 7.1 of 7.10.
 */
export type Field = { line: number; kind: 'empty' | 'text' | 'list' | 'other'; items: string[] }

export type FieldProblem = { line: number; field: string; message: string }

/**
 * Reads the front matter without a YAML library: that would cost more than the rest of a start, and a backlog has
 * thousands of specs. Every value that is read is the one YAML gives; a form beyond this reader is `other`.
 */
export function parseFrontMatter(text: string): FrontMatter {
  const block = findBlock(text)
  if (!block)
    return { present: false, fields: new Map(), problems: [], bodyLine: 1, body: text.slice(bomLength(text)) }
  const fields = new Map<string, Field>()
  const problems: FieldProblem[] = []
  for (const entry of scanFields(block.lines)) {
    const line = entry.index + 2
    if (entry.problem) problems.push({ line, field: entry.name, message: entry.problem })
    if (!entry.name) continue
    if (fields.has(entry.name))
      problems.push({ line, field: entry.name, message: `'${entry.name}' stands there twice` })
    else fields.set(entry.name, { line, kind: entry.kind, items: entry.items })
  }
  return { present: true, fields, problems, bodyLine: block.lines.length + 3, body: text.slice(block.bodyAt) }
}

/**
 * Sets one field and leaves every other byte as it is: line ends, byte order mark, comments, spacing. Adds the field,
 * or the whole block, where there is none.
 */
export function setFrontMatterField(text: string, field: string, value: string): string {
  const line = `${field}: ${written(value)}`
  const block = findBlock(text)
  if (!block) {
    const bom = text.slice(0, bomLength(text))
    const eol = /^[^\n]*\r\n/u.test(text) ? '\r\n' : '\n'
    return `${bom}---${eol}${line}${eol}---${eol}${text.slice(bom.length)}`
  }
  const entry = scanFields(block.lines).find(one => one.name === field)
  if (!entry) {
    // A block in the form `{a: b}` has no place for a line of its own.
    if (block.lines.some(one => one.startsWith('{'))) return text
    return `${text.slice(0, block.closeAt)}${line}${block.eol}${text.slice(block.closeAt)}`
  }
  const at = block.starts[entry.index] ?? 0
  const old = block.lines[entry.index] ?? ''
  const gap = /\s$/u.test(old.slice(0, entry.from)) ? '' : ' '
  const changed = `${old.slice(0, entry.from)}${gap}${written(value)}${old.slice(entry.to)}`
  // A value that ran over several lines loses those lines, or they would become part of the new one.
  const oldEnd = at + old.length
  const dropEnd =
    entry.last > entry.index
      ? (block.starts[entry.last] ?? 0) + (block.lines[entry.last] ?? '').length
      : oldEnd
  return `${text.slice(0, at)}${changed}${text.slice(dropEnd)}`
}

type Block = {
  /** The lines between the markers, without their ends, and where each begins in the text. */
  lines: string[]
  starts: number[]
  eol: string
  /** Where the closing marker begins, and where the body does. */
  closeAt: number
  bodyAt: number
}

function findBlock(text: string): Block | null {
  const opening = /^---[ \t]*(\r?\n)/u.exec(text.slice(bomLength(text), bomLength(text) + 200))
  if (!opening) return null
  const lines: string[] = []
  const starts: number[] = []
  let at = bomLength(text) + opening[0].length
  while (at < text.length) {
    const newline = text.indexOf('\n', at)
    const next = newline < 0 ? text.length : newline + 1
    const line = text.slice(at, newline < 0 ? text.length : newline).replace(/\r$/u, '')
    if (/^(?:---|\.\.\.)[ \t]*$/u.test(line))
      return { lines, starts, eol: opening[1] ?? '\n', closeAt: at, bodyAt: next }
    lines.push(line)
    starts.push(at)
    at = next
  }
  return null
}

/** A file that is not UTF-8 is edited byte by byte as Latin-1, where the mark is three characters. */
function bomLength(text: string): number {
  if (text.startsWith('\ufeff')) return 1
  return text.startsWith('\u00ef\u00bb\u00bf') ? 3 : 0
}

function written(value: string): string {
  const plain =
    /^[A-Za-z][\w./-]*(?: [\w./-]+)*$/u.test(value) &&
    !/^(?:true|false|yes|no|on|off|null|y|n)$/iu.test(value)
  const day = /^\d{4}-\d{2}-\d{2}$/u.test(value)
  return plain || day ? value : JSON.stringify(value)
}
