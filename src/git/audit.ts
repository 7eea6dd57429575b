import { matchesAny } from '../core/glob.ts'
import type { Violation } from '../core/outcome.ts'
import { printable, statOf } from './bytes.ts'
import { type Commits, commitsBetween } from './changes.ts'
import type { Position } from './position-type.ts'
import { type RefMove, refMoves } from './refs.ts'
import type { Repository } from './repository-type.ts'
import { fromTop } from './scope.ts'
import { treeOf } from './snapshot.ts'
import { diffTrees } from './tree-diff.ts'
import type { Difference, Entry } from './tree-object.ts'

export type AuditOptions = {
  /** Globs and paths that may be in an agent's commit all the same: the engine's own files, work of an earlier stage. */
  tolerated?: string[]
  /** Files that were dirty when an in-place run began. */
  userFiles?: string[]
}

/** What an attempt did to the repository that no attempt may do. Details are for the agent and for people. */
export async function auditPositions(
  repository: Repository,
  from: Position,
  to: Position,
  options: AuditOptions = {},
): Promise<Violation[]> {
  const commits = await commitsBetween(repository, from, to)
  // Without a commit nothing can have been swept into one.
  const matters = commits.list.length > 0 || (options.userFiles?.length ?? 0) > 0
  const changed = matters ? await diffTrees(repository, from.tree, to.tree) : []
  return [
    ...branchViolations(from, to),
    ...historyViolations(from, to, commits),
    ...refMoves(repository, from, to)
      .filter(move => from.branch !== to.branch || move.name !== `refs/heads/${from.branch}`)
      .map(refViolation),
    ...stashViolations(from, to),
    ...(await sweptFiles(repository, { from, to, commits, changed, tolerated: options.tolerated ?? [] })),
    ...userFileViolations(repository, changed, new Set(options.userFiles)),
  ]
}

function branchViolations(from: Position, to: Position): Violation[] {
  if (from.branch === to.branch) return []
  const [before, after] = [from.branch ?? 'a detached HEAD', to.branch ?? 'a detached HEAD']
  return [
    { rule: 'branch-switched', path: to.branch ?? 'HEAD', detail: `Switched from ${before} to ${after}` },
  ]
}

function historyViolations(from: Position, to: Position, commits: Commits): Violation[] {
  const found: Violation[] = []
  // On another branch there is nothing to build on; that is a violation of its own.
  if (from.branch === to.branch && !commits.descends) {
    const path = from.branch ?? 'HEAD'
    found.push({
      rule: 'refs-changed',
      path,
      detail: `Rewrote history: ${path} no longer builds on ${from.head.slice(0, 12)}`,
    })
  }
  if (to.unfinished && to.unfinished !== from.unfinished) {
    found.push({ rule: 'refs-changed', path: 'HEAD', detail: `Left a ${to.unfinished} unfinished` })
  }
  return found
}

function refViolation(move: RefMove): Violation {
  const [, kind = '', ...rest] = move.name.split('/')
  const word =
    { heads: 'branch', tags: 'tag', stash: 'stash', notes: 'note', replace: 'replacement' }[kind] ??
    'reference'
  const what = rest.length > 0 ? `the ${word} ${rest.join('/')}` : `the ${word}`
  const did = move.from === null ? 'Created' : move.to === null ? 'Deleted' : 'Changed'
  return { rule: 'refs-changed', path: move.name, detail: `${did} ${what}` }
}

/** An older entry was dropped: the reference itself did not move. */
function stashViolations(from: Position, to: Position): Violation[] {
  const same = from.stashLog === to.stashLog || from.refs.get('refs/stash') !== to.refs.get('refs/stash')
  return same ? [] : [{ rule: 'refs-changed', path: 'refs/stash', detail: 'Changed the stash' }]
}

type SweepInput = {
  from: Position
  to: Position
  commits: Commits
  changed: Difference[]
  tolerated: string[]
}

/**
 * Files in the agent's commits which it did not make or change: `git add -A` on a folder where the user keeps an
 * untracked `.env` or half-done work. Looked for in every commit, since a later one that takes the file out again leaves
 * it in the history.
 */
async function sweptFiles(repository: Repository, input: SweepInput): Promise<Violation[]> {
  const { from, commits, tolerated } = input
  const committed = commits.list.flatMap(commit => commit.files)
  if (committed.length === 0) return []
  const dirty = await diffTrees(repository, await treeOf(repository, from.head), from.tree)
  const pending = new Map(dirty.map(difference => [difference.path, difference]))
  const changed = new Set(input.changed.map(({ path }) => path))
  const swept = new Map<string, string>()
  for (const { path, from: parent, to: now } of committed) {
    const name = fromTop(repository, path)
    if (swept.has(name) || matchesAny(name, tolerated)) continue
    const then = pending.get(path)
    // What HEAD had already is no news: a rewritten commit brings it again.
    const news = then !== undefined && !sameContent(now, then.from)
    const waiting = news && (sameContent(now, then.to) || !changed.has(path))
    if (waiting) swept.set(name, 'its content was there before the attempt, uncommitted')
    else if (
      from.unstored.has(name) ||
      (then === undefined && parent === null && commits.descends && isOlder(repository, path, from))
    ) {
      swept.set(name, 'it was there before the attempt, untracked')
    }
  }
  return [...swept].map(([path, why]) => ({
    rule: 'swept-files',
    path,
    detail: `Committed ${printable(path)}, which it did not change: ${why}`,
  }))
}

function sameContent(a: Entry, b: Entry): boolean {
  return a?.id === b?.id
}

/**
 * A file that git ignored before the attempt is in no snapshot. It betrays itself by its age: nobody can set the time of
 * a file's last change of state back. Clocks of file systems tick coarsely, hence the margin.
 */
function isOlder(repository: Repository, path: string, from: Position): boolean {
  const stat = statOf(repository.top, path)
  return stat !== null && stat.ctimeMs < from.at - 50
}

function userFileViolations(
  repository: Repository,
  changed: Difference[],
  userFiles: Set<string>,
): Violation[] {
  return changed
    .map(({ path }) => fromTop(repository, path))
    .filter(path => userFiles.has(path))
    .map(path => ({
      rule: 'user-file',
      path,
      detail: `Changed ${printable(path)}, which held the user's own uncommitted work`,
    }))
}
