import fs from 'node:fs'
import path from 'node:path'
import { UserError } from '../core/errors.ts'
import type { Base } from '../core/event.ts'
import { matchesAny } from '../core/glob.ts'
import type { ChangedFile } from '../core/outcome.ts'
import { fsPath, printable } from './bytes.ts'
import { unstoredChanges } from './changes.ts'
import { fields, git, mustGit } from './git.ts'
import { keepState } from './keep-state.ts'
import { clearLeftovers } from './leftovers.ts'
import { readStart } from './position.ts'
import type { Position, Start } from './position-type.ts'
import { rawDir, userIndexDir } from './private-dir.ts'
import { rememberIndex, removeFromIndex } from './private-index.ts'
import { moveHead, moveRefs, type RefMove, refMoves } from './refs.ts'
import { exclusively } from './repository.ts'
import type { Repository } from './repository-type.ts'
import { deleteEmptyFolders, deleteFile, restoreFiles } from './restore-files.ts'
import { fromTop, toTop } from './scope.ts'
import { lookAround, stashLogFile } from './snapshot.ts'
import { diffTrees, submoduleMode } from './tree-diff.ts'
import type { Difference } from './tree-object.ts'
import { putBackUserIndex, writeWhole } from './user-index.ts'

export type PutBackOptions = {
  /** The reference (below `refs/ralph/`) that keeps what is undone; null: it is not kept. */
  keepAs: string | null
  /** Globs that stay as they are now: the engine's own files. */
  exclude?: string[]
  /** `branch`: of the references only the branch that was checked out; the others, and the stash, are a person's. */
  refs?: 'all' | 'branch'
}

export type PutBack = {
  /** The reference that holds the undone work; null when there was none, or it was not to be kept. */
  kept: string | null
  files: ChangedFile[]
  /** Changed files that were too large to be stored, so that their old content is lost. */
  lost: string[]
  /** Where the repository stands now. */
  position: Position
}

/**
 * Puts everything back to where an attempt began: files, index, HEAD, branches, tags and stash. Needs nothing but the
 * `Base`, so that the engine that comes after a crash can do it too, and can be repeated when it was interrupted itself.
 * The agent must have ended. Ignored files are left alone.
 */
export async function putBack(repository: Repository, base: Base, options: PutBackOptions): Promise<PutBack> {
  return exclusively(repository, async () => {
    const start = readStart(repository, base)
    if (start.position) repository.settings.excludes = start.position.excludes
    const now = await lookAround(repository, { dropIgnored: false })
    const before = start.position?.unstored ?? new Map()
    const excluded = (name: string) => {
      const own = fromTop(repository, name)
      // A file that was too large to be stored has no old content; what is left of it is not ours to delete.
      return before.has(own) || matchesAny(own, options.exclude ?? [])
    }
    const differences = (await diffTrees(repository, now.tree, base.tree)).filter(
      ({ path: name }) => !excluded(name),
    )
    const large = unstoredChanges(before, start.position ? now.unstored : new Map(), [])
    const onlyBranch = options.refs === 'branch'
    const moves = movesBack(repository, start, now).filter(
      ({ name }) => !onlyBranch || name === `refs/heads/${base.branch}`,
    )
    const same = now.head === base.head && now.branch === base.branch && moves.length === 0
    const kept =
      options.keepAs === null || (same && differences.length + large.length === 0)
        ? null
        : await keepState(repository, { ref: options.keepAs, now, moves, tree: now.tree })

    await clearLeftovers(repository, { unfinished: now.unfinished !== null && !start.position?.unfinished })
    const since = start.position?.at ?? 0
    setLargeAside(repository, { large, keepAs: options.keepAs, since })
    await restoreByOldRules(repository, { base, now, differences, excluded, since, kept, moves })
    await restoreReferences(repository, { start, now, moves, stash: !onlyBranch })
    await restoreIndex(repository, start, now)

    const position = await lookAround(repository, { dropIgnored: false })
    await checkResult(repository, { base, position, excluded })
    return {
      kept,
      files: [...differences.map(difference => undone(repository, difference)), ...large],
      lost: large.filter(file => file.how !== 'added').map(file => file.path),
      position,
    }
  })
}

/** Gives single files the content they had, or takes them away when they were not there. */
export async function restorePaths(repository: Repository, base: Base, paths: string[]): Promise<void> {
  if (paths.length === 0) return
  return exclusively(repository, async () => {
    const now = await lookAround(repository, { dropIgnored: false })
    const wanted = new Set(paths.map(name => toTop(repository, name)))
    const differences = (await diffTrees(repository, now.tree, base.tree)).filter(({ path: name }) =>
      wanted.has(name),
    )
    await restoreFiles(repository, differences, readStart(repository, base).position?.at ?? 0)
  })
}

type FileWork = {
  base: Base
  now: Position
  differences: Difference[]
  excluded: (name: string) => boolean
  since: number
  kept: string | null
  moves: RefMove[]
}

/**
 * What is ignored is decided by the rules at the start. An agent that takes `.env` out of `.gitignore` must not make us
 * delete it, and one that puts `*` in must not hide its files from us.
 */
async function restoreByOldRules(repository: Repository, work: FileWork): Promise<void> {
  const { base, excluded, since } = work
  const isRule = ({ path: name }: Difference) => path.posix.basename(name) === '.gitignore'
  const rules = work.differences.filter(isRule)
  let { differences } = work
  if (rules.length > 0) {
    await restoreFiles(repository, rules, since)
    const visible = await lookAround(repository, { dropIgnored: false })
    differences = (await diffTrees(repository, visible.tree, base.tree)).filter(
      ({ path: name }) => !excluded(name),
    )
    await keepHidden(repository, work, visible)
  }
  const added = differences.filter(({ to }) => to === null).map(({ path: name }) => name)
  // Also when the rules are as they were: they may have been others for a while, or a file was added by force.
  const ignored = new Set(await ignoredNow(repository, added))
  if (ignored.size > 0) {
    await removeFromIndex(repository, [...ignored])
    rememberIndex(repository, null)
  }
  await restoreFiles(
    repository,
    differences.filter(({ path: name }) => !ignored.has(name)),
    since,
  )
}

/** Files that only the agent's own rules ignored are about to be deleted: they belong to what is kept. */
async function keepHidden(repository: Repository, work: FileWork, visible: Position): Promise<void> {
  if (work.kept === null) return
  const hidden = (await diffTrees(repository, work.now.tree, visible.tree)).filter(
    ({ from }) => from === null,
  )
  if (hidden.length === 0) return
  await keepState(repository, { ref: `${work.kept}-ignored`, now: work.now, moves: [], tree: visible.tree })
}

async function ignoredNow(repository: Repository, names: string[]): Promise<string[]> {
  if (names.length === 0) return []
  // This command alone refuses literal names; a leading `./` keeps it from reading a name as something else.
  const options = { stdin: names.map(name => `./${name}\0`).join(''), env: { GIT_LITERAL_PATHSPECS: '0' } }
  const result = await git(rawDir(repository), ['check-ignore', '--no-index', '-z', '--stdin'], options)
  if (result.code > 1)
    throw new UserError(`git check-ignore failed: ${result.stderr.trim()}`, 'See what `git status` says.')
  return fields(result.stdout).map(name => name.slice(2))
}

/** New ones are moved out of the way (git does not store them); nothing can be done about those that were changed. */
function setLargeAside(
  repository: Repository,
  work: { large: ChangedFile[]; keepAs: string | null; since: number },
): void {
  const added = work.large.filter(file => file.how === 'added')
  for (const { path: name } of added) {
    const from = fsPath(repository.root, name.replace(/\/$/u, ''))
    if (work.keepAs === null) {
      if (name.endsWith('/')) fs.rmSync(from, { recursive: true, force: true })
      else deleteFile(repository, toTop(repository, name))
      continue
    }
    const to = fsPath(path.join(repository.scratch, 'set-aside', work.keepAs), name.replace(/\/$/u, ''))
    fs.mkdirSync(path.dirname(to.toString()), { recursive: true })
    fs.rmSync(to, { recursive: true, force: true })
    fs.renameSync(from, to)
  }
  deleteEmptyFolders(
    repository,
    added.map(file => toTop(repository, file.path.replace(/\/$/u, ''))),
    work.since,
  )
}

/** Without a record only the branch itself is known. */
function movesBack(repository: Repository, start: Start, now: Position): RefMove[] {
  if (start.position) {
    return refMoves(repository, start.position, now).map(({ name, from, to }) => ({
      name,
      from: to,
      to: from,
    }))
  }
  const { branch, head } = start.base
  const name = `refs/heads/${branch}`
  const from = now.refs.get(name) ?? null
  return branch === null || from === head ? [] : [{ name, from, to: head }]
}

async function restoreReferences(
  repository: Repository,
  work: { start: Start; now: Position; moves: RefMove[]; stash: boolean },
): Promise<void> {
  const { base, position } = work.start
  const reason = `ralph: back to ${base.head.slice(0, 12)}`
  const detached = base.branch === null && work.now.head !== base.head
  if (work.now.branch !== base.branch || detached) await moveHead(repository, base, reason)
  await moveRefs(repository, work.moves, reason)
  if (work.stash && position?.stashLog && position.stashLog !== work.now.stashLog) {
    writeWhole(stashLogFile(repository), Buffer.from(position.stashLog, 'base64'))
  }
}

async function restoreIndex(repository: Repository, start: Start, now: Position): Promise<void> {
  if (start.position) return putBackUserIndex(repository, start.position.index, start.indexBytes)
  // The copy is lost. Staged work cannot be known, but the index must at least fit the commit.
  if (now.head !== start.base.head) await mustGit(userIndexDir(repository), ['read-tree', start.base.head])
}

async function checkResult(
  repository: Repository,
  check: { base: Base; position: Position; excluded: (name: string) => boolean },
): Promise<void> {
  const { base, position } = check
  const left = (await diffTrees(repository, position.tree, base.tree)).filter(
    ({ path: name, from, to }) =>
      !check.excluded(name) && from?.mode !== submoduleMode && to?.mode !== submoduleMode,
  )
  if (left.length === 0 && position.head === base.head && position.branch === base.branch) return
  const names = left.slice(0, 5).map(({ path: name }) => printable(fromTop(repository, name)))
  throw new UserError(
    names.length > 0
      ? `These files could not be put back: ${names.join(', ')}.`
      : 'The branch could not be put back.',
    `They are safe in git: git diff ${base.tree}. See to the rights of the folder, then run Ralph again.`,
  )
}

function undone(repository: Repository, { path: name, from, to }: Difference): ChangedFile {
  return {
    path: fromTop(repository, name),
    how: to === null ? 'added' : from === null ? 'deleted' : 'modified',
  }
}
