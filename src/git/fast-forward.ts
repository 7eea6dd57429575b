import { UserError } from '../core/errors.ts'
import { printable, statOf } from './bytes.ts'
import { git, mustGit } from './git.ts'
import { realDir, userIndexDir } from './private-dir.ts'
import { moveHead, moveRefs, readRefs } from './refs.ts'
import { exclusively, unfinishedOperation } from './repository.ts'
import type { Repository } from './repository-type.ts'
import { zeroId } from './restore-files.ts'
import { foldersAbove } from './scope.ts'
import { treeOf } from './snapshot.ts'
import { diffTrees } from './tree-diff.ts'
import type { Difference } from './tree-object.ts'
import { putBackUserIndex, readUserIndex } from './user-index.ts'

/** `kept`: nothing was changed, and why. */
export type Forwarded = { type: 'forwarded' } | { type: 'kept'; why: string }

/**
 * Brings the checked-out branch, its files and the user's index to a commit that builds on it. No hook runs and no file
 * with uncommitted work is touched: then it is not done at all. Safe to repeat after a crash at any point: files first,
 * the branch last, and what is there already is taken for done.
 */
export async function fastForward(
  repository: Repository,
  {
    to,
    branch,
  }: {
    to: string /** The branch that must be checked out; null = a detached HEAD. */
    branch: string | null
  },
): Promise<Forwarded> {
  return exclusively(repository, async () => {
    const now = await readRefs(repository)
    const name = branch ?? 'HEAD'
    if (now.branch !== branch) return kept(`${now.branch ?? 'a detached HEAD'} is checked out, not ${name}`)
    if (await isAncestor(repository, to, now.head)) return { type: 'forwarded' }
    if (!(await isAncestor(repository, now.head, to))) return kept(`${name} has moved on`)
    const unfinished = unfinishedOperation(repository)
    if (unfinished) return kept(`a ${unfinished} is in progress`)
    const refused = await moveFiles(repository, now.head, to)
    if (refused !== null) return kept(refused)
    try {
      const reason = `ralph: fast-forward to ${to.slice(0, 12)}`
      if (branch === null) await moveHead(repository, { head: to, branch }, reason)
      else await moveRefs(repository, [{ name: `refs/heads/${branch}`, from: now.head, to }], reason)
    } catch (error) {
      // Somebody committed in this very moment.
      if (!(error instanceof UserError)) throw error
      await moveFiles(repository, to, now.head)
      return kept(error.message)
    }
    return { type: 'forwarded' }
  })
}

export async function isAncestor(repository: Repository, old: string, young: string): Promise<boolean> {
  if (old === young) return true
  return (await git(realDir(repository), ['merge-base', '--is-ancestor', old, young])).code === 0
}

function kept(why: string): Forwarded {
  return { type: 'kept', why }
}

/** Files and index go from one commit to the other, all of them or none; null when it was done, else what is in the way. */
async function moveFiles(repository: Repository, from: string, to: string): Promise<string | null> {
  const place = userIndexDir(repository)
  const move = async () => {
    await git(place, ['update-index', '-q', '--refresh'])
    return git(place, ['read-tree', '-m', '-u', from, to])
  }
  const differences = await diffTrees(
    repository,
    await treeOf(repository, from),
    await treeOf(repository, to),
  )
  const inTheWay = await unknownFile(repository, differences)
  if (inTheWay !== null) return `${printable(inTheWay)} is in the way, untracked`
  const first = await move()
  if (first.code === 0) return null
  const index = readUserIndex(repository)
  const bytes = repository.cache.userIndex?.bytes ?? null
  if (await takeUpWritten(repository, differences)) {
    if ((await move()).code === 0) return null
    putBackUserIndex(repository, index, bytes)
  }
  return obstacle(first.stderr)
}

/** A file of the user where a new one is to be. git would overwrite those that are ignored, an `.env` for example. */
async function unknownFile(repository: Repository, differences: Difference[]): Promise<string | null> {
  const known = new Set(differences.flatMap(({ path: name, from }) => (from === null ? [] : [name])))
  for (const difference of differences.filter(({ from, to }) => from === null && to !== null)) {
    const { path: name } = difference
    const above = foldersAbove(repository, name).find(
      folder => !known.has(folder) && statOf(repository.top, folder)?.isDirectory() === false,
    )
    if (above !== undefined) return above
    if (statOf(repository.top, name) !== null && !(await isWritten(repository, difference))) return name
  }
  return null
}

/** What a move that was cut off has written already is staged, so that it is no longer in its own way. */
async function takeUpWritten(repository: Repository, differences: Difference[]): Promise<boolean> {
  const written: Difference[] = []
  for (const difference of differences) if (await isWritten(repository, difference)) written.push(difference)
  if (written.length === 0) return false
  const lines = written.map(
    ({ path: name, to: now }) => `${now ? now.mode : '0'} ${now ? now.id : zeroId(repository)}\t${name}\0`,
  )
  await mustGit(userIndexDir(repository), ['update-index', '-z', '--index-info'], { stdin: lines.join('') })
  return true
}

async function isWritten(repository: Repository, { path: name, to }: Difference): Promise<boolean> {
  const stat = statOf(repository.top, name)
  if (to === null) return stat === null
  const mode = stat && (stat.mode & 0o100) !== 0 ? '100755' : '100644'
  if (!stat?.isFile() || to.mode !== mode) return false
  const hashed = await git(userIndexDir(repository), ['hash-object', '--', name])
  return hashed.code === 0 && hashed.stdout.trim() === to.id
}

function obstacle(stderr: string): string {
  const line = stderr.split('\n').find(one => /^(?:error|fatal): /u.test(one)) ?? ''
  const changed = /Entry '(.*)' not uptodate|Entry '(.*)' would be overwritten/u.exec(line)
  if (changed) return `${printable(changed[1] ?? changed[2] ?? '')} has uncommitted changes`
  const untracked = /Untracked working tree file '(.*)' would be/u.exec(line)
  if (untracked) return `${printable(untracked[1] ?? '')} is in the way, untracked`
  return line.replace(/^(?:error|fatal): /u, '') || 'git read-tree refused'
}
