import { existsSync, mkdirSync, readFileSync, renameSync, type Stats, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRecord } from '../../core/backlog-document.ts'
import type { SpecFacts, SpecFile } from './spec-facts.ts'

/** Below this a scan is quick without a cache, and a small project never sees the file. */
const worthwhile = 500
/** A file changed this lately may change again within the same tick of its time stamp. */
const settled = 2_000
const version = 1

export type FactsCache = {
  get(path: string, stats: Stats): SpecFacts | null
  save(files: SpecFile[]): void
}

/** Size and times of the file, then its facts: a row is half the size of an object, and there may be ten thousand. */
type Row = [path: string, mark: string, facts: SpecFacts]

/**
 * Front matter of big backlogs by size and times of the file, in `.ralph/cache/stories.json`. Safe to delete; never
 * trusted when it does not parse; specs with problems are not kept in it.
 */
export function openFactsCache(root: string, count: number): FactsCache {
  if (count < worthwhile || !existsSync(join(root, '.ralph'))) return { get: () => null, save: () => {} }
  const path = join(root, '.ralph', 'cache', 'stories.json')
  const known = load(path)
  const marks = new Map<string, string>()
  const limit = Date.now() - settled
  let hits = 0
  return {
    get(file, stats) {
      const { size, mtimeMs, ctimeMs } = stats
      const mark = `${size} ${mtimeMs} ${ctimeMs}`
      if (mtimeMs < limit && ctimeMs < limit) marks.set(file, mark)
      const row = known.get(file)
      if (row?.[1] !== mark) return null
      hits++
      return row[2]
    },
    save(files) {
      if (hits === known.size && hits === files.length) return
      const rows: Row[] = []
      for (const { path, facts } of files) {
        const mark = marks.get(path)
        if (mark !== undefined && facts.problems.length === 0) rows.push([path, mark, facts])
      }
      if (rows.length !== hits || known.size !== hits) store(path, rows)
    },
  }
}

function load(path: string): Map<string, Row> {
  try {
    const cache: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (!isRecord(cache) || cache.version !== version || !Array.isArray(cache.rows)) return new Map()
    const rows = cache.rows as unknown[]
    return rows.every(isRow) ? new Map(rows.map(row => [row[0], row])) : new Map()
  } catch {
    return new Map()
  }
}

/** Not being able to keep a cache is no reason to stop. */
function store(path: string, rows: Row[]): void {
  try {
    mkdirSync(join(path, '..'), { recursive: true })
    const temporary = `${path}.${process.pid}.tmp`
    writeFileSync(temporary, JSON.stringify({ version, rows }))
    renameSync(temporary, path)
  } catch {}
}

function isRow(row: unknown): row is Row {
  if (!Array.isArray(row) || typeof row[0] !== 'string' || typeof row[1] !== 'string' || !isRecord(row[2]))
    return false
  const { status, needs, verify, allows, problems } = row[2]
  return (
    typeof status === 'string' && isTexts(needs) && isTexts(verify) && isTexts(allows) && isTexts(problems)
  )
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every(item => typeof item === 'string')
}
