import type { Base } from '../core/event.ts'
import type { ChangedFile } from '../core/outcome.ts'

/** Where a repository stands at one moment: everything an attempt could change and that can be put back. */
export type Position = {
  /** Milliseconds since the epoch, taken before anything was read. */
  at: number
  /** Empty when the branch has no commit. */
  head: string
  branch: string | null
  /** The content of the project folder, byte for byte, tracked and untracked. */
  tree: string
  /** Branches, tags, stash and notes. */
  refs: Map<string, string>
  /** Those that other worktrees work on. */
  foreign: Set<string>
  /** The list of stash entries, which is more than the reference `refs/stash`. */
  stashLog: string | null
  index: UserIndex | null
  unstored: Unstored
  /** A merge, rebase, … that waits to be finished. */
  unfinished: string | null
  /** The user's ignore rules at that time. */
  excludes: string
  /** What `refs/ralph/…` already keeps. */
  kept: Set<string>
  delta: WorkingTree['delta']
}

/** A recorded start, or the little that a `Base` alone tells when the record is lost. */
export type Start = { base: Base; position: Position | null; indexBytes: Buffer | null }

/** The user's index as bytes: what he staged, put back exactly. */
export type UserIndex = {
  /** Hash of the bytes. */
  hash: string
  /** git compares it with the times of the files to know which of them it cannot trust. */
  mtimeMs: number
}

/** The content of the project folder: tracked files and untracked ones that are not ignored. */
export type WorkingTree = {
  tree: string
  unstored: Unstored
  /** The changes since the tree before, when they are known without asking git. */
  delta: { from: string; files: ChangedFile[] } | null
}

/** What is seen but not stored: untracked files that are very large or cannot be read, and repositories within this one. */
export type Unstored = Map<
  string,
  { kind: 'large' | 'unreadable' | 'repository'; size: number; mtimeMs: number }
>
