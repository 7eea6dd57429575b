import type { Fault, FaultKind } from '../core/outcome.ts'
import { oneLine } from '../core/text.ts'

/** An `error` event, as far as a fault depends on it. */
export type OpencodeError = {
  name: string
  message: string
  status: number | null
  /** The body of the server's answer. */
  answer: string
  /** When the server said it may be asked again, in milliseconds since the epoch. */
  until: number | null
}

/** How the run stood when the process ended. */
export type OpencodeRun = {
  step: 'none' | 'open' | 'finished'
  /** Why the last step ended. */
  reason: string
  /** The tool that nobody was there to permit. */
  rejected: string
  error: OpencodeError | null
}

/** What the events say went wrong. The exit code says little: 0 for an answer that was cut and for a refused tool. */
export function endFault(run: OpencodeRun, log: string, endedWell: boolean): Fault | null {
  if (run.error) return errorFault(run.error, log)
  if (run.step === 'finished' && run.reason === 'length')
    return { kind: 'crash', message: 'The answer was cut at the output token maximum' }
  if (run.step === 'finished' && run.reason === 'content-filter')
    return { kind: 'crash', message: 'The answer was stopped by a content filter' }
  if (!endedWell) return null
  // After a call that was not permitted it ends at once, with an exit code of 0.
  if (run.rejected && run.reason === 'tool-calls')
    return {
      kind: 'permission',
      message: `Agent was not permitted to use ${oneLine(run.rejected, 100)} and stopped`,
    }
  return run.step === 'open' ? { kind: 'crash', message: 'Agent ended in the middle of a step' } : null
}

function errorFault(error: OpencodeError, log: string): Fault {
  const unknown = unknownModel(log)
  if (error.name === 'UnknownError' && unknown) return { kind: 'auth', message: unknown }
  const kind = kindOf(error)
  const message = oneLine(error.message, 400) || `Agent ended with an error (${error.name || 'no name'})`
  return kind === 'limit' && error.until !== null ? { kind, message, until: error.until } : { kind, message }
}

/** The event says only "Unexpected server error"; the log says which model it does not know. */
function unknownModel(log: string): string | null {
  const name = /model not found: ([^\s"')]+)/iu.exec(log)?.[1]
  return name === undefined
    ? null
    : `Model not found: ${oneLine(name.replace(/\.$/u, ''), 100)} (unknown, or no login for its provider)`
}

function kindOf({ name, message, status, answer }: OpencodeError): FaultKind {
  const said = `${message} ${answer}`
  // These count against the task: the same prompt would end in the same way.
  if (['ContextOverflowError', 'MessageOutputLengthError', 'MessageAbortedError'].includes(name))
    return 'crash'
  if (name === 'ProviderAuthError') return 'auth'
  // An empty purse does not fill by waiting.
  if (/insufficient[_ ](?:quota|credits|balance)|credit balance|billing/iu.test(said)) return 'auth'
  if (status === 429 || /UsageLimitError|rate[_ ]limit/iu.test(said)) return 'limit'
  if (status !== null && [401, 402, 403, 404].includes(status)) return 'auth'
  if (status !== null) return status >= 500 || status === 408 ? 'infrastructure' : 'crash'
  return /connect|network|socket|fetch failed|terminated|time(?:d )?out|ECONN|ENOTFOUND|EAI_AGAIN|overloaded/iu.test(
    said,
  )
    ? 'infrastructure'
    : 'crash'
}
