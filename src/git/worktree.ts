import fs from 'node:fs'
import path from 'node:path'
import { UserError } from '../core/errors.ts'
import { refSafe } from './failure-branch.ts'
import { git, mustGit } from './git.ts'
import { plainDir, realDir } from './private-dir.ts'
import { exclusively } from './repository.ts'
import type { Repository } from './repository-type.ts'

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
export async function ensureWorktree(
  repository: Repository,
  name: string,
  { from = 'HEAD', recovering = false, under = repository.scratch }: WorktreeOptions = {},
): Promise<Worktree> {
  const its = { scratch: under }
  const { branch, place } = worktreePlace(its, name)
  const made = { path: place, root: path.resolve(place, repository.prefix), branch }
  return exclusively(repository, async () => {
    mendLink({ ...repository, ...its }, name)
    await mustGit(realDir(repository), ['worktree', 'prune'])
    const worktrees = await listWorktrees(repository)
    const here = worktrees.find(worktree => worktree.path === place)
    if (here && (here.branch === branch || recovering)) {
      // Whoever made it was cut off before the files were there.
      if (here.branch === branch && !isCheckedOut(place)) await checkOut(repository, place, branch)
      return { ...made, created: false }
    }
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
    await addWorktree(repository, { place, branch, from })
    return { ...made, created: true }
  })
}

/** `from`: the commit a new one is made from. `recovering`: an agent was cut off in it; it may be on any branch. */
export type WorktreeOptions = {
  from?: string
  recovering?: boolean
  /** The folder that holds `worktrees/`, if it is not where the private directories are. */
  under?: string
}

/**
 * An agent may have deleted or replaced the file that makes the folder a worktree. Without it git would take the folder
 * for a part of the repository around it, which is the user's.
 */
export function mendLink(repository: Repository, name: string): void {
  const { place } = worktreePlace(repository, name)
  const all = path.join(repository.commonDir, 'worktrees')
  const link = path.join(place, '.git')
  if (!fs.existsSync(place) || !fs.existsSync(all)) return
  const its = fs
    .readdirSync(all)
    .map(one => path.join(all, one))
    .find(folder => readText(path.join(folder, 'gitdir')).trim() === link)
  if (its === undefined || readText(link).trim() === `gitdir: ${its}`) return
  fs.rmSync(link, { recursive: true, force: true })
  fs.writeFileSync(link, `gitdir: ${its}\n`)
}

function readText(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

export function worktreePlace(
  repository: Pick<Repository, 'scratch'>,
  name: string,
): { branch: string; place: string } {
  const safe = refSafe(name)
  // git tells paths without links.
  const scratch = fs.realpathSync(repository.scratch)
  return { branch: `ralph/${safe}`, place: path.join(scratch, 'worktrees', safe) }
}

/** Takes the folder away, whatever is in it; the branch stays. */
export async function removeWorktree(repository: Repository, name: string): Promise<void> {
  const { place } = worktreePlace(repository, name)
  return exclusively(repository, async () => {
    fs.rmSync(place, { recursive: true, force: true })
    await mustGit(realDir(repository), ['worktree', 'prune'])
  })
}

type NewWorktree = { place: string; branch: string; from: string }

async function addWorktree(repository: Repository, { place, branch, from }: NewWorktree): Promise<void> {
  const real = realDir(repository)
  const exists = (await git(real, ['show-ref', '--verify', '-q', `refs/heads/${branch}`])).code === 0
  fs.mkdirSync(path.dirname(place), { recursive: true })
  const target = exists ? [place, branch] : ['--no-track', '-b', branch, place, from]
  const added = await git(real, ['worktree', 'add', '--no-checkout', ...target])
  if (added.code !== 0) {
    throw new UserError(
      `The worktree ${place} could not be made: ${added.stderr.trim().split('\n').at(-1)}`,
      'A branch called `ralph` stands in the way of `ralph/…`: rename it with `git branch -m ralph ralph-old`.',
    )
  }
  await checkOut(repository, place, branch)
}

/** The files are written by a git that does not know the repository's configuration. */
async function checkOut(repository: Repository, place: string, branch: string): Promise<void> {
  const head = await mustGit(realDir(repository), ['rev-parse', '--verify', `refs/heads/${branch}^{commit}`])
  const { env } = plainDir(repository)
  const there = {
    cwd: place,
    env: { ...env, GIT_WORK_TREE: place, GIT_INDEX_FILE: indexOf(place) },
  }
  fs.rmSync(`${indexOf(place)}.lock`, { force: true })
  await mustGit(there, ['read-tree', '--reset', '-u', head.trim()])
}

/** The index is written when all files are. */
function isCheckedOut(place: string): boolean {
  return fs.existsSync(indexOf(place))
}

function indexOf(place: string): string {
  const link = fs.readFileSync(path.join(place, '.git'), 'utf8')
  return path.join(link.replace(/^gitdir: /u, '').trim(), 'index')
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
