import type { PromiseChecks } from './workflow.ts'

/** Why a promise is not believed, and the words that say so. */
export type Doubt = { reason: string; text: string }

/** Words that take a promise back (S2-30), the prose ones in any case. */
const contradictions: readonly RegExp[] = [
  /\bTODO:/gu,
  /\bFIXME:/gu,
  /\bnot yet implemented\b/giu,
  /\bstill needs? to\b/giu,
  /\bremaining work\b/giu,
  /\bblocked by\b/giu,
  /\bcannot complete\b/giu,
  /\btests? fail/giu,
]

/**
 * What speaks against a promise in the agent's own words (`lines`: without code, quotations and echoes). Empty = nothing.
 * The matched text is reported, so that a person can see why it was not believed (H-19).
 */
export function promiseDoubts(lines: readonly string[], checks: PromiseChecks): Doubt[] {
  const doubts: Doubt[] = []
  const said = sentences(lines)
  if (checks.contradictions) {
    const text = said.find((sentence, index) => contradicts(sentence, said[index + 1] ?? ''))
    if (text !== undefined)
      doubts.push({ reason: 'Output contains contradictions to promise', text: text.slice(0, 200) })
  }
  const { must } = checks
  if (must && !said.some(sentence => must.words.some(word => affirms(sentence, word))))
    doubts.push({ reason: must.reason, text: '' })
  return doubts
}

/** `next`: a heading is answered by what stands below it: "## Remaining work", "None." */
function contradicts(sentence: string, next: string): boolean {
  const bare = withoutQuotations(sentence)
  return contradictions.some(pattern =>
    [...bare.matchAll(pattern)].some(match => {
      const before = clauseBefore(bare, match.index)
      const from = match.index + match[0].length
      const after = bare.slice(from, from + reach)
      if (isNegated(before) || condition.test(before) || settling.test(before)) return false
      if (nothingLeft.test(after) || resolved.test(after)) return false
      return !(/^[\s:*]*$/u.test(after) && nothingLeft.test(next))
    }),
  )
}

/** The word is said and not denied. One in capitals is meant in capitals (S2-33). */
function affirms(sentence: string, word: string): boolean {
  const exact = word === word.toUpperCase()
  const text = exact ? sentence : sentence.toLowerCase()
  const wanted = exact ? word : word.toLowerCase()
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    if (!isNegated(clauseBefore(text, at))) return true
  }
  return false
}

/** These few words before such words turn them into their opposite: "no tests fail", "nothing is blocked by". */
const negation =
  /(?<![\w'’])(?:no|not|none|never|nothing|nobody|without|zero|0|neither|nor|(?:is|are|was|were|do|does|did|has|have|had|wo|ca|could|would)n['’]t)(?![\w'’])(?:\W+[\w'’]+){0,4}\W*$/iu
/** "No doubt the tests fail" denies nothing. */
const noNegation = /\b(?:no (?:doubt|question|wonder)|not (?:only|surprisingly)|nothing but)\b/iu

function isNegated(before: string): boolean {
  return negation.test(before) && !noNegation.test(before)
}

/** "If the tests fail, run it again" says nothing of how they stand. */
const condition =
  /\b(?:if|unless|whenever|when|in case|would|could|might|should|must)\b(?:\W+[\w'’]+){0,4}\W*$/iu

/** "Removed the last TODO:", "finished the remaining work", "fixed the bug that made tests fail". */
const settling =
  /\b(?:removed|resolved|fixed|finished|completed|deleted|cleared|replaced|addressed|solved|repaired|did)\b[^,;:.!?]*$/iu

/** "Remaining work: none", "TODO: nothing", "test failures: 0". */
const nothingLeft = /^(?:ure|ures|ed|ing)?[\s:=*_-]*(?:none|nothing|nil|no|0|zero|n\/a)(?![\w%])(?![.,]\d)/iu

/** "…, which is now handled", "failed at first and now pass"; but not "is not fixed". */
const resolved =
  /(?<!\bnot )(?<!\bnot yet )(?<!n['’]t )(?:\bnow\s+(?:\w+\s+){0,2}|\b(?:is|are|was|were|been|got)\s+|\bthen\s+(?:\w+\s+){0,2})(?:fixed|resolved|handled|solved|addressed|repaired|pass(?:es|ed|ing)?|green|work(?:s|ed|ing)?)\b/iu

/** Characters that are looked at on either side; noise of any length costs no more. */
const reach = 300

/** What a denial can reach: up to the last comma, colon or "but". */
function clauseBefore(text: string, at: number): string {
  const parts = text
    .slice(Math.max(0, at - reach), at)
    .split(/[,;:.!?()—–]|\b(?:but|however|and|yet|although|though|because|so|while|except)\b/iu)
  return parts.at(-1) ?? ''
}

function withoutQuotations(text: string): string {
  return text
    .replace(/(`+)[^`]*\1/gu, ' ')
    .replace(/"[^"]*"|“[^”]*”|«[^»]*»|‘[^’]*’(?!\w)/gu, ' ')
    .replace(/(?<=^|[\s(])'[^']{1,200}'(?=[\s).,;:!?]|$)/gu, ' ')
}

/** The same sentence may run over several lines; a list item, a heading and a row of a table stand for themselves. */
function sentences(lines: readonly string[]): string[] {
  const paragraphs: string[] = []
  let open = false
  for (const line of lines) {
    const text = line.trim()
    const alone = /^(?:[-*+•]\s|\d{1,3}[.)]\s|#|\||<)/u.test(text)
    if (text === '') open = false
    else if (open && !alone) paragraphs.push(`${paragraphs.pop() ?? ''} ${text}`)
    else paragraphs.push(text)
    if (text !== '') open = !/^[#|<]/u.test(text)
  }
  return paragraphs.flatMap(paragraph => paragraph.split(/(?<=[.!?])\s+(?=\S)/u))
}
