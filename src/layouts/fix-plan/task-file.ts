import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { oneLine } from '../../core/text.ts'
import { type Field, type FrontMatter, parseFrontMatter } from '../front-matter.ts'

/** One `docs/specs/<spec>/tasks/TASK-*.md`, as far as the loop needs it (S0-31). */
export type TaskFile = {
  spec: string
  /** `TASK-036`, and its number without leading zeros. */
  label: string
  number: number
  /** From the project root. */
  path: string
  title: string
  /** As written; empty when there is none. */
  status: string
  lang: string | null
  /** As written. */
  dependencies: string[]
  complexity: number | null
  verify: string[]
  allows: string[]
  front: FrontMatter
}

export const specsFolder = 'docs/specs'

export function specFolder(spec: string): string {
  return `${specsFolder}/${spec}/`
}

export function idOf({ spec, label }: Pick<TaskFile, 'spec' | 'label'>): string {
  return `${spec}/${label}`
}

/** `001-feature/TASK-036` → `001-feature`. */
export function specOf(id: string): string {
  return id.slice(0, Math.max(0, id.lastIndexOf('/')))
}

/** `TASK-036`, `task-36` and `36` are the same task. */
export function taskNumber(text: string): number | null {
  const digits = /^(?:TASK-)?0*(\d{1,9})$/iu.exec(text.trim())?.[1]
  return digits === undefined ? null : Number(digits)
}

/** Where the review of a task is written: beside it, `TASK-036--review.md` (S0-49). */
export function reportPath(task: string): string {
  return task.replace(/\.md$/u, '--review.md')
}

/** Folders of `docs/specs` that hold at least one task, sorted. */
export function listSpecs(root: string): string[] {
  return names(join(root, specsFolder)).filter(spec => taskNames(root, spec).length > 0)
}

/** By number; of two files with the same number the one with the shorter name counts. */
export function readTaskFiles(root: string, spec: string): TaskFile[] {
  const all = allTaskFiles(root, spec)
  return all.filter((file, index) => all[index - 1]?.number !== file.number)
}

export function allTaskFiles(root: string, spec: string): TaskFile[] {
  return taskNames(root, spec)
    .flatMap(name => readTaskFile(root, spec, name) ?? [])
    .sort((a, b) => a.number - b.number || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
}

/** What stands beside a task under its name (`TASK-036--review.md`) is about it, not a task (S0-30). */
function taskNames(root: string, spec: string): string[] {
  return names(join(root, specsFolder, spec, 'tasks')).filter(
    name => /^TASK-\d{1,9}(?!\d).*\.md$/u.test(name) && !name.includes('--'),
  )
}

function readTaskFile(root: string, spec: string, name: string): TaskFile | null {
  const path = `${specFolder(spec)}tasks/${name}`
  let text: string
  try {
    text = readFileSync(join(root, path), 'utf8')
  } catch {
    return null
  }
  const front = parseFrontMatter(text)
  const field = (key: string) => front.fields.get(key)
  const own = /^TASK-\d+/u.exec(name)?.[0] ?? name
  const given = oneLine(field('id')?.items[0] ?? '')
  const label = /^TASK-\d+$/u.test(given) && taskNumber(given) === taskNumber(own) ? given : own
  const heading = /^#[ \t]+(\S.*)$/mu.exec(front.body)?.[1] ?? ''
  return {
    spec,
    label,
    number: taskNumber(own) ?? 0,
    path,
    title: oneLine(field('title')?.items[0] || heading || label, 300),
    status: oneLine(field('status')?.items[0] ?? '', 60),
    lang: oneLine(field('lang')?.items[0] ?? '', 60) || null,
    dependencies: words(field('dependencies')),
    complexity: score(field('complexity')) ?? score(field('complexity_score')),
    verify: texts(field('verify')),
    allows: texts(field('allows')),
    front,
  }
}

/** C-25: `complexity` and `complexity_score` are the same. */
function score(field: Field | undefined): number | null {
  const text = field?.kind === 'text' ? (field.items[0] ?? '').trim() : ''
  return /^\d{1,6}(?:\.\d{1,6})?$/u.test(text) ? Number(text) : null
}

function texts(field: Field | undefined): string[] {
  return (field?.items ?? []).filter(item => item.trim() !== '')
}

/** A list, or `TASK-001, TASK-002`. */
function words(field: Field | undefined): string[] {
  return texts(field)
    .flatMap(item => item.split(','))
    .map(item => oneLine(item))
    .filter(item => item !== '' && !/^(?:none|n\/a|-)$/iu.test(item))
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch {
    return []
  }
}

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

/** Tasks that are listed but never chosen (S0-18). */
export function setAside({ status }: Pick<TaskFile, 'status'>): 'optional' | 'superseded' | null {
  const word = status.toLowerCase()
  return word === 'optional' || word === 'superseded' ? word : null
}

export function saysDone({ status }: Pick<TaskFile, 'status'>): boolean {
  return /^(?:completed|done)$/iu.test(status)
}
