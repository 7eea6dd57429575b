import { fields, mustGit } from './git.ts'
import { rawDir } from './private-dir.ts'
import { remembered } from './repository.ts'
import type { Repository } from './repository-type.ts'
import { inScratch, pathspec } from './scope.ts'
import { compareTrees, type Difference, type Entry, treeIdOf } from './tree-object.ts'

export const submoduleMode = '160000'

/** What differs between two trees (or those of two commits), in the project folder. */
export async function diffTrees(repository: Repository, from: string, to: string): Promise<Difference[]> {
  if (from === to) return []
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', from, to, ...pathspec(repository)]
  return remembered(repository, `diff ${from} ${to}`, async () => {
    const differences =
      (await ourDifferences(repository, from, to)) ??
      parseRaw(fields(await mustGit(rawDir(repository), args)))
    return differences.filter(
      ({ path }) => path.startsWith(repository.prefix) && !inScratch(repository, path),
    )
  })
}

/** The same in the whole repository and without a git process; null when git must be asked. */
export async function ourDifferences(
  { trees }: Repository,
  from: string,
  to: string,
): Promise<Difference[] | null> {
  const [before, after] = [await treeIdOf(trees, from), await treeIdOf(trees, to)]
  return before === null || after === null ? null : compareTrees(trees, before, after)
}

/** git's raw format: `:mode mode id id status`, then the path. */
export function parseRaw(parts: string[]): Difference[] {
  const differences: Difference[] = []
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [fromMode = '', toMode = '', fromId = '', toId = ''] = (parts[at] ?? '')
      .replace(/^\n?:/u, '')
      .split(' ')
    differences.push({ path: parts[at + 1] ?? '', from: entry(fromMode, fromId), to: entry(toMode, toId) })
  }
  return differences
}

function entry(mode: string, id: string): Entry {
  return mode === '000000' ? null : { mode, id }
}
