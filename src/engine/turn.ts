import type { RunEnd } from '../core/event.ts'

export type RunResult = { reason: RunEnd; message: string }

/** What one turn of the loop came to. */
export type Turn =
  | { type: 'step'; task: string }
  | { type: 'wait'; until: number; why: string }
  | { type: 'end'; result: RunResult }
