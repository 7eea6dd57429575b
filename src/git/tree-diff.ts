import { fields, mustGit } from './git.ts'
import { rawDir } from './private-dir.ts'
import { type Repository, remembered } from './repository.ts'
import { inScratch, pathspec } from './scope.ts'

/** One side of a difference; null: the path is not there. */
export type Entry = { mode: string; id: string } | null

/** Paths are relative to the top of the worktree. */
export type Difference = { path: string; from: Entry; to: Entry }

export const submoduleMode = '160000'

/** What differs between two trees, in the project folder. */
export async function diffTrees(repository: Repository, from: string, to: string): Promise<Difference[]> {
  if (from === to) return []
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', from, to, ...pathspec(repository)]
  return remembered(repository, `diff ${from} ${to}`, async () => {
    const differences = parseRaw(fields(await mustGit(rawDir(repository), args)))
    return differences.filter(({ path }) => !inScratch(repository, path))
  })
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
