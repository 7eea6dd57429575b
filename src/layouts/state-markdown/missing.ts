import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { bullets, quiet } from '../../core/prompt.ts'

/** How errors say that something was not found, in the languages people use. The group is the thing. */
const gaps: readonly RegExp[] = [
  // Python
  /No module named ['"]?([\w.]+)/gu,
  /cannot import name ['"]?(\w+)/gu,
  /name ['"](\w+)['"] is not defined/gu,
  /FileNotFoundError:[^\n]*['"]([^'"\n]+)['"]/gu,
  // JavaScript and TypeScript
  /Cannot find (?:module|package) ['"]([^'"\n]+)['"]/gu,
  /does not provide an export named ['"]?([\w$]+)/gu,
  /\b([\w$]+) is not defined\b/gu,
  /Cannot find name ['"]([\w$]+)['"]/gu,
  /has no exported member (?:named )?['"]([\w$]+)['"]/gu,
  /ENOENT: no such file or directory, \w+ ['"]([^'"\n]+)['"]/gu,
  // Go, Rust, the JVM, Ruby, C
  /\bundefined: ([\w.]+)/gu,
  /cannot find package ['"]([^'"\n]+)['"]/gu,
  /unresolved import [`'"]([\w:]+)/gu,
  /cannot find \w+ [`'"](\w+)[`'"] in this scope/gu,
  /cannot find symbol[\s\S]{0,200}?symbol:\s+\w+ (\w+)/gu,
  /(?:ClassNotFoundException|NoClassDefFoundError): ([\w./$]+)/gu,
  /uninitialized constant ([\w:]+)/gu,
  /cannot load such file -- (\S+)/gu,
  /fatal error: ([^\s:]+): No such file or directory/gu,
  // The shell
  /(?:cannot open|can't open|cat:|ls:) ['"]?([^\s'":]+)['"]?: No such file/gu,
  /([\w.-]+): (?:command )?not found\b/gu,
]

/** What an error says is not there; empty when it is an error of another kind. */
export function missingThings(error: string): string[] {
  const found = gaps.flatMap(gap => [...error.matchAll(gap)].map(match => match[1] ?? ''))
  return [...new Set(found.filter(thing => thing !== ''))].slice(0, 8)
}

const ignored = new Set([
  'node_modules',
  'target',
  'dist',
  'build',
  'vendor',
  '__pycache__',
  'venv',
  'coverage',
])
const mostFiles = 5_000
const mostRead = 800
const mostBytes = 200_000

/** Files of the project that have to do with the missing things, with the line that says so; bounded. */
export function fileContext(root: string, things: readonly string[]): string {
  const words = [...new Set(things.map(wordOf).filter(word => word.length > 1))]
  if (words.length === 0) return ''
  const files = listFiles(root)
  const named = files.filter(file => words.some(word => stem(file).includes(word.toLowerCase())))
  const lines = named.slice(0, 10).map(file => `${file}`)
  const budget = { left: mostRead }
  for (const file of files) {
    if (lines.length >= 20 || budget.left <= 0) break
    if (named.includes(file)) continue
    const hit = mentions(root, file, words, budget)
    if (hit !== null) lines.push(`${file}:${hit}`)
  }
  const missing = things.map(thing => `\`${quiet(thing, 120)}\``).join(', ')
  const nothing = `No file of the project has to do with ${missing}: it must be made, or it goes by another name.`
  return lines.length === 0
    ? nothing
    : `Missing: ${missing}\n\n${bullets(lines, { items: 20, characters: 240 })}`
}

/** `./lib/token-store.js` and `app.token_store` are looked for by their last word. */
function wordOf(thing: string): string {
  const last = thing.split(/[/\\:]+/u).findLast(part => part !== '') ?? ''
  const bare = last.replace(/\.(?:[cm]?[jt]sx?|py|rb|go|rs|java|kt|json|ya?ml|md|txt|h|hpp|c|cpp)$/u, '')
  return bare.split('.').at(-1) ?? bare
}

function stem(file: string): string {
  return (file.split('/').at(-1) ?? file).toLowerCase()
}

function listFiles(root: string): string[] {
  const files: string[] = []
  const folders = ['']
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    let entries: Dirent[]
    try {
      entries = readdirSync(join(root, folder), { withFileTypes: true })
    } catch {
      continue
    }
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith('.') || ignored.has(entry.name)) continue
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) folders.push(path)
      else if (entry.isFile()) files.push(path)
      if (files.length >= mostFiles) return files
    }
  }
  return files
}

/** The first line that has one of the words, as `12: text`. */
function mentions(root: string, file: string, words: string[], budget: { left: number }): string | null {
  try {
    if (statSync(join(root, file)).size > mostBytes) return null
    budget.left -= 1
    const lines = readFileSync(join(root, file), 'utf8').split('\n')
    const at = lines.findIndex(line => words.some(word => hasWord(line, word)))
    return at < 0 ? null : `${at + 1}: ${lines[at]?.trim()}`
  } catch {
    return null
  }
}

function hasWord(line: string, word: string): boolean {
  const at = line.indexOf(word)
  return at >= 0 && !/\w/u.test(line[at - 1] ?? ' ') && !/\w/u.test(line[at + word.length] ?? ' ')
}
