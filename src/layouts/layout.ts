import type { TaskEvent } from '../core/event.ts'
import type { TaskState } from '../core/state.ts'
import type { Task } from '../core/task.ts'

/** Adapter for one on-disk format: reads the backlog, writes the preset's own files. One file per format. */
export interface Layout {
  name: string
  /** Paths and globs, from the project root, that only the engine writes. An agent's edit of them is undone and fails the attempt. */
  owned: string[]
  /** The files among these that carry state: they must be byte for byte the same after an agent call as before it. */
  state: string[]
  /** What must exist before a run, in the order it is checked (S4-63). */
  prerequisites(project: Project): Problem[]
  read(project: Project): Backlog
  /** The spec's text as it goes into the prompt, whole. */
  spec(project: Project, task: Task): string
  /** Brings the preset's own files up to date. Idempotent: derived from the journal, safe to repeat after a crash at any point. */
  write(project: Project, journal: JournalView): Promise<void>
  /** Ids the preset's own files record as done; used when the journal knows nothing of them. */
  recorded(project: Project): { id: string; source: string }[]
  /** Problems of the backlog with file and line, for `ralph validate`. */
  validate(project: Project): Problem[]
}

export type Project = { root: string; settings: Record<string, unknown> }

export type Backlog = {
  tasks: Task[]
  /** Ids the backlog lists although no spec exists for them. */
  missing: string[]
  problems: Problem[]
}

export type Problem = {
  severity: 'error' | 'warning'
  file: string
  line: number | null
  message: string
  fix: string
}

/** What a layout may know of the journal while it writes. */
export type JournalView = {
  /** Every task of the journal, removed ones too, in rank order. */
  tasks: TaskState[]
  /** Events since the last write, oldest first, each with the fold of its task right after it. */
  events: { task: string; event: TaskEvent; after: TaskState }[]
  /** Tries per task of the run under way, for `(attempt 2/3)`. */
  attempts: number
}
