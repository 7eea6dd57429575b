import { proofOf } from '../core/evidence.ts'
import { isBegun } from '../core/select.ts'
import type { TaskState } from '../core/state.ts'

/** The parts of a state that are kept beside it, to be found by an index. */
export type TaskColumns = { status: string; begun: number; wait_until: number; needs: string; proof: string }

export function taskColumns(state: TaskState): TaskColumns {
  return {
    status: state.status,
    begun: isBegun(state) ? 1 : 0,
    wait_until: state.waitUntil,
    needs: JSON.stringify(state.task.needs),
    proof: state.status === 'done' ? proofOf(state.evidence) : '',
  }
}

export function sameColumns(a: TaskColumns, b: TaskColumns): boolean {
  const names: (keyof TaskColumns)[] = ['status', 'begun', 'wait_until', 'needs', 'proof']
  return names.every(name => a[name] === b[name])
}
