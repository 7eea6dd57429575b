import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isRecord } from '../../core/backlog-document.ts'
import { readJsonFile } from '../json-file.ts'

export const tasksFolder = '.specflow/tasks'

/** `.specflow/tasks/TASK-001.json`: what a person wrote, and what the engine keeps in `status` and `metadata`. */
export type TaskFile = {
  id: string
  /** From the project root. */
  path: string
  title: string
  status: string
  spec: string
  needs: string[]
  verify: string[]
  allows: string[]
  problems: FileProblem[]
}

export type FileProblem = { line: number | null; message: string; fix: string; grave: boolean }

export type ReadTask =
  | { type: 'task'; task: TaskFile; value: Record<string, unknown>; text: string }
  | { type: 'broken'; id: string; path: string; line: number | null; message: string }

/** The ids that have a file, in natural order: TASK-2 before TASK-10. */
export function taskIds(root: string): string[] {
  let names: string[]
  try {
    names = readdirSync(join(root, tasksFolder))
  } catch {
    return []
  }
  return names
    .filter(name => name.endsWith('.json') && isId(name.slice(0, -5)))
    .map(name => name.slice(0, -5))
    .sort(byNumber)
}

/** What can be a file's name, a branch and a word in a sentence. */
export function isId(id: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N}._-]{0,99}$/u.test(id)
}

export function taskPath(id: string): string {
  return `${tasksFolder}/${id}.json`
}

export function specPathOf(id: string): string {
  return `.specflow/specs/${id}.md`
}

export function readTask(root: string, id: string): ReadTask {
  const path = taskPath(id)
  const broken = (message: string, line: number | null = null): ReadTask => ({
    type: 'broken',
    id,
    path,
    line,
    message,
  })
  const file = readJsonFile(join(root, path))
  if (file.kind !== 'ok') return broken(file.message, file.line)
  const { text, value } = file
  if (!isRecord(value)) return broken('is not a JSON object', 1)
  return { type: 'task', task: toTask(id, path, value, text), value, text }
}

function toTask(id: string, path: string, value: Record<string, unknown>, text: string): TaskFile {
  const problems: FileProblem[] = []
  const problem = (key: string, message: string, fix: string, grave = true) => {
    const at = text.indexOf(`"${key}"`)
    problems.push({ line: at < 0 ? 1 : text.slice(0, at).split('\n').length, message, fix, grave })
  }
  const word = (key: string): string => {
    const given = value[key]
    if (given === undefined || given === null) return ''
    if (typeof given === 'string') return given.trim()
    problem(key, `'${key}' is not a text`, 'Write it in quotes.')
    return ''
  }
  const list = (key: string): string[] => {
    const given = value[key]
    if (given === undefined || given === null) return []
    if (Array.isArray(given) && given.every(one => typeof one === 'string' && one.trim() !== ''))
      return [...new Set(given.map(one => String(one).trim()))]
    problem(key, `'${key}' is not a list of texts`, `Write it as "${key}": ["…"].`)
    return []
  }
  const named = word('id')
  if (named !== '' && named !== id)
    problem(
      'id',
      `the id '${named}' is not the file's name`,
      `Rename the file to ${named}.json, or the id to ${id}.`,
    )
  const title = word('title')
  if (title === '') problem('title', 'has no title', 'Add "title": "…".', false)
  const spec = word('spec')
  const outside = spec.startsWith('/') || spec.split(/[\\/]/u).includes('..')
  if (outside) problem('spec', `the spec '${spec}' lies outside the project`, 'Name a file of the project.')
  if (value.metadata !== undefined && !isRecord(value.metadata))
    problem('metadata', "'metadata' is not an object", 'Write it as "metadata": {}.')
  return {
    id,
    path,
    title: title === '' ? id : title,
    status: word('status'),
    spec: spec === '' || outside ? specPathOf(id) : spec,
    needs: list('dependencies'),
    verify: list('verify'),
    allows: list('allows'),
    problems,
  }
}

/** As its owner wrote it: the same indentation, the same end. */
export function taskText(value: Record<string, unknown>, before: string): string {
  const indent = /\n([ \t]+)"/u.exec(before)?.[1] ?? '  '
  return `${JSON.stringify(value, null, indent)}${before.endsWith('\n') ? '\n' : ''}`
}

function byNumber(a: string, b: string): number {
  const parts = (id: string) => id.split(/(\d+)/u)
  const [left, right] = [parts(a), parts(b)]
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const [one = '', other = ''] = [left[index], right[index]]
    const numbers = index % 2 === 1 ? Number(one) - Number(other) : 0
    if (numbers !== 0) return numbers
    if (index % 2 === 0 && one !== other) return one < other ? -1 : 1
  }
  return left.length - right.length || (a < b ? -1 : a > b ? 1 : 0)
}
