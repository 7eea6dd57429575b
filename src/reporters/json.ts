import type { Reporter } from './reporter.ts'

/** Events as JSON lines, for programs. */
export function jsonReporter(write: (line: string) => void): Reporter {
  const print = (value: unknown) => write(`${JSON.stringify(value)}\n`)
  return {
    event: (event, { stream, state }) =>
      print({ ...event, task: state ? stream : undefined, status: state?.status }),
    note: note => print({ type: 'note', ...note }),
    output: (task, event) => print({ ...event, type: `agent.${event.type}`, task }),
  }
}
