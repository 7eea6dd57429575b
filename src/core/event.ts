import type { AttemptRow, Failure } from './failure.ts'
import type { ChangedFile, Outcome, Usage } from './outcome.ts'
import type { Task } from './task.ts'
import type { Workflow } from './workflow.ts'

/** The version of the event shapes below. An older journal is lifted to it when it is read (`upgradeEvent`). */
export const eventVersion = 1

export type Envelope = {
  v: number
  /** Milliseconds since the epoch. */
  at: number
  run: string
}

export type TaskEvent = Envelope & TaskEventBody

export type TaskEventBody =
  | { type: 'task.added'; task: Task }
  | { type: 'task.changed'; task: Task }
  | { type: 'task.removed' }
  /** The preset's own files say that it was done before this journal began. */
  | { type: 'task.recorded'; source: string }
  /** The preset's own files tell of attempts that failed before this journal began; they count. */
  | { type: 'task.continued'; source: string; history: AttemptRow[]; recent: Failure[] }
  /** Tries begin anew: a new run, or a person's `ralph retry`. `forget`: nothing of earlier attempts is told any more. */
  | { type: 'task.reopened'; why: string; forget?: true }
  | { type: 'task.cancelled'; why: string }
  | { type: 'task.steered'; text: string }
  /**
   * A person, or the preset's own files, put it at this stage. What was proven before stays proven, nothing more. `away`:
   * another task takes its place; what it left in the tree is from now on the user's. `work`: what lies in the tree now is
   * its work, whoever did it.
   */
  | { type: 'task.moved'; stage: string; source: string; away?: true; work?: FoundWork }
  | { type: 'step.started'; step: string; stage: string; base: Base }
  | { type: 'step.finished'; step: string; stage: string; outcome: Outcome }
  /** A start without a finish, found later. Never counts against the task. */
  | { type: 'step.interrupted'; step: string; why: string; kept: string | null }

/** What differs from where the task began: the tree, and the files that are part of the work. */
export type FoundWork = { tree: string; files: ChangedFile[]; more: number }

export type RunEvent = Envelope & RunEventBody

export type RunEventBody =
  | {
      type: 'run.started'
      workflow: Workflow
      verify: string[] | 'none'
      host: string
      pid: number
      options: Record<string, unknown>
    }
  | { type: 'run.finished'; reason: RunEnd; message: string }
  /** One reviewer's word on the whole change, once all tasks are done. */
  | ({ type: 'run.reviewed'; step: string; usage: Usage; ms: number } & WholeReview)
  | { type: 'run.paused'; by: string }
  | { type: 'run.resumed'; by: string }

/** From the commit `base` to `head`. */
export type WholeReview = {
  reviewer: number
  agent: string
  base: string
  head: string
  pass: boolean
  findings: string
}

/** Why a run ended. Only `complete` is exit code 0. */
export type RunEnd =
  | 'complete'
  | 'halted'
  | 'failed'
  | 'blocked'
  | 'budget'
  | 'held'
  | 'cancelled'
  | 'interrupted'
  | 'paused'
  | 'dry-run'
  | 'error'

export type AnyEvent = TaskEvent | RunEvent

/** Where a task or an attempt began. */
export type Base = {
  /** The commit that was checked out. */
  head: string
  /** The branch that was checked out; null when detached. */
  branch: string | null
  /** The content of the whole working tree, tracked and untracked. */
  tree: string
  /** The name it is kept under (a ref, where something would be lost otherwise); empty when it is only told. */
  snapshot: string
}

export function isRunEvent(event: AnyEvent): event is RunEvent {
  return event.type.startsWith('run.')
}
