import { join } from 'node:path'
import type { Base } from '../core/event.ts'
import { matchesAny } from '../core/glob.ts'
import type { ChangedFile, Violation } from '../core/outcome.ts'
import type { TreeReader } from '../gates/tree.ts'
import { auditPositions } from '../git/audit.ts'
import { addedLines, type Changes, changesBetween, patchBetween } from '../git/changes.ts'
import { withCleanCheckout } from '../git/clean-checkout.ts'
import { commitAside, commitPaths } from '../git/commit.ts'
import { dirtyFiles, dirtyRefusal } from '../git/dirty.ts'
import { enterBranch } from '../git/enter-branch.ts'
import { failureBranch } from '../git/failure-branch.ts'
import { git } from '../git/git.ts'
import { type Position, recordedSnapshots } from '../git/position.ts'
import { realDir } from '../git/private-dir.ts'
import { putBack, restorePaths } from '../git/put-back.ts'
import { openRepository } from '../git/repository.ts'
import { fromTop } from '../git/scope.ts'
import { advancePosition, forgetPositions, keepPosition, takePosition } from '../git/snapshot.ts'
import { diffTrees } from '../git/tree-diff.ts'
import { treeReader } from '../git/tree-reader.ts'
import { workCommit } from '../git/work-commit.ts'

export type { Position } from '../git/position.ts'

/** What the engine wants of git, with the run's own rules about files built in. */
export type Workspace = {
  /**
   * Tracked files with uncommitted changes are the user's, but for those `underWay` (the work of an attempt that goes
   * on). Without his word (`inPlace`) there is no run with such files; with it no agent may change them.
   */
  claimUserFiles(options: { inPlace: boolean; underWay: string[] }): Promise<void>
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
  /** Lets go of all kept positions but these. */
  forgetAllBut(snapshots: Set<string>): Promise<void>
  /** What changed by content, the engine's own files included. */
  changes(from: Base | Position, to: Position): Promise<Changes>
  addedLines(from: Position, to: Position, paths: string[]): Promise<Map<string, string[]>>
  diff(from: Position, to: Position): Promise<string>
  /** `earlier`: files that earlier stages of the same attempt left uncommitted. */
  audit(from: Position, to: Position, earlier: string[]): Promise<Violation[]>
  /** Puts everything but the engine's own files back; the ref that keeps the undone work, or null when there was none. */
  putBack(base: Base, name: string): Promise<string | null>
  restorePaths(base: Base, paths: string[]): Promise<void>
  /** The same between two trees, whatever the working tree is now. */
  changedBetween(from: string, to: string): Promise<ChangedFile[]>
  /** Whether two trees differ in nothing but the engine's own and the protected files. */
  sameContent(a: string, b: string): Promise<boolean>
  /** Commits the working-tree content of exactly these paths; null when there is nothing to commit. */
  commit(paths: string[], message: string, head: string): Promise<string | null>
  /** Puts failed work on a branch of its own: what the attempt changed, and nothing else of the folder. */
  failureBranch(failed: {
    task: string
    at: number
    base: Base
    kept: string
    message: string
  }): Promise<string>
  /** Makes a branch the current one without touching a file; false when it was already. */
  enterBranch(position: Position, name: string): Promise<boolean>
  /** Runs `work` in a checkout of HEAD with these files as they lie here now, and nothing else. */
  inCleanCheckout<T>(
    from: { paths: string[]; head: string; name: string },
    work: (folder: string) => Promise<T>,
  ): Promise<T>
  /** The files of a stored tree. */
  reader(tree: string): TreeReader
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
  /** Throws when it is no longer ours to work here. Asked before each git call: a putting back makes many. */
  mayWork: () => Promise<void>
}): Promise<Workspace> {
  const { root, home, owned, protect, recovering } = options
  const repository = await openRepository(root, { scratch: home, own: options.files, recovering, busy: true })
  const { runner } = repository
  if (runner)
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
  const ref = (name: string) => `refs/ralph/${name}`
  const changedBetween = async (from: string, to: string): Promise<ChangedFile[]> => {
    if (from === to) return []
    return (await diffTrees(repository, from, to)).map(({ path, from: before, to: after }) => ({
      path: fromTop(repository, path),
      how: before === null ? 'added' : after === null ? 'deleted' : 'modified',
    }))
  }

  return {
    claimUserFiles: async ({ inPlace, underWay }) => {
      const dirty = await dirtyFiles(repository, { ignore: [...owned, ...protect] })
      userFiles = dirty.filter(file => !underWay.includes(file))
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
    keep: (position, name) => keepPosition(repository, position, ref(name)),
    forgetAllBut: async snapshots => {
      const old = recordedSnapshots(repository).filter(name => !snapshots.has(name))
      if (old.length > 0) await forgetPositions(repository, old)
    },
    changes: (from, to) => changesBetween(repository, from, to),
    addedLines: (from, to, paths) => addedLines(repository, from, to, paths),
    diff: (from, to) => patchBetween(repository, from, to),
    audit: (from, to, earlier) =>
      auditPositions(repository, from, to, { tolerated: [...owned, ...protect, ...earlier], userFiles }),
    putBack: async (base, name) => {
      const { kept, position } = await putBack(repository, base, { keepAs: ref(name), exclude: owned })
      last = position
      if (kept !== null) return kept
      // An engine that was cut off before it could tell has kept the work already.
      const there = await git(realDir(repository), ['show-ref', '--verify', '-q', ref(name)])
      return there.code === 0 ? ref(name) : null
    },
    restorePaths: (base, paths) => {
      last = null
      return restorePaths(repository, base, paths)
    },
    changedBetween,
    sameContent: async (a, b) =>
      (await changedBetween(a, b)).every(file => matchesAny(file.path, [...owned, ...protect])),
    commit: async (paths, message, head) => {
      last = null
      return (await commitPaths(repository, { paths, message, head })).commit
    },
    failureBranch: async ({ task, at, base, kept, message }) =>
      failureBranch(repository, task, new Date(at), await workCommit(repository, { base, kept, message })),
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
  }
}
