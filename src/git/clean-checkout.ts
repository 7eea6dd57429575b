import fs from 'node:fs'
import path from 'node:path'
import { mustGit } from './git.ts'
import { plainDir, realDir } from './private-dir.ts'
import { exclusively } from './repository.ts'
import type { Repository } from './repository-type.ts'

/**
 * A commit in a folder of its own, for as long as `work` takes: nothing is in it that was not committed, no leftovers,
 * no ignored files, none of the user's. It is a worktree, so programs that ask git find a repository.
 */
export async function withCleanCheckout<T>(
  repository: Repository,
  options: { commit: string; place: string },
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const { commit, place } = options
  const real = realDir(repository)
  const remove = () =>
    exclusively(repository, async () => {
      fs.rmSync(place, { recursive: true, force: true })
      await mustGit(real, ['worktree', 'prune'])
    })
  await remove()
  await exclusively(repository, async () => {
    fs.mkdirSync(path.dirname(place), { recursive: true })
    await mustGit(real, ['worktree', 'add', '--no-checkout', '--detach', place, commit])
    // The files are written by a git that does not know the repository's configuration.
    const gitDir = fs
      .readFileSync(path.join(place, '.git'), 'utf8')
      .replace(/^gitdir: /u, '')
      .trim()
    const env = {
      ...plainDir(repository).env,
      GIT_WORK_TREE: place,
      GIT_INDEX_FILE: path.join(gitDir, 'index'),
    }
    await mustGit({ cwd: place, env }, ['read-tree', '--reset', '-u', commit])
  })
  try {
    return await work(path.join(place, repository.prefix))
  } finally {
    await remove()
  }
}
