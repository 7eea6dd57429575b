import { isBegun } from '../core/select.ts'
import type { TaskState } from '../core/state.ts'

/** The parts of a state that are kept beside it, to be found by an index. */
export type TaskColumns = { status: string; begun: number; wait_until: number; needs: string }

export function taskColumns(state: TaskState): TaskColumns {
  return {
    status: state.status,
    begun: isBegun(state) ? 1 : 0,
    wait_until: state.waitUntil,
    needs: JSON.stringify(state.task.needs),
  }
}

export function sameColumns(a: TaskColumns, b: TaskColumns): boolean {
  return a.status === b.status && a.begun === b.begun && a.wait_until === b.wait_until && a.needs === b.needs
}
