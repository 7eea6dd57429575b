import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { refSafe } from '../git/failure-branch.ts'
import { type Forwarded, fastForward, isAncestor } from '../git/fast-forward.ts'
import { recordedSnapshots } from '../git/position.ts'
import { moveRefs, readRefs } from '../git/refs.ts'
import { exclusively } from '../git/repository.ts'
import type { Repository } from '../git/repository-type.ts'
import { forgetPositions } from '../git/snapshot.ts'
import { ensureWorktree, mendLink, removeWorktree, worktreePlace } from '../git/worktree.ts'

export type { Forwarded } from '../git/fast-forward.ts'

/** Worktrees of single tasks, each with a branch `ralph/<task>`, and the way of their work into the user's branch. */
export type Worktrees<W> = {
  /** Where the user's branch stands now. */
  head(): Promise<{ head: string; branch: string | null }>
  isAncestor(old: string, young: string): Promise<boolean>
  /** Made from `from` when it is not there, with whatever is in it when it is. */
  open(
    task: string,
    options: { from: string; recovering: boolean },
  ): Promise<{ root: string; top: string; workspace: W }>
  /** Whatever an agent did to it, the folder is a worktree. */
  mend(task: string): void
  branchOf(task: string): string
  /** The commit of a branch; null when there is no such branch. */
  headOf(branch: string): Promise<string | null>
  /** Brings the user's branch and files to a commit that builds on it, or says what is in the way. */
  forward(options: { to: string; branch: string | null }): Promise<Forwarded>
  /** Takes the folder away, and the branch too when all of it is in one of these commits. */
  remove(task: string, mergedInto: string[]): Promise<void>
}

export function worktreesOf<W>(
  repository: Repository,
  options: {
    openFolder(root: string, home: string, recovering: boolean): Promise<W>
    /** The user's files were changed. */
    changed(): void
  },
): Worktrees<W> {
  // Not in the worktree: its agent may do there as it likes.
  const homeOf = (task: string) => join(repository.scratch, 'worktree-state', refSafe(task))
  const branchOf = (task: string) => worktreePlace(repository, task).branch
  const headOf = async (branch: string) =>
    (await readRefs(repository)).refs.get(`refs/heads/${branch}`) ?? null
  const dropBranch = async (branch: string, mergedInto: string[]) => {
    const at = await headOf(branch)
    if (at === null) return
    for (const commit of mergedInto) {
      if (!(await isAncestor(repository, at, commit))) continue
      const moves = [{ name: `refs/heads/${branch}`, from: at, to: null }]
      return exclusively(repository, () => moveRefs(repository, moves, 'ralph: merged'))
    }
  }
  return {
    head: async () => {
      const { head, branch } = await readRefs(repository)
      return { head, branch }
    },
    isAncestor: (old, young) => isAncestor(repository, old, young),
    branchOf,
    headOf,
    open: async (task, { from, recovering }) => {
      const { root, path } = await ensureWorktree(repository, task, { from, recovering })
      return { root, top: path, workspace: await options.openFolder(root, homeOf(task), recovering) }
    },
    mend: task => mendLink(repository, task),
    forward: async to => {
      options.changed()
      return fastForward(repository, to)
    },
    remove: async (task, mergedInto) => {
      await removeWorktree(repository, task)
      const its = { ...repository, scratch: homeOf(task) }
      await forgetPositions(its, recordedSnapshots(its))
      rmSync(homeOf(task), { recursive: true, force: true })
      await dropBranch(branchOf(task), mergedInto)
    },
  }
}
