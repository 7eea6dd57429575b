import { readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { type ReadDocument, readDocument } from '../../core/backlog-document.ts'
import { UserError } from '../../core/errors.ts'
import type { Project } from '../layout.ts'

/** The files of a loop, from the project root. */
export type Places = { dir: string; tasks: string; prd: string; progress: string; prompt: string }

export const marker = '.ralph-active'

/** `--ralph-dir`, or `layout: { ralphDir: … }`; `ralph` when nothing is said. */
export function placesOf({ settings }: Pick<Project, 'settings'>): Places {
  const { ralphDir } = settings
  const given = typeof ralphDir === 'string' && ralphDir !== '' ? ralphDir : 'ralph'
  const dir = normalize(given).replaceAll('\\', '/').replace(/\/$/u, '')
  if (dir.startsWith('/') || dir === '..' || dir.startsWith('../'))
    throw new UserError(
      `--ralph-dir ${given} lies outside the project`,
      'Name a folder below the project root, or another project with --project-dir.',
      2,
    )
  const file = (name: string) => (dir === '.' ? name : `${dir}/${name}`)
  return {
    dir,
    tasks: file('tasks.json'),
    prd: file('prd.md'),
    progress: file('progress.txt'),
    prompt: file('prompt.md'),
  }
}

export type TasksFile = ReadDocument & {
  /** The text as `encoding` reads it; null when there is no such file. */
  text: string | null
  encoding: 'utf8' | 'latin1'
}

/** A file that is not UTF-8 is edited byte by byte, or it would come back changed. */
export function readTasksFile(project: Project): TasksFile {
  const { tasks } = placesOf(project)
  return fromBytes(bytesOf(join(project.root, tasks)), tasks)
}

export function fromBytes(bytes: Buffer | null, name: string): TasksFile {
  if (bytes === null) return { text: null, encoding: 'utf8', ...readDocument(null, name) }
  const utf8 = bytes.toString('utf8')
  const encoding = Buffer.from(utf8).equals(bytes) ? 'utf8' : 'latin1'
  const text = encoding === 'utf8' ? utf8 : bytes.toString('latin1')
  return { text, encoding, ...readDocument(text, name) }
}

export function bytesOf(path: string): Buffer | null {
  try {
    return readFileSync(path)
  } catch {
    return null
  }
}

/** Every story that has passed the review, or that passes where there is none (C-34). */
export function skipsReview({ settings }: Pick<Project, 'settings'>): boolean {
  return settings.skipReview === true
}
