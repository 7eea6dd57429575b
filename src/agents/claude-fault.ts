import type { Fault, FaultKind } from '../core/outcome.ts'
import { oneLine } from '../core/text.ts'
import { asAmount, asList, asText, type JsonRecord } from './json.ts'

/** What happened besides the result event, as far as a fault depends on it. */
export type ClaudeRun = {
  /** `system/init` says how permissions were handled. */
  permissionMode: string
  /** Tool calls that were carried out, and those a hook refused. */
  toolsDone: number
  hookDenials: number
  /** The `error` of the message the CLI itself put in the place of an answer. */
  apiError: string
  /** When the usage limit ends, in milliseconds since the epoch. */
  resetsAt: number | null
}

/** What the result event says went wrong. The exit code says little: 0 after an interrupt, 1 with `subtype: success`. */
export function resultFault(result: JsonRecord, run: ClaudeRun): Fault | null {
  if (result.is_error !== true && !asText(result.subtype).startsWith('error')) return denied(result, run)
  const message = errorMessage(result)
  const kind = errorKind(result, run, message)
  return kind === 'limit' && run.resetsAt !== null
    ? { kind, message, until: run.resetsAt }
    : { kind, message }
}

function errorKind(result: JsonRecord, run: ClaudeRun, message: string): FaultKind {
  const status = asAmount(result.api_error_status)
  const named = asText(result.api_error) || run.apiError
  // These count against the task: the same prompt would end in the same way.
  if (asText(result.terminal_reason) === 'prompt_too_long' || named === 'max_output_tokens') return 'crash'
  if (status === 429 || named === 'rate_limit' || named === 'usage_limit_reached') return 'limit'
  // An empty purse and an unknown model are the account's matter too: only a person can mend them.
  if (status !== null && [401, 402, 403, 404].includes(status)) return 'auth'
  if (['authentication_failed', 'billing_error', 'model_not_found', 'oauth_org_not_allowed'].includes(named))
    return 'auth'
  if (/not logged in|please run \/login|invalid api key|credit balance is too low/iu.test(message))
    return 'auth'
  if (status !== null && (status >= 500 || status === 408)) return 'infrastructure'
  if (['server_error', 'overloaded', 'connection_failed'].includes(named)) return 'infrastructure'
  return 'crash'
}

function errorMessage(result: JsonRecord): string {
  const reason = asText(result.terminal_reason)
  if (reason.startsWith('aborted')) return 'Agent was interrupted'
  const said = asText(result.result).trim() || asList(result.errors).map(asText).filter(Boolean).join('; ')
  return oneLine(said) || `Agent ended with an error (${asText(result.subtype) || 'no reason given'})`
}

/**
 * Refused tool calls end with exit code 0 and a friendly text. It is a fault when nothing at all was done; but not for a
 * reviewer, who is meant to be refused, nor when a hook said no: that is a rule at work, and the agent was told it.
 */
function denied(result: JsonRecord, run: ClaudeRun): Fault | null {
  const denials = asList(result.permission_denials)
  if (denials.length <= run.hookDenials || run.toolsDone > 0 || run.permissionMode === 'dontAsk') return null
  const tools = [...new Set(denials.map(toolName))].filter(Boolean)
  return {
    kind: 'permission',
    message: `Agent was not permitted to use ${tools.join(', ') || 'its tools'} and did nothing`,
  }
}

function toolName(denial: unknown): string {
  return typeof denial === 'object' && denial !== null && 'tool_name' in denial
    ? asText(denial.tool_name)
    : ''
}
