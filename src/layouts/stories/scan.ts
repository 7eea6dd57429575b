import { closeSync, openSync, readdirSync, readFileSync, readSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Problem } from '../layout.ts'
import { openFactsCache } from './facts-cache.ts'
import { type SpecFacts, type SpecFile, specFacts } from './spec-facts.ts'
import { parseSpecName, sortById } from './story-id.ts'

/** Every `specs/epic-N/story-N.M-*.md`, by id. A file that cannot be read is a problem, not a crash. */
export function scanSpecs(root: string): { files: SpecFile[]; problems: Problem[] } {
  const problems: Problem[] = []
  const found = listSpecs(root, problems)
  const cache = openFactsCache(root, found.length)
  const files: SpecFile[] = []
  for (const file of found) {
    const place = `${root}/${file.path}`
    const stats = statSync(place, { throwIfNoEntry: false })
    if (!stats?.isFile()) {
      problems.push(unreadable(file.path, 'not a file'))
      continue
    }
    try {
      files.push({ ...file, facts: cache.get(file.path, stats) ?? readFacts(place, stats) })
    } catch (error) {
      problems.push(unreadable(file.path, (error as NodeJS.ErrnoException).code ?? 'unknown error'))
    }
  }
  cache.save(files)
  return { files: sortById(files), problems }
}

/** Where the seed looks for a story: `8.3` → `specs/epic-8/story-8.3-*.md` (S4-34). Null when there is none. */
export function findSpec(root: string, id: string): string | null {
  const folder = `specs/epic-${id.split('.')[0]}`
  const name = names(join(root, folder)).find(one => parseSpecName(one)?.id === id)
  return name === undefined ? null : `${folder}/${name}`
}

type Found = Omit<SpecFile, 'facts'>

function listSpecs(root: string, problems: Problem[]): Found[] {
  const found: Found[] = []
  for (const folder of names(join(root, 'specs'))) {
    const epic = /^epic-(\d+)$/u.exec(folder)?.[1]
    if (epic === undefined) {
      const strays = folder.startsWith('epic') || parseSpecName(folder) !== null
      if (strays) problems.push(stray(`specs/${folder}`))
      continue
    }
    for (const name of names(join(root, 'specs', folder))) {
      const path = `specs/${folder}/${name}`
      const spec = parseSpecName(name)
      if (spec) found.push({ ...spec, path, epic: String(Number(epic)) })
      else if (name.startsWith('story')) problems.push(stray(path))
    }
  }
  return found
}

/** Sorted, so that two machines see the same backlog. Empty when there is no such folder. */
function names(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}

/** The front matter is short: the head of the file is enough, unless the block is not closed in it. */
const headSize = 4096

function readFacts(path: string, stats: Stats): SpecFacts {
  if (stats.size <= headSize) return specFacts(readFileSync(path, 'utf8'))
  const head = readHead(path)
  const isWhole = !/^(?:\ufeff)?---/u.test(head) || /\n(?:---|\.\.\.)[ \t]*\r?\n/u.test(head)
  return specFacts(isWhole ? head : readFileSync(path, 'utf8'))
}

function readHead(path: string): string {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(headSize)
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, headSize, 0))
  } finally {
    closeSync(file)
  }
}

function unreadable(file: string, why: string): Problem {
  return {
    severity: 'error',
    file,
    line: null,
    message: `cannot be read: ${why}`,
    fix: 'Make it a readable file, or move it away.',
  }
}

function stray(file: string): Problem {
  return {
    severity: 'warning',
    file,
    line: null,
    message: 'is not read: a story is a file specs/epic-N/story-N.M-title.md',
    fix: 'Rename it, or move it out of specs/.',
  }
}
