import { errorText } from '../core/errors.ts'
import type { Reporter } from './reporter.ts'

/** Many listeners as one. A listener that throws is dropped and named once; it cannot break the run. */
export function multiplex(reporters: Reporter[], onFailure: (text: string) => void): Required<Reporter> {
  const alive = new Set(reporters)
  const each = (call: (reporter: Reporter) => void) => {
    for (const reporter of alive) {
      try {
        call(reporter)
      } catch (error) {
        alive.delete(reporter)
        onFailure(`a view failed and was switched off: ${errorText(error)}`)
      }
    }
  }
  return {
    event: (event, context) => each(one => one.event?.(event, context)),
    note: note => each(one => one.note?.(note)),
    output: (task, event) => each(one => one.output?.(task, event)),
    commandOutput: (task, line) => each(one => one.commandOutput?.(task, line)),
    end: async () => {
      for (const reporter of alive) await reporter.end?.()
    },
  }
}
