import type { Fault, FaultKind } from '../core/outcome.ts'
import { oneLine } from '../core/text.ts'
import { asRecord, asText, parseRecord } from './json.ts'

/** What a failed turn means. Codex tells it as one text, sometimes as the server's answer in JSON. */
export function failureFault(said: string): Fault {
  const passing = /^Reconnecting\.\.\. .*?\((.*)\)$/su.exec(said)?.[1] ?? said
  const answer = asRecord(parseRecord(passing)?.error)
  const message = asText(answer?.message) || passing
  const named = [asText(answer?.code), asText(answer?.type), message].join(' ')
  return {
    kind: kindOf(named),
    message: oneLine(message, 400) || 'Agent ended with an error (no reason given)',
  }
}

function kindOf(text: string): FaultKind {
  for (const [kind, pattern] of phrases) {
    if (pattern.test(text)) return kind
  }
  const status = Number(/\bstatus:? (\d{3})\b/u.exec(text)?.[1])
  if (status === 429) return 'limit'
  // An unknown model is the account's matter: only a person can mend it.
  if ([401, 402, 403, 404].includes(status)) return 'auth'
  return status >= 500 || status === 408 ? 'infrastructure' : 'crash'
}

/** The more telling ones first: what counts against the task, what only a person can mend, what time mends. */
const phrases: readonly (readonly [FaultKind, RegExp])[] = [
  [
    'crash',
    /context_length_exceeded|context window|prompt is too long|max_output_tokens|content_filter|input exceeds/iu,
  ],
  [
    'auth',
    /insufficient_quota|quota exceeded|credit balance|out of credits|spend cap|billing|to use codex with your chatgpt plan/iu,
  ],
  [
    'auth',
    /missing environment variable|model_not_found|does not exist or you do not have access|sign in again|not logged in|api[ _]key/iu,
  ],
  ['limit', /usage limit|rate[ _]limit|too many requests/iu],
  [
    'infrastructure',
    /stream disconnected|connection (?:failed|refused|reset)|waiting for network|high demand|capacity|overloaded|timed? ?out|internal server error/iu,
  ],
]
