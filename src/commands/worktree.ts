import { makeHome } from '../engine/open.ts'
import { openRepository } from '../git/repository.ts'
import { ensureWorktree } from '../git/worktree.ts'

/** `--worktree`: a folder and a branch of its own, from HEAD. Everything then happens there, the journal too. */
export async function enterWorktree(folder: string, name: string): Promise<string> {
  const repository = await openRepository(folder, { scratch: makeHome(folder) })
  const { root, branch, created } = await ensureWorktree(repository, name)
  process.stderr.write(
    `${created ? 'created' : 'using'} the worktree ${root} on branch ${branch}; later: git merge ${branch}\n`,
  )
  return root
}
