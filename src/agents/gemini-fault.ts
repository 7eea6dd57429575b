import type { Fault, FaultKind } from '../core/outcome.ts'
import { oneLine } from '../core/text.ts'
import { asAmount, asRecord, asText, parseRecord } from './json.ts'

/** What happened besides the result event, as far as a fault depends on it. */
export type GeminiRun = {
  /** All tools were to be allowed: it was no reviewer. */
  yolo: boolean
  toolsDone: number
  /** Names of the tools that were refused. */
  denied: Set<string>
  /** What the last `error` event said. */
  error: string
}

export type GeminiFailure = { type: string; message: string; status: number | null }

/** The server's status: in the message when that is the server's answer, else in the exit code, which is it modulo 256. */
export function statusOf(message: string, code: number | null): number | null {
  const answered = asAmount(answer(message)?.code)
  if (answered !== null) return answered
  if (code === 529 % 256) return 529
  // 400 to 511. Lower codes are the CLI's own (41 to 55, 130), or a plain failure.
  return code !== null && code >= 400 - 256 ? code + 256 : null
}

export function errorFault({ type, message, status }: GeminiFailure): Fault {
  const said = asText(answer(message)?.message) || message.replace(/^\[API Error: |\](?=\n|$)/gu, '')
  if (type === 'FatalCancellationError') return { kind: 'crash', message: 'Agent was interrupted' }
  return {
    kind: errorKind(type, said, status),
    message: oneLine(said, 400) || 'Agent ended with an error (no reason given)',
  }
}

function errorKind(type: string, said: string, status: number | null): FaultKind {
  for (const [kind, pattern] of phrases) {
    if (pattern.test(said)) return kind
  }
  if (type === 'FatalAuthenticationError') return 'auth'
  if (status === 429) return 'limit'
  // An unknown model is the account's matter too: only a person can mend it.
  if (status !== null && [401, 402, 403, 404].includes(status)) return 'auth'
  if (status !== null && (status >= 499 || status === 408)) return 'infrastructure'
  return 'crash'
}

/** For what the status does not tell: an invalid key is a 400, an unknown model ends with exit code 1. */
const phrases: readonly (readonly [FaultKind, RegExp])[] = [
  // These count against the task: the same prompt would end in the same way.
  ['crash', /token count.{0,40}exceeds|exceeds the maximum number of tokens|exceeded the token limit/iu],
  // A quota of nothing does not fill by waiting.
  ['auth', /limit:\s*0(?!\d|\.\d)|credits?.{0,20}balance/iu],
  ['auth', /api[ _]key (?:not valid|expired|not found)|is not found for api version|model not found/iu],
  ['limit', /exceeded your current quota|exhausted your (?:daily quota|capacity)|resource_exhausted/iu],
  ['infrastructure', /fetch failed|overloaded|\bE(?:CONNRE\w+|TIMEDOUT|AI_AGAIN|NOTFOUND|PIPE)\b/u],
  // `terminated` is all that is said when the connection breaks in the middle of an answer.
  [
    'infrastructure',
    /^terminated(?:\n|$)|premature close|incomplete json segment|retry attempts exhausted/iu,
  ],
  ['empty', /returned an empty response/iu],
]

/** Google's answer in JSON, which the CLI wraps as `[API Error: {…}]`. */
function answer(message: string): Record<string, unknown> | null {
  const json = /^\[API Error: (\{[\s\S]*\})\]/u.exec(message)?.[1]
  return json === undefined ? null : asRecord(parseRecord(json)?.error)
}

/** Refused tool calls end with exit code 0. It is a fault when nothing at all was done; but a reviewer is meant to be refused. */
export function deniedFault(run: GeminiRun): Fault | null {
  if (!run.yolo || run.denied.size === 0 || run.toolsDone > 0) return null
  return {
    kind: 'permission',
    message: `Agent was not permitted to use ${[...run.denied].join(', ')} and did nothing`,
  }
}
