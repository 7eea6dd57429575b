import path from 'node:path'
import { UserError } from '../core/errors.ts'
import { matchesAny } from '../core/glob.ts'
import { printable } from './bytes.ts'
import { filtersOf } from './commit.ts'
import { fields, mustGit } from './git.ts'
import { lfsPointer } from './lfs.ts'
import { unlessOnlyGit } from './only-git.ts'
import { readIndex } from './our-index.ts'
import { plainDir } from './private-dir.ts'
import { readRefs } from './refs.ts'
import { exclusively } from './repository.ts'
import type { Repository } from './repository-type.ts'
import { looksAs, scanLimit } from './scan.ts'
import { fromTop, inScratch, pathspec } from './scope.ts'
import { treeOf } from './snapshot.ts'
import { parseRaw } from './tree-diff.ts'
import { listTree } from './tree-object.ts'

/** Tracked files with uncommitted changes: staged, unstaged, deleted or in conflict. Untracked files are not meant. */
export async function dirtyFiles(
  repository: Repository,
  options: { ignore?: string[] } = {},
): Promise<string[]> {
  return exclusively(repository, async () => {
    const { head } = await readRefs(repository)
    if (await looksClean(repository, head)) return []
    const place = plainDir(repository)
    const env = { GIT_INDEX_FILE: path.join(repository.gitDir, 'index') }
    const staged = [
      'diff-index',
      '--cached',
      '--raw',
      '-z',
      '--no-renames',
      '--ignore-submodules=dirty',
      head,
    ]
    const [indexed, working] = await Promise.all([
      mustGit(place, [...staged, ...pathspec(repository)], { env }),
      mustGit(place, ['ls-files', '-z', '-m', '-d', ...pathspec(repository)], { env }),
    ])
    const unstaged = await reallyChanged(repository, [...new Set(fields(working))], env)
    const names = new Set([...parseRaw(fields(indexed)).map(difference => difference.path), ...unstaged])
    return [...names]
      .filter(name => !inScratch(repository, name))
      .map(name => fromTop(repository, name))
      .filter(name => !matchesAny(name, options.ignore ?? []))
      .sort()
  })
}

/** True when the index is as HEAD is, and every file looks as it did when it was put there. No git process. */
async function looksClean(repository: Repository, head: string): Promise<boolean> {
  const { trees, gitDir } = repository
  const listed = await listTree(trees, await treeOf(repository, head), scanLimit)
  if (!listed) return false
  const index = unlessOnlyGit(() => new Map(readIndex(path.join(gitDir, 'index'), trees.objects)))
  if (index?.size !== listed.length) return false
  return listed.every(({ path: name, mode, id }) => {
    const entry = index.get(name)
    if (!entry || entry.special || entry.id !== id || entry.mode !== mode || !entry.look) return false
    return looksAs(repository.top, { ...entry, look: entry.look })
  })
}

/** Says which files stand in the way and what can be done. */
export function dirtyRefusal(files: string[]): UserError {
  const shown = files.slice(0, 10).map(file => `  ${printable(file)}`)
  const more = files.length > shown.length ? [`  and ${files.length - shown.length} more`] : []
  const count = files.length === 1 ? '1 file has' : `${files.length} files have`
  return new UserError(
    [`${count} uncommitted changes:`, ...shown, ...more].join('\n'),
    'Commit or stash them, or run with --worktree (work in a worktree of its own, from HEAD) or --in-place (they stay as they are, are never committed, and are put back after each attempt).',
  )
}

/** Without its filter a file of Git LFS looks changed as soon as git has to read it. */
async function reallyChanged(
  repository: Repository,
  paths: string[],
  env: Record<string, string>,
): Promise<string[]> {
  const filters = await filtersOf(repository, paths)
  const suspects = paths.filter(name => filters.get(name) === 'lfs')
  if (suspects.length === 0) return paths
  const listed = fields(
    await mustGit(plainDir(repository), ['ls-files', '-z', '-s', '--', ...suspects], { env }),
  )
  const stored = new Map(listed.map(line => [line.slice(line.indexOf('\t') + 1), line.split(' ')[1] ?? '']))
  const same = new Set<string>()
  for (const name of suspects) {
    const stdin = pointerIfPresent(repository, name)
    if (stdin === null) continue
    const id = (await mustGit(plainDir(repository), ['hash-object', '--stdin'], { stdin })).trim()
    if (id === stored.get(name)) same.add(name)
  }
  return paths.filter(name => !same.has(name))
}

function pointerIfPresent(repository: Repository, name: string): string | null {
  try {
    return lfsPointer(repository, name, { store: false })
  } catch {
    return null
  }
}
