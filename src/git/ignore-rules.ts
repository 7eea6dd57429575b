import { OnlyGitKnows } from './only-git.ts'

/** The rules of one file of patterns, the last first: that one wins. */
export type IgnoreRules = IgnoreRule[]

type IgnoreRule = {
  keep: boolean
  foldersOnly: boolean
  /** Against the name alone, or against the path from the folder of the file. */
  whole: boolean
  /** It counts bytes, not letters. */
  bytewise: boolean
  pattern: RegExp
}

/**
 * The lines of a `.gitignore`, as git reads them. Only what is common is understood; for anything else this throws
 * `OnlyGitKnows`, so that nothing is ever taken for what it is not.
 */
export function parseIgnoreRules(text: string): IgnoreRules {
  const known = remembered.get(text)
  if (known) return known
  if (text.includes('\uFFFD') || text.length > largest) throw new OnlyGitKnows()
  const lines = text.replace(/^\uFEFF/u, '').split('\n')
  const rules = lines.flatMap(line => parseLine(line.replace(/\r$/u, '')) ?? []).reverse()
  if (remembered.size > 200) remembered.clear()
  remembered.set(text, rules)
  return rules
}

/** True: ignored; false: taken out of what other rules ignore; null: these rules say nothing. `path` is from the folder of the file. */
export function judge(rules: IgnoreRules, path: string, isFolder: boolean): boolean | null {
  if (rules.length === 0) return null
  const name = path.slice(path.lastIndexOf('/') + 1)
  for (const rule of rules) {
    if (rule.foldersOnly && !isFolder) continue
    const subject = rule.whole ? path : name
    if (rule.bytewise && !/^[\0-\x7F]*$/u.test(subject)) throw new OnlyGitKnows()
    if (rule.pattern.test(subject)) return !rule.keep
  }
  return null
}

const remembered = new Map<string, IgnoreRules>()
const largest = 100_000
/** With more stars a pattern can be made so that looking for it takes for ever. */
const mostStars = 4
const set = /^\[(?:[A-Za-z0-9_.]|[A-Za-z0-9]-[A-Za-z0-9])+\]/u

function parseLine(line: string): IgnoreRule | null {
  let text = line.replace(/ +$/u, '')
  if (text === '' || text.startsWith('#')) return null
  if (text.includes('\\') || text.includes('\0') || text.includes('***')) throw new OnlyGitKnows()
  const keep = text.startsWith('!')
  if (keep) text = text.slice(1)
  const foldersOnly = text.endsWith('/')
  if (foldersOnly) text = text.slice(0, -1)
  if (text === '' || text.endsWith('/')) throw new OnlyGitKnows()
  const whole = text.includes('/')
  if (text.startsWith('/')) text = text.slice(1)
  if (text === '' || text.startsWith('/') || (text.match(/\*+/gu)?.length ?? 0) > mostStars)
    throw new OnlyGitKnows()
  const bytewise = /[?[]/u.test(text)
  return {
    keep,
    foldersOnly,
    whole,
    bytewise,
    pattern: new RegExp(`^${whole ? pathSource(text) : source(text)}$`, 'su'),
  }
}

/** `**` stands for folders where it stands alone between slashes; elsewhere it is a star like any other. */
function pathSource(text: string): string {
  const parts = text.split('/')
  let made = ''
  for (const [index, part] of parts.entries()) {
    const last = index === parts.length - 1
    if (part === '') throw new OnlyGitKnows()
    if (part === '**') made += last ? '.+' : '(?:.*/)?'
    else made += source(part) + (last ? '' : '/')
  }
  return made
}

function source(part: string): string {
  let made = ''
  for (let at = 0; at < part.length; ) {
    const rest = part.slice(at)
    const [stars] = /^\*+/u.exec(rest) ?? []
    const [letters] = set.exec(rest) ?? []
    const piece = stars ?? letters ?? rest.charAt(0)
    if (stars) made += '[^/]*'
    else if (letters) made += letters
    else if (piece === '[') throw new OnlyGitKnows()
    else made += piece === '?' ? '[^/]' : piece.replace(/[\\^$.*+?()[\]{}|/]/gu, '\\$&')
    at += piece.length
  }
  return made
}
