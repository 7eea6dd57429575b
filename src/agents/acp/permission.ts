import type { RequestPermissionResponse } from '@agentclientprotocol/sdk'
import { asList, asRecord, asText, type JsonRecord } from '../json.ts'
import { onlyReads } from './read-only-command.ts'

export type Decision = { allowed: boolean; response: RequestPermissionResponse }

/** Answers a permission request: yes for who may write; for a reviewer only what cannot change anything. */
export function decide(request: JsonRecord, readOnly: boolean): Decision {
  const allowed = !readOnly || isHarmless(asRecord(request.toolCall) ?? {})
  // Once, not always: a standing permission may end up in a file of the project.
  const wanted = allowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always']
  const options = asList(request.options).map(asRecord)
  const option = wanted.map(kind => options.find(one => one?.kind === kind)).find(Boolean)
  const optionId = asText(option?.optionId)
  if (!optionId) return { allowed: false, response: { outcome: { outcome: 'cancelled' } } }
  return { allowed, response: { outcome: { outcome: 'selected', optionId } } }
}

function isHarmless(call: JsonRecord): boolean {
  switch (call.kind) {
    case 'read':
    case 'search':
    case 'think':
    case 'fetch':
      return true
    case 'execute':
      return onlyReads(shellCommand(call))
    default:
      return false
  }
}

/** Some agents tell the command only in the title. */
function shellCommand(call: JsonRecord): string {
  const input = asRecord(call.rawInput)
  if (Array.isArray(input?.command)) return ''
  return asText(input?.command) || (input ? '' : asText(call.title))
}
