import type { AgentEvent } from '../agents/agent.ts'
import type { AnyEvent } from '../core/event.ts'
import type { RunState } from '../core/run.ts'
import type { TaskState } from '../core/state.ts'

/** One event stream, many listeners. Every method is optional; a reporter that fails is dropped, never the run. */
export interface Reporter {
  /** An event was written to the journal; `state` is the fold after it. */
  event?(event: AnyEvent, context: { stream: string; state: TaskState | null; run: RunState }): void
  /** Something worth a line that is not an event: a warning, a wait, a progress message. */
  note?(note: Note): void
  /** What the running agent says, as it comes. */
  output?(task: string, event: AgentEvent): void
  /** Raw output of a gate command, as it comes. */
  commandOutput?(task: string, line: string): void
  end?(): Promise<void> | void
}

export type Note = { level: 'info' | 'warning' | 'error'; text: string }
