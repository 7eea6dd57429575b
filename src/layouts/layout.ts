import type { AnyEvent, RunEnd, TaskEvent } from '../core/event.ts'
import type { Violation } from '../core/outcome.ts'
import type { PromptFacts, Values } from '../core/prompt.ts'
import type { RunState } from '../core/run.ts'
import type { AttemptRow, Failure, TaskState } from '../core/state.ts'
import type { Task } from '../core/task.ts'
import type { Rules, Workflow } from '../core/workflow.ts'

/**
 * Adapter for one on-disk format: reads the backlog, writes the preset's own files, knows what an agent may write in
 * them. One file per format. What is optional is asked for only where the format has it.
 */
export interface Layout {
  name: string
  /**
   * Paths and globs, from the project root, that are no part of the work: never committed as such, never put back. What
   * among them only the engine writes stands in `state`.
   */
  owned: string[]
  /** The files that carry state: they must be byte for byte the same after an agent call as before it. */
  state: string[] | ((project: Project) => string[])
  /** Globs of files that no agent may change, whatever the configuration says. */
  protects?(project: Project): string[]
  /** The layout as this project has it, where its settings say which files are meant. */
  forProject?(project: Project): Layout
  /** What must exist before a run, in the order it is checked (S4-63). */
  prerequisites(project: Project): Problem[]
  read(project: Project): Backlog
  /** The spec's text as it goes into the prompt, whole. */
  spec(project: Project, task: Task): string
  /** Brings the preset's own files up to date. Idempotent: derived from the journal, safe to repeat after a crash at any point. */
  write(project: Project, journal: JournalView): Promise<void>
  /** What the preset's own files record; used for tasks that the journal has never seen. */
  recorded(project: Project): Recorded[]
  /** Failed attempts that the preset's own files tell of; they count for tasks that the journal has never seen. */
  continued?(project: Project): Continued[]
  /** What an earlier loop left unfinished, in words: whether to go on with it or to begin afresh is then asked. */
  leftover?(project: Project): string | null
  /** Problems of the backlog with file and line, for `ralph validate`. */
  validate(project: Project): Problem[]

  /** The prompt templates by name, as a project has them that overrides none. */
  templates: Record<string, string>
  /** A file of the project, from its root, that stands for a template, besides `prompts/<name>.md`. */
  template?(project: Project, name: string): string | null
  /** The template as it is to be filled in: what the project's own one leaves out, or says in the seed's way, is seen to. */
  compose?(project: Project, template: string, stage: string): string
  /** What its templates can say besides the common values. `journal`: where all tasks stand. */
  values?(project: Project, facts: PromptFacts, about: PromptAbout): Values

  /** The workflow as the preset's own configuration file has it. Throws a UserError that names the key. */
  configure?(project: Project, workflow: Workflow): Workflow
  /** Verify commands that the backlog's own files name. */
  verify?(project: Project): string[] | null
  /** The tasks that are meant when nothing else is said; null = all. */
  scope?(project: Project): Set<string> | null

  /**
   * Files, from the root, that the agent of this stage is meant to write, though they are no part of the work or though
   * it only reads: a report, its mark in the backlog. What it wrote there is a proposal for `judge`.
   */
  outputs?(project: Project, task: Task, stage: string): string[]
  /** Judges what an agent left in its outputs. Pure reading: the engine puts back what is not admitted. */
  judge?(project: Project, proposal: Proposal): Judgement
  /** The backlog may change with every step, because agents may write in it: it is read anew after each. */
  growing?: boolean
  /** Files that go into the commit that settles a task, once they are written. */
  commits?(project: Project, task: Task): string[]
  /** What stands in the subject of that commit for `{name}`, besides `{id}` and `{title}`. */
  commitValues?(project: Project, task: Task): Record<string, string>

  /** Where a person's edit of the preset's own files has put tasks since they were last written. */
  moves?(project: Project, journal: JournalView): Move[]
  /** A mark for other programs that a loop is at work here (`.ralph.lock`). Written with the lease, taken away with it. */
  lock?: LockFile
  /**
   * What is asked for begins here: its files are not there yet, or are to be made anew. No earlier run is gone on with,
   * and where the setting up is a step of its own, this is it.
   */
  begins?(project: Project): boolean
  /** When the preset's own files say that there is nothing to do: what to print instead of a step, and how to exit. */
  standing?(project: Project, journal: JournalView): { text: string; exit: 0 | 1 } | null
  /** What the seed prints for an event, word for word, in place of Ralph's own line; null = nothing, undefined = Ralph's own. */
  print?(project: Project, event: AnyEvent, view: PrintView): string | null | undefined
  /** The last words of a run, once its end is on record; null = none. */
  closing?(project: Project, journal: JournalView): string | null
  /** What goes with the work of a task that was given up onto its branch; Ralph's own words stand in for it. */
  failed?(about: { state: TaskState; rules: Rules }): FailedWork
  /** The text for an agent that is to execute the next step itself (`ralph step --as-instructions`). */
  instructions?(project: Project, journal: JournalView): string
  /** The preset's own summary in Markdown, for `ralph report`; Ralph's own stands in for it. */
  report?(project: Project, journal: JournalView): string
  /** What `ralph init` writes for a new project. Files that are there already are never touched. */
  skeleton(project: Project, options: SkeletonOptions): Skeleton
  /**
   * Rules of the scripted agent that lead an example through the stages honestly: `ralph run --agent scripted` plays them
   * to show the way of working without a model.
   */
  rehearsal?: unknown[]
  /** `ralph new`: writes a valid skeleton of a task and returns its path from the root. */
  create?(project: Project, task: { id: string; title: string }): string
}

/** `settings`: what the command line and the configuration say to a layout; each knows its own names. */
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

/** `stage`: the work was begun and stands there; without it the task is done. */
export type Recorded = { id: string; source: string; stage?: string }

export type Continued = { id: string; source: string; history: AttemptRow[]; recent: Failure[] }

/** `files`: by path from the root, added to what the attempts changed. */
export type FailedWork = { message: string; files: Record<string, string> }

/** `away`: another task takes its place, and what it left in the tree is no longer its own. */
export type Move = { id: string; stage: string; source: string; away?: true }

/** What a layout may know of the journal while it writes. */
export type JournalView = {
  /** Every task of the journal, removed ones too, in rank order. */
  tasks: TaskState[]
  /** Events since the last write, oldest first, each with the fold of its task right after it. */
  events: { task: string; event: TaskEvent; after: TaskState }[]
  /** Tries per task of the run under way, for `(attempt 2/3)`. */
  attempts: number
  rules: Rules
  /** The run under way, or the last one. */
  run: RunState
  /** How the run ended; null while it goes on. */
  end: RunEnd | null
  now: number
}

export type PrintView = { state: TaskState | null; run: RunState; rules: Rules }

export type PromptAbout = { state: TaskState; rules: Rules; stage: string }

export type Proposal = {
  state: TaskState
  stage: string
  rules: Rules
  /** The outputs before the agent ran, byte for byte; null = was not there. */
  before: ReadonlyMap<string, Buffer | null>
  after: ReadonlyMap<string, Buffer | null>
  /** Written during this step, even if with the same content. */
  fresh: ReadonlySet<string>
}

export type Judgement = {
  verdict: 'pass' | 'fail' | 'unclear'
  reason: string
  violations: Violation[]
  /** Outputs that are put back to what they were before. */
  restore: string[]
}

export type LockFile = {
  file: string
  /** The content; `now` in milliseconds. */
  text(project: Project, info: { pid: number; now: number }): string
  /** The process that holds it, by what stands in the file; null when it says nothing. */
  holder(text: string): number | null
  /** What to tell whoever finds it held by a living process. */
  refusal(pid: number): string
}

/** `name`: of the feature, as the user gave it; may be empty. `date`: YYYY-MM-DD. */
export type SkeletonOptions = { name: string; date: string; verify: string[] | null; agents: string[] }

/**
 * `about`: the way of working in one line. `ignore`: lines that .gitignore must have. `next`: what the user has to do before
 * `ralph validate` and `ralph run`.
 */
export type Skeleton = { about: string; files: Record<string, string>; ignore?: string[]; next: string[] }

export function stateFiles(layout: Layout, project: Project): string[] {
  return typeof layout.state === 'function' ? layout.state(project) : layout.state
}
