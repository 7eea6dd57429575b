import { AsyncLocalStorage } from 'node:async_hooks'
import { setFileFault } from '../store/atomic-file.ts'
import { faultPoint } from './fault-point.ts'

const guards = new AsyncLocalStorage<() => void>()

/**
 * Runs `check` right before each file that `work` replaces or adds to: what it throws leaves the file as it is. An
 * engine may be frozen between its decision to write and the write itself, and wake up when another one has gone on.
 */
export function guardFiles<T>(check: () => void, work: () => Promise<T>): Promise<T> {
  setFileFault(() => {
    guards.getStore()?.()
    faultPoint('file')
  })
  return guards.run(check, work)
}
