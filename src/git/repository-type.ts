import type { IndexEntry } from './index-file.ts'
import type { Start } from './position-type.ts'
import type { Runner } from './runner.ts'
import type { Settings } from './settings.ts'
import type { Trees } from './tree-object.ts'

/** A project folder in a git repository. Paths in and out of this area are relative to `root`, with `/`. */
export type Repository = {
  /** The project: the top of the worktree or a folder below it. Only what lies in it is looked at. */
  root: string
  top: string
  /** From `top` to `root`: empty, or ending in a slash. */
  prefix: string
  gitDir: string
  /** The same as `gitDir`, but in a linked worktree that of the main one. */
  commonDir: string
  objectFormat: string
  /** As it was when the repository was opened. `head` is empty only in recovery: a branch without a commit. */
  head: string
  branch: string | null
  /** Ralph's own folder; never part of a snapshot. */
  scratch: string
  /** Files of the engine beside it, from `root`. While git does not track them they are not part of a snapshot either. */
  own: string[]
  /** Starts git quicker than this process can; null where a few calls are all. */
  runner: Runner | null
  settings: Settings
  /** The objects, as far as they can be had without a git process. */
  trees: Trees
  cache: RepositoryCache
}

/** What is known from earlier calls and saves git processes. Losing it costs time, nothing else. */
export type RepositoryCache = {
  /** The tree of the private index, and how its file looked when we left it. */
  tree: string | null
  indexIdentity: string | null
  /** The user's index, and how the file looked. */
  userIndex: { identity: string; hash: string; mtimeMs: number; bytes: Buffer } | null
  /** Files that are tracked in spite of an ignore rule, for the user's index with this hash; `there`: when last seen. */
  forced: { hash: string; paths: string[]; there: string[] } | null
  /** The private index as it was read from or written to the file that looked so. */
  model: { identity: string; entries: Map<string, IndexEntry> } | null
  /** The names in the user's index with this hash. */
  trackedNames: { hash: string; names: string[] } | null
  /** The index that commits are made in: the commit it stands for, and how its file looked. */
  commitIndex: { commit: string; identity: string | null } | null
  headTrees: Map<string, string>
  /** Answers that cannot change: what differs between two objects. */
  memo: Map<string, Promise<unknown>>
  /** The last starts by their snapshot: nobody can change or delete these. */
  starts: Map<string, Start>
  queue: Promise<unknown>
}
