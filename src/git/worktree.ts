import fs from 'node:fs'
import path from 'node:path'
import { UserError } from '../core/errors.ts'
import { refSafe } from './failure-branch.ts'
import { git, mustGit } from './git.ts'
import { plainDir, realDir } from './private-dir.ts'
import { exclusively, type Repository } from './repository.ts'

export type Worktree = {
  /** The top of the new worktree. */
  path: string
  /** The project folder in it. */
  root: string
  branch: string
  /** False when it was there from an earlier run, with whatever that left in it. */
  created: boolean
}

/**
 * A worktree of its own at `.ralph/worktrees/<name>` on the branch `ralph/<name>`, made from HEAD or used again. Files
 * under a filter (Git LFS, git-crypt) come as they are stored: no program is run.
 */
export async function ensureWorktree(repository: Repository, name: string): Promise<Worktree> {
  const safe = refSafe(name)
  const branch = `ralph/${safe}`
  const place = path.join(repository.scratch, 'worktrees', safe)
  const made = { path: place, root: path.resolve(place, repository.prefix), branch }
  return exclusively(repository, async () => {
    await mustGit(realDir(repository), ['worktree', 'prune'])
    const worktrees = await listWorktrees(repository)
    const here = worktrees.find(worktree => worktree.path === place)
    if (here?.branch === branch) return { ...made, created: false }
    if (here) {
      throw new UserError(
        `The worktree ${place} is on ${here.branch ?? 'no branch'}, not on ${branch}.`,
        `Switch it back (git -C '${place}' switch ${branch}) or remove it (git worktree remove '${place}').`,
      )
    }
    if (fs.existsSync(place) && fs.readdirSync(place).length > 0) {
      throw new UserError(
        `${place} is in the way: it is not a worktree of this repository.`,
        'Move it elsewhere, then run Ralph again.',
      )
    }
    const elsewhere = worktrees.find(worktree => worktree.branch === branch)
    if (elsewhere) {
      throw new UserError(
        `The branch ${branch} is checked out in ${elsewhere.path}.`,
        `Run Ralph there, or remove that worktree: git worktree remove '${elsewhere.path}'.`,
      )
    }
    await addWorktree(repository, place, branch)
    return { ...made, created: true }
  })
}

async function addWorktree(repository: Repository, place: string, branch: string): Promise<void> {
  const real = realDir(repository)
  const exists = (await git(real, ['show-ref', '--verify', '-q', `refs/heads/${branch}`])).code === 0
  fs.mkdirSync(path.dirname(place), { recursive: true })
  const target = exists ? [place, branch] : ['--no-track', '-b', branch, place, 'HEAD']
  const added = await git(real, ['worktree', 'add', '--no-checkout', ...target])
  if (added.code !== 0) {
    throw new UserError(
      `The worktree ${place} could not be made: ${added.stderr.trim().split('\n').at(-1)}`,
      'A branch called `ralph` stands in the way of `ralph/…`: rename it with `git branch -m ralph ralph-old`.',
    )
  }
  // The files are written by a git that does not know the repository's configuration.
  const gitDir = fs
    .readFileSync(path.join(place, '.git'), 'utf8')
    .replace(/^gitdir: /u, '')
    .trim()
  const head = await mustGit(real, ['rev-parse', '--verify', `refs/heads/${branch}^{commit}`])
  const { env } = plainDir(repository)
  const there = {
    cwd: place,
    env: { ...env, GIT_WORK_TREE: place, GIT_INDEX_FILE: path.join(gitDir, 'index') },
  }
  await mustGit(there, ['read-tree', '--reset', '-u', head.trim()])
}

async function listWorktrees(repository: Repository): Promise<{ path: string; branch: string | null }[]> {
  const output = await mustGit(realDir(repository), ['worktree', 'list', '--porcelain'])
  return output
    .split('\n\n')
    .filter(block => block.startsWith('worktree '))
    .map(block => ({
      path: /^worktree (.*)$/mu.exec(block)?.[1] ?? '',
      branch: /^branch refs\/heads\/(.*)$/mu.exec(block)?.[1] ?? null,
    }))
}
