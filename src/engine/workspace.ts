import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Base } from '../core/event.ts'
import { matchesAny } from '../core/glob.ts'
import type { ChangedFile, Violation } from '../core/outcome.ts'
import type { TreeReader } from '../gates/tree.ts'
import { archiveFailures } from '../git/archive-branches.ts'
import { auditPositions } from '../git/audit.ts'
import { addedLines, type Changes, changesBetween, patchBetween } from '../git/changes.ts'
import { withCleanCheckout } from '../git/clean-checkout.ts'
import { commitAside, commitPaths } from '../git/commit.ts'
import { dirtyFiles, dirtyRefusal } from '../git/dirty.ts'
import { enterBranch } from '../git/enter-branch.ts'
import { failureBranch } from '../git/failure-branch.ts'
import { fields, git } from '../git/git.ts'
import { clearOwnLocks } from '../git/leftovers.ts'
import { recordedSnapshots } from '../git/position.ts'
import type { Position } from '../git/position-type.ts'
import { realDir } from '../git/private-dir.ts'
import { pushBranch } from '../git/push-branch.ts'
import { type PutBackOptions, putBack, restorePaths } from '../git/put-back.ts'
import { readRefs } from '../git/refs.ts'
import { type Discovery, openRepository } from '../git/repository.ts'
import type { Repository } from '../git/repository-type.ts'
import { fromTop, toTop } from '../git/scope.ts'
import { advancePosition, forgetPositions, keepPosition, takePosition } from '../git/snapshot.ts'
import { diffTrees } from '../git/tree-diff.ts'
import { treeReader } from '../git/tree-reader.ts'
import { workCommit } from '../git/work-commit.ts'
import { type Worktrees, worktreesOf } from './worktrees.ts'

export type { Position } from '../git/position-type.ts'

/** What the engine wants of git, with the run's own rules about files built in. */
export type Workspace = {
  /**
   * Tracked files with uncommitted changes are the user's, but for those `underWay` (the work of an attempt that goes
   * on). Without his word (`inPlace`) there is no run with such files; with it no agent may change them. `adopt`: he mended
   * by hand what a task had left there, and all of it is that task's work.
   */
  claimUserFiles(options: { inPlace: boolean; underWay: string[]; adopt?: boolean }): Promise<void>
  position(): Promise<Position>
  /** The position for a step that follows the last look at once: only what Ralph wrote since is looked at again. */
  following(): Promise<Position>
  /** Ralph wrote these files. */
  wrote(paths: string[]): void
  /** Other programs may have changed files since the last look. */
  outdated(): void
  /** Where it stood when last looked at; good as long as only Ralph has worked here since. */
  known(): Promise<Position>
  /** Makes a position last, under `refs/ralph/<name>`. */
  keep(position: Position, name: string): Promise<Base>
  /** Takes away the locks that an engine which was killed has left on Ralph's own references. */
  clearOwnLocks(): Promise<void>
  /** Lets go of all kept positions but these. */
  forgetAllBut(snapshots: Set<string>): Promise<void>
  /** What changed by content, the engine's own files included. */
  changes(from: Base | Position, to: Position): Promise<Changes>
  addedLines(from: Position, to: Position, paths: string[]): Promise<Map<string, string[]>>
  /** Writes the difference to a file, for people to read, while the work goes on; `settled` waits for it. */
  writeDiff(from: Position, to: Position, file: string): void
  settled(): Promise<void>
  /** `earlier`: files that earlier stages of the same attempt left uncommitted. */
  audit(from: Position, to: Position, earlier: string[]): Promise<Violation[]>
  /** Puts everything but the engine's own files back; the ref that keeps the undone work, or null when there was none. */
  putBack(base: Base, name: string): Promise<string | null>
  /**
   * The same for a whole attempt, each step of which was looked at: references other than the branch, and the files
   * `theirs`, differ only where a person changed them, and stay.
   */
  putBackAttempt(base: Base, name: string, theirs: string[]): Promise<string | null>
  /** Where the branch stands this moment. */
  head(): Promise<{ head: string; branch: string | null }>
  restorePaths(base: Base, paths: string[]): Promise<void>
  /** The same between two trees, whatever the working tree is now. */
  changedBetween(from: string, to: string): Promise<ChangedFile[]>
  /** Whether two trees differ in nothing but the engine's own and the protected files. */
  sameContent(a: string, b: string): Promise<boolean>
  /** Those of these files that the user has git ignore. */
  ignored(paths: string[]): Promise<Set<string>>
  /** Commits the working-tree content of exactly these paths; null when there is nothing to commit. */
  commit(paths: string[], message: string, head: string): Promise<string | null>
  /** Puts failed work on a branch of its own: what the attempt changed, and nothing else of the folder. */
  failureBranch(failed: {
    task: string
    at: number
    base: Base
    kept: string | null
    message: string
    /** Added to what the attempt changed, by path. */
    files: Record<string, string>
  }): Promise<string>
  /** Renames the branches of failures that are past; their new names. `tasks` is asked only when there are any. */
  archiveFailures(tasks: () => Promise<string[]>): Promise<string[]>
  /** Null when it worked, else why not. */
  push(remote: string, branch: string): Promise<string | null>
  /** Makes a branch the current one without touching a file; false when it was already. */
  enterBranch(position: Position, name: string): Promise<boolean>
  /** Runs `work` in a checkout of HEAD with these files as they lie here now, and nothing else. */
  inCleanCheckout<T>(
    from: { paths: string[]; head: string; name: string },
    work: (folder: string) => Promise<T>,
  ): Promise<T>
  /** The files of a stored tree. */
  reader(tree: string): TreeReader
  worktrees: Worktrees<Workspace>
  /** Who commits here, by the user's own configuration. */
  identity: { name: string; email: string }
}

/** Within this many milliseconds of the last look, nothing but Ralph itself is expected to have changed anything. */
const justNow = 1_000

export async function openWorkspace(options: {
  root: string
  home: string
  /** Globs only the engine writes. */
  owned: string[]
  protect: string[]
  /** The engine's own files outside its folder: state, progress, log. */
  files: string[]
  /** An engine was cut off here: the repository may be in any state until its step is put back. */
  recovering: boolean
  /** What was asked of git ahead of time. */
  discovered?: Discovery
  /** Another folder of the same repository, whose helpers will do. */
  like?: Repository
  /** Throws when it is no longer ours to work here. Asked before each git call: a putting back makes many. */
  mayWork: () => Promise<void>
}): Promise<Workspace> {
  const { root, home, owned, protect, recovering } = options
  const repository = await openRepository(root, {
    scratch: home,
    own: options.files,
    recovering,
    busy: options.like === undefined,
    ...(options.discovered ? { discovered: options.discovered } : {}),
  })
  const { like } = options
  if (like) Object.assign(repository, { runner: like.runner, trees: like.trees })
  const { runner } = repository
  if (runner && !like)
    repository.runner = {
      run: async call => {
        await options.mayWork()
        return runner.run(call)
      },
    }
  let userFiles: string[] = []
  let last: Position | null = null
  const written = new Set<string>()
  const look = async () => {
    written.clear()
    last = await takePosition(repository)
    return last
  }
  let pending: Promise<unknown> = Promise.resolve()
  const settled = async () => {
    await pending
  }
  const ref = (name: string) => `refs/ralph/${name}`
  const changedBetween = async (from: string, to: string): Promise<ChangedFile[]> => {
    if (from === to) return []
    return (await diffTrees(repository, from, to)).map(({ path, from: before, to: after }) => ({
      path: fromTop(repository, path),
      how: before === null ? 'added' : after === null ? 'deleted' : 'modified',
    }))
  }

  const putAllBack = async (base: Base, name: string, options: Omit<PutBackOptions, 'keepAs'>) => {
    const { kept, position } = await putBack(repository, base, { keepAs: ref(name), ...options })
    last = position
    if (kept !== null) return kept
    // An engine that was cut off before it could tell has kept the work already.
    const there = await git(realDir(repository), ['show-ref', '--verify', '-q', ref(name)])
    return there.code === 0 ? ref(name) : null
  }

  return {
    claimUserFiles: async ({ inPlace, underWay, adopt }) => {
      const dirty = await dirtyFiles(repository, { ignore: [...owned, ...protect] })
      userFiles = adopt ? [] : dirty.filter(file => !underWay.includes(file))
      if (userFiles.length > 0 && !inPlace) throw dirtyRefusal(userFiles)
    },
    position: look,
    following: async () => {
      // A user's edit in between would be taken for the agent's; so would one while the agent runs.
      if (!last || Date.now() - last.at > justNow) return look()
      last = await advancePosition(repository, last, [...written])
      written.clear()
      return last
    },
    wrote: paths => {
      for (const path of paths) if (path !== '') written.add(path)
    },
    outdated: () => {
      last = null
    },
    known: async () => last ?? look(),
    keep: async (position, name) => {
      // What belongs to one step is written before the next begins.
      await settled()
      return keepPosition(repository, position, ref(name))
    },
    clearOwnLocks: () => clearOwnLocks(repository),
    forgetAllBut: async snapshots => {
      const old = recordedSnapshots(repository).filter(name => !snapshots.has(name))
      if (old.length > 0) await forgetPositions(repository, old)
    },
    changes: (from, to) => changesBetween(repository, from, to),
    addedLines: (from, to, paths) => addedLines(repository, from, to, paths),
    writeDiff: (from, to, file) => {
      const writing = patchBetween(repository, from, to).then(patch => writeFileSync(file, patch))
      const all = Promise.all([pending, writing])
      all.catch(() => undefined)
      pending = all
    },
    settled,
    audit: (from, to, earlier) =>
      auditPositions(repository, from, to, { tolerated: [...owned, ...protect, ...earlier], userFiles }),
    putBack: (base, name) => putAllBack(base, name, { exclude: owned }),
    putBackAttempt: (base, name, theirs) =>
      putAllBack(base, name, { exclude: [...owned, ...theirs], refs: 'branch' }),
    head: () => readRefs(repository),
    restorePaths: (base, paths) => {
      last = null
      return restorePaths(repository, base, paths)
    },
    changedBetween,
    sameContent: async (a, b) =>
      (await changedBetween(a, b)).every(file => matchesAny(file.path, [...owned, ...protect])),
    ignored: async paths => {
      if (paths.length === 0) return new Set()
      const stdin = paths.map(path => `${toTop(repository, path)}\0`).join('')
      // It takes names as they are and refuses to be told so.
      const env = { GIT_LITERAL_PATHSPECS: '0' }
      const { code, stdout, stderr } = await git(realDir(repository), ['check-ignore', '-z', '--stdin'], {
        ...{ stdin, env },
      })
      // 1: none of them.
      if (code > 1) throw new Error(`git check-ignore: ${stderr.trim()}`)
      return new Set(fields(stdout).map(path => fromTop(repository, path)))
    },
    commit: async (paths, message, head) => {
      last = null
      return (await commitPaths(repository, { paths, message, head })).commit
    },
    failureBranch: async ({ task, at, ...work }) =>
      failureBranch(repository, task, new Date(at), await workCommit(repository, work)),
    archiveFailures: tasks => archiveFailures(repository, tasks),
    push: (remote, branch) => pushBranch(repository, remote, branch),
    enterBranch: (position, name) => {
      last = null
      return enterBranch(repository, position, name)
    },
    inCleanCheckout: async ({ paths, head, name }, work) => {
      const input = { paths, message: 'Ralph: to be checked', head }
      const commit = paths.length > 0 ? ((await commitAside(repository, input)).commit ?? head) : head
      const place = join(home, 'clean', name.replaceAll('/', '-'))
      return withCleanCheckout(repository, { commit, place }, work)
    },
    reader: tree => treeReader(repository, tree),
    identity: repository.settings.identity,
    worktrees: worktreesOf(repository, {
      openFolder: (folder, itsHome, cutOff) =>
        openWorkspace({
          ...{ root: folder, home: itsHome, recovering: cutOff, protect, mayWork: options.mayWork },
          // The preset's own files are not at home there: what lies there is only a copy, and nobody's to change.
          ...{ owned: [], files: [], like: repository },
        }),
      changed: () => {
        last = null
      },
    }),
  }
}
