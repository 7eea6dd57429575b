import type { Base } from '../core/event.ts'
import { matchesAny } from '../core/glob.ts'
import type { ChangedFile } from '../core/outcome.ts'
import { type Commit, straightLine } from './commit-line.ts'
import { git, mustGit } from './git.ts'
import { readStart } from './position.ts'
import type { Position, Unstored } from './position-type.ts'
import { rawDir } from './private-dir.ts'
import { remembered } from './repository.ts'
import type { Repository } from './repository-type.ts'
import { fromTop, toTop } from './scope.ts'
import { diffTrees, parseRaw } from './tree-diff.ts'

/** What an attempt did to the files, by content, and which commits it made, oldest first. */
export type Changes = { files: ChangedFile[]; commits: string[] }

export async function changesBetween(
  repository: Repository,
  from: Base | Position,
  to: Position,
  options: { exclude?: string[] } = {},
): Promise<Changes> {
  const [stored, commits] = await Promise.all([
    changedFiles(repository, from.tree, to),
    commitsBetween(repository, from, to),
  ])
  const before = unstoredOf(repository, from)
  const files = [
    ...stored.map(file => wasUnstored(file, before)),
    ...unstoredChanges(before, to.unstored, stored),
  ]
  const exclude = options.exclude ?? []
  return {
    files: files.filter(file => !matchesAny(file.path, exclude)).sort((a, b) => (a.path < b.path ? -1 : 1)),
    commits: commits.list.map(commit => commit.id).reverse(),
  }
}

export type Commits = {
  /** Newest first. */
  list: Commit[]
  /** False when history was rewritten: the new HEAD does not build on the old one. */
  descends: boolean
}

/** The commits that are new at `to`, with what each changed (a merge: against its first parent). */
export async function commitsBetween(
  repository: Repository,
  from: { head: string },
  to: { head: string },
): Promise<Commits> {
  if (from.head === to.head) return { list: [], descends: true }
  if (to.head === '') return { list: [], descends: false }
  const format = [
    '-z',
    '--raw',
    '--no-abbrev',
    '--no-renames',
    '--diff-merges=first-parent',
    '--format=%x01%H %P',
  ]
  const range = from.head === '' ? [to.head] : [to.head, `^${from.head}`]
  return remembered(repository, `log ${from.head} ${to.head}`, async () => {
    const line = await straightLine(repository, from.head, to.head)
    if (line) return { list: line, descends: true }
    const output = await mustGit(rawDir(repository), ['log', ...format, ...range, '--'])
    const list = output
      .split('\x01')
      .slice(1)
      .map(block => {
        const [header = '', ...parts] = block.split('\0')
        const [id = '', ...parents] = header.split(' ').filter(Boolean)
        return { id, parents, files: parseRaw(parts.filter(part => part !== '' && part !== '\n')) }
      })
    // On every way from the new HEAD back to an ancestor, the last step before it is one of the new commits.
    return { list, descends: list.some(commit => commit.parents.includes(from.head)) }
  })
}

/** The difference as text, for people and prompts, cut at `limit` characters. */
export async function patchBetween(
  repository: Repository,
  from: { tree: string },
  to: { tree: string },
  options: { paths?: string[]; context?: number; limit?: number } = {},
): Promise<string> {
  if (from.tree === to.tree || options.paths?.length === 0) return ''
  const limit = options.limit ?? 1024 * 1024
  const paths = options.paths?.map(path => toTop(repository, path)) ?? [repository.prefix || '.']
  const flags = ['-r', '-p', '--no-ext-diff', '--no-textconv', '-M', `-U${options.context ?? 3}`]
  const relative = repository.prefix === '' ? [] : [`--relative=${repository.prefix}`]
  const args = [
    '-c',
    'core.quotePath=false',
    'diff-tree',
    ...flags,
    ...relative,
    from.tree,
    to.tree,
    '--',
    ...paths,
  ]
  const result = await git(rawDir(repository), args)
  if (result.stdout.length <= limit) return result.stdout
  return `${result.stdout.slice(0, limit)}\n[cut: ${result.stdout.length - limit} more characters]\n`
}

/** The lines that were added to each of these files, without the marks of the diff. */
export async function addedLines(
  repository: Repository,
  from: { tree: string },
  to: { tree: string },
  paths: string[],
): Promise<Map<string, string[]>> {
  if (paths.length === 0 || from.tree === to.tree) return new Map()
  const flags = ['-r', '-z', '--raw', '-p', '-U0', '--no-renames', '--no-ext-diff', '--no-textconv']
  const args = [
    'diff-tree',
    ...flags,
    from.tree,
    to.tree,
    '--',
    ...paths.map(path => toTop(repository, path)),
  ]
  const output = await mustGit(rawDir(repository), args)
  const cut = output.indexOf('\0\0')
  const blocks = output
    .slice(cut + 2)
    .split(/^diff --git .*$/mu)
    .slice(1)
  const lines = new Map<string, string[]>()
  // The blocks have no names that could be trusted, but they come in the order of the raw list. A change of type has two.
  for (const file of parseRaw(output.slice(0, cut).split('\0'))) {
    const retyped = file.from && file.to && file.from.mode.slice(0, 2) !== file.to.mode.slice(0, 2)
    const hunks = blocks
      .splice(0, retyped ? 2 : 1)
      .map(block => (block.includes('\n@@') ? block.slice(block.indexOf('\n@@')) : ''))
    const added = hunks.flatMap(text => text.split('\n')).filter(line => line.startsWith('+'))
    lines.set(
      fromTop(repository, file.path),
      added.map(line => line.slice(1)),
    )
  }
  return lines
}

async function changedFiles(repository: Repository, from: string, to: Position): Promise<ChangedFile[]> {
  if (from === to.tree) return []
  if (to.delta?.from === from) return to.delta.files
  return (await diffTrees(repository, from, to.tree)).map(({ path, from: before, to: after }) => ({
    path: fromTop(repository, path),
    how: before === null ? 'added' : after === null ? 'deleted' : 'modified',
  }))
}

export function unstoredOf(repository: Repository, start: Base | Position): Unstored {
  if ('unstored' in start) return start.unstored
  return readStart(repository, start).position?.unstored ?? new Map()
}

/** A file that was too large before and is stored now was not added. */
function wasUnstored(file: ChangedFile, before: Unstored): ChangedFile {
  return file.how === 'added' && before.has(file.path) ? { ...file, how: 'modified' } : file
}

export function unstoredChanges(before: Unstored, after: Unstored, stored: ChangedFile[]): ChangedFile[] {
  const handled = new Set(stored.map(file => file.path))
  const changes: ChangedFile[] = []
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const [old, now] = [before.get(path), after.get(path)]
    if (old && now && old.size === now.size && old.mtimeMs === now.mtimeMs) continue
    if (handled.has(path)) continue
    changes.push({ path, how: old ? (now ? 'modified' : 'deleted') : 'added' })
  }
  return changes
}
