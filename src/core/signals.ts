import { type Doubt, promiseDoubts } from './promise.ts'
import type { SignalRule } from './workflow.ts'

/** What an agent says. Never more than a request to verify. */
export type Signal =
  | { type: 'done'; id: string; legacy: boolean }
  | { type: 'fail'; id: string; reason: string; legacy: boolean }
  | { type: 'learn'; text: string }
  | { type: 'promise'; text: string }
  | { type: 'verdict'; pass: boolean; findings: string }
  | ({ type: 'doubt' } & Doubt)
  /** What the layout read in the files that the agent wrote: a report, an edit of the backlog. */
  | { type: 'judged'; verdict: 'pass' | 'fail' | 'unclear'; reason: string }

/** A message may hold no more signals of one kind than this; what comes before the last ones is noise. */
const maxSignals = 50
const maxText = 500

/**
 * Reads signals from an agent's final message. Code blocks, quotations and the echoed prompt are left out; a claim
 * (`DONE`, a promise, `[DONE]`) counts only on a line of its own, so that "I will NOT print <ralph>DONE 1.1</ralph>"
 * says nothing.
 */
export function readSignals(message: string, prompt: string, rule?: SignalRule): Signal[] {
  const lines = spokenLines(message, prompt)
  const signals = lines.flatMap(line => (line.trim() ? lineSignals(line) : []))
  if (rule?.from === 'promise')
    signals.push(...promiseDoubts(lines, rule.verify).map(doubt => ({ type: 'doubt' as const, ...doubt })))
  const counts = new Map<Signal['type'], number>()
  const last = signals.reverse().filter(({ type }) => {
    const count = (counts.get(type) ?? 0) + 1
    counts.set(type, count)
    return count <= maxSignals
  })
  return last.reverse()
}

function lineSignals(line: string): Signal[] {
  const bare = line
    .trim()
    .replace(/^\*\*(.*)\*\*$/u, '$1')
    .trim()
  const done = /^<ralph>\s*DONE\s+([^\s<>]{1,100})\s*<\/ralph>$/u.exec(bare)
  if (done) return [{ type: 'done', id: done[1] ?? '', legacy: false }]
  const promise = /^<promise>([^<>]{1,200})<\/promise>$/u.exec(bare)
  if (promise) return [{ type: 'promise', text: promise[1] ?? '' }]
  if (bare === '[DONE]') return [{ type: 'done', id: '', legacy: true }]
  if (bare === '[FAIL]') return [{ type: 'fail', id: '', reason: '', legacy: true }]
  const verdict = /^VERDICT:\s*(pass|fail)\b(.*)$/iu.exec(bare)
  return verdict ? verdictSignals(verdict[1] ?? '', verdict[2] ?? '') : insideLine(bare)
}

/** A pass must be plain: "VERDICT: pass|fail" and "VERDICT: pass or fail?" are the question, not the answer. */
function verdictSignals(word: string, rest: string): Signal[] {
  const pass = word.toLowerCase() === 'pass'
  if (pass && /^\s*[\p{L}\p{N}|/?&]/u.test(rest)) return []
  return [{ type: 'verdict', pass, findings: clip(rest.replace(/^[\s:.,;–—-]+/u, '')) }]
}

/** A failure or a learning costs nothing when it is believed, so these may stand inside a line. */
function insideLine(line: string): Signal[] {
  const found: Signal[] = []
  for (const body of taggedTexts(line)) {
    const fail = /^FAIL\s+([^\s:<>]{1,100})(?:\s|:|$)(.*)$/su.exec(body)
    if (fail) {
      found.push({
        type: 'fail',
        id: fail[1] ?? '',
        reason: clip((fail[2] ?? '').replace(/^[\s:]+/u, '')),
        legacy: false,
      })
    }
    const learn = clip(/^LEARN\s*:(.*)$/su.exec(body)?.[1] ?? '')
    if (learn) found.push({ type: 'learn', text: learn })
  }
  return found
}

/** What stands between a `<ralph>` and the next `</ralph>`. By hand: a pattern would take quadratic time on noise. */
function taggedTexts(line: string): string[] {
  const texts: string[] = []
  let from = 0
  for (let close = line.indexOf(closeTag); close >= 0; close = line.indexOf(closeTag, from)) {
    const before = line.slice(from, close)
    const open = before.lastIndexOf(openTag)
    if (open >= 0) texts.push(before.slice(open + openTag.length).trim())
    from = close + closeTag.length
  }
  return texts
}

const openTag = '<ralph>'
const closeTag = '</ralph>'

/** The lines an agent says itself: without code blocks, quotations, control characters and what it echoes of its prompt. */
export function spokenLines(message: string, prompt: string): string[] {
  return withoutEcho(withoutQuotes(plain(message).split('\n')), plain(prompt).split('\n'))
}

function plain(text: string): string {
  return text
    .replace(/\r\n?/gu, '\n')
    .replace(/\u001b\[[0-?]*[ -/]*[@-~]/gu, '')
    .replace(/\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/gu, '')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f\ufffd\u200b-\u200f\u2060\ufeff]/gu, '')
}

function withoutQuotes(lines: string[]): string[] {
  const kept: string[] = []
  let fence = ''
  for (const line of lines) {
    const [, mark = '', rest = ''] = /^\s*(`{3,}|~{3,})(.*)$/u.exec(line) ?? []
    if (fence) {
      // As in Markdown: only a bare mark closes, "```js" inside a block is text.
      if (mark.startsWith(fence) && rest.trim() === '') fence = ''
      continue
    }
    // "```npm test```" on one line is code within a line, not the start of a block.
    if (mark && !(mark.startsWith('`') && rest.includes('`'))) {
      fence = mark
      continue
    }
    if (/^\s*>/u.test(line) || /^(?: {4}|\t)/u.test(line)) kept.push('')
    else kept.push(line)
  }
  return kept
}

/** Three or more lines in a row that stand in the prompt in the same order are an echo, not speech. */
const echoRun = 3
const maxPlaces = 8

function withoutEcho(lines: string[], prompt: string[]): string[] {
  const told = prompt.map(line => line.trim()).filter(line => line !== '')
  const places = new Map<string, number[]>()
  told.forEach((line, index) => {
    const known = places.get(line)
    if (!known) places.set(line, [index])
    // More than a few places of one line are not looked at.
    else if (known.length < maxPlaces) known.push(index)
  })
  const trimmed = lines.map(line => line.trim())
  // Blank lines neither make nor break an echo.
  const said = [...trimmed.keys()].filter(index => trimmed[index] !== '')
  const words = said.map(index => trimmed[index] ?? '')
  const echoed = new Set<number>()
  for (let start = 0; start < words.length; ) {
    const length = longestRun(words, start, told, places.get(words[start] ?? '') ?? [])
    if (length >= echoRun) for (const index of said.slice(start, start + length)) echoed.add(index)
    start += length >= echoRun ? length : 1
  }
  return lines.filter((_, index) => !echoed.has(index))
}

/** How many of the words from `start` on follow each other in what was told, too. */
function longestRun(words: string[], start: number, told: string[], places: number[]): number {
  let best = 0
  for (const place of places) {
    let length = 0
    while (words[start + length] !== undefined && words[start + length] === told[place + length]) length++
    best = Math.max(best, length)
  }
  return best
}

function clip(text: string): string {
  const clean = text.replace(/\s+/gu, ' ').trim()
  return clean.length > maxText ? `${clean.slice(0, maxText - 1)}…` : clean
}
