import type { Fault, FaultKind } from '../core/outcome.ts'
import { oneLine } from '../core/text.ts'

/** What a `session.error` event says, with the provider's own code where one was told. */
export type CopilotError = { type: string; code: string; status: number | null; message: string }

export function errorFault(error: CopilotError): Fault {
  // How long it has tried is no news, and the seconds in it are not the time of a reset.
  const said = error.message.replace(
    /^Failed to get response from the AI model; retried .*? Last error: /su,
    '',
  )
  return {
    kind: errorKind(error, said),
    message: oneLine(said, 400) || 'Agent ended with an error (no reason given)',
  }
}

function errorKind({ type, code, status }: CopilotError, said: string): FaultKind {
  // The same prompt would end in the same way: it counts against the task.
  if (type === 'context_limit' || code === 'context_length_exceeded' || tooLong.test(said)) return 'crash'
  // An empty purse does not fill by waiting; the month's allowance does.
  if (code === 'insufficient_quota' || code === 'billing_not_configured') return 'auth'
  if (type === 'rate_limit' || type === 'quota' || status === 429) return 'limit'
  if (['authentication', 'authorization', 'policy'].includes(type)) return 'auth'
  // An unknown model is the account's matter too: only a person can mend it.
  if (status !== null && [401, 402, 403, 404].includes(status)) return 'auth'
  if (status !== null && (status >= 500 || status === 408)) return 'infrastructure'
  return status === null && broken.test(said) ? 'infrastructure' : 'crash'
}

const tooLong = /maximum context length|prompt is too long|prompt token count .{0,40}exceeds/iu
const broken =
  /error sending request|error decoding response body|reading a body|unexpected eof|connection (?:closed|refused|reset)|timed? ?out|dns error|network/iu

/** Refused tool calls end with exit code 0. It is a fault when nothing at all was done. */
export function deniedFault(tools: readonly string[]): Fault | null {
  if (tools.length === 0) return null
  return {
    kind: 'permission',
    message: `Agent was not permitted to use ${tools.join(', ')} and did nothing`,
  }
}
