import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeHome } from '../engine/home.ts'
import { openRepository } from '../git/repository.ts'
import { ensureWorktree } from '../git/worktree.ts'

/**
 * `--worktree`: a folder and a branch of its own, from HEAD. Everything then happens there, the journal too. An engine
 * may be at work in this folder, and nobody asks for its lease here: so its locks and git directories are left alone.
 */
export async function enterWorktree(folder: string, name: string): Promise<string> {
  const home = makeHome(folder)
  const scratch = mkdtempSync(join(home, 'worktree-'))
  try {
    const repository = await openRepository(folder, { scratch })
    const { root, branch, created } = await ensureWorktree(repository, name, { under: home })
    process.stderr.write(
      `${created ? 'created' : 'using'} the worktree ${root} on branch ${branch}; later: git merge ${branch}\n`,
    )
    return root
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
