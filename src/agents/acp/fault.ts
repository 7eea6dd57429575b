import type { Fault } from '../../core/outcome.ts'
import { oneLine } from '../../core/text.ts'
import { asAmount, asText, type JsonRecord } from '../json.ts'

/** What the end of a turn says went wrong. These count against the task: the same prompt would end in the same way. */
export function stopFault(reason: string): Fault | null {
  switch (reason) {
    case 'end_turn':
      return null
    case 'max_tokens':
      return { kind: 'crash', message: 'Agent reached the most tokens its model may write' }
    case 'max_turn_requests':
      return { kind: 'crash', message: 'Agent reached the most requests to its model that one turn may take' }
    case 'refusal':
      return { kind: 'crash', message: 'Agent refused to go on' }
    case 'cancelled':
      return { kind: 'crash', message: 'Agent was interrupted' }
    default:
      return { kind: 'crash', message: `Agent stopped: ${oneLine(reason, 60) || 'no reason given'}` }
  }
}

/** What an error line (`AcpError`) says; null where only its words can tell. */
export function errorFault(error: JsonRecord): Fault | null {
  const status = asAmount(error.status)
  const message = oneLine(asText(error.message)) || 'Agent failed without a reason'
  // An unknown model is the account's matter too: only a person can mend it.
  if (error.kind === 'auth' || error.kind === 'model') return { kind: 'auth', message }
  if (status === 429) return { kind: 'limit', message }
  if (status !== null && [401, 402, 403, 404].includes(status)) return { kind: 'auth', message }
  if (status !== null && (status >= 500 || status === 408)) return { kind: 'infrastructure', message }
  return null
}
