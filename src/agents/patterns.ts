import { UserError } from '../core/errors.ts'
import type { FaultPattern } from '../core/fault.ts'

/**
 * Phrases of error messages, the more telling ones first. They are tried only on text that reads like an error
 * (`classify`), so they may be short, but never so short that they match prose: "rate limit" alone is not among them.
 */
const common: readonly FaultPattern[] = [
  // An empty purse does not fill by waiting, so it is handled like a missing login.
  {
    kind: 'auth',
    pattern:
      'credit balance is too low|insufficient[_ ]quota|billing[_ ](?:error|hard limit)|payment required',
  },
  { kind: 'limit', pattern: "you.?ve (?:hit|reached) your (?:[\\w'’-]+ ){0,3}limit" },
  {
    kind: 'limit',
    pattern:
      '(?:usage|session|weekly|daily|monthly|hourly|\\d+-hour|request|token|rate|api|spend(?:ing)?)[ -]limit (?:was |has been |is )?(?:reached|exceeded|hit)',
  },
  {
    kind: 'limit',
    pattern:
      'rate[ _-]?limited|rate_limit_(?:error|exceeded)|usage_limit_reached|would exceed your .{0,40}rate limit',
  },
  {
    kind: 'limit',
    pattern: 'too many requests|\\b(?:status|error|code|http)\\W{1,3}429\\b|\\(429\\)|^429\\b',
  },
  {
    kind: 'limit',
    pattern:
      'quota (?:was |has been |is )?(?:exceeded|exhausted|reached)|exceeded your (?:current )?quota|resource_exhausted',
  },
  { kind: 'limit', pattern: 'out of (?:extra )?usage\\b' },
  {
    kind: 'auth',
    pattern:
      'not logged in|not authenticated|please run /login|(?:please|you must|you need to) (?:log|sign) in',
  },
  {
    kind: 'auth',
    pattern:
      '(?:invalid|incorrect|missing|no|expired) (?:x-)?api[ _-]?key|api[ _-]?key (?:is |was )?(?:missing|not set|not found|required|invalid)',
  },
  {
    kind: 'auth',
    pattern:
      'authentication_(?:error|failed)|authentication (?:has )?failed|failed to authenticate|\\b401\\b.{0,20}unauthori[sz]ed',
  },
  { kind: 'auth', pattern: '(?:oauth |access |auth )?token (?:has |is )?(?:expired|revoked)' },
  {
    kind: 'infrastructure',
    pattern: '\\bE(?:CONNREFUSED|CONNRESET|CONNABORTED|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)\\b',
  },
  {
    kind: 'infrastructure',
    pattern:
      'connection (?:error|refused|reset|dropped|closed|timed out|failed)|network (?:error|is unreachable)',
  },
  {
    kind: 'infrastructure',
    pattern: 'fetch failed|socket hang up|could not resolve host|stream disconnected|temporarily unavailable',
  },
  {
    kind: 'infrastructure',
    pattern: 'overloaded|internal server error|bad gateway|service unavailable|gateway time-?out',
  },
  { kind: 'infrastructure', pattern: '\\b(?:status|error|code|http)\\W{1,3}5\\d\\d\\b' },
]

const own: Record<string, readonly FaultPattern[]> = {
  // An agent that gives its error as an answer; Copilot does.
  acp: [
    { kind: 'limit', pattern: 'failed to get response from the ai model.{0,200}last error: 429' },
    {
      kind: 'infrastructure',
      pattern: 'failed to get response from the ai model.{0,200}last error: (?:5\\d\\d|failed native)',
    },
    { kind: 'crash', pattern: "this model's maximum context length|prompt is too long|your input exceeds" },
  ],
  claude: [
    { kind: 'permission', pattern: 'cannot be used with root/sudo privileges' },
    { kind: 'auth', pattern: 'issue with the selected model|may not have access to it' },
  ],
  codex: [
    { kind: 'permission', pattern: 'not inside a trusted directory' },
    { kind: 'auth', pattern: 'missing environment variable|sign in again' },
    { kind: 'permission', pattern: 'error loading configuration|codex_home points to' },
  ],
  copilot: [{ kind: 'auth', pattern: 'no authentication information found' }],
  gemini: [
    { kind: 'permission', pattern: 'not running in a trusted directory|yolo mode is disabled' },
    {
      kind: 'auth',
      pattern:
        'please set an auth method|invalid auth method|must specify the gemini_api_key|manual authorization is required|authentication consent could not|the enforced authentication type',
    },
  ],
  opencode: [{ kind: 'auth', pattern: 'providermodelnotfounderror|providerautherror|model not found:' }],
}

/** The phrases for one agent: the user's first, then its own, then those all agents share. */
export function patternsFor(agent: string, extra: readonly FaultPattern[] = []): readonly FaultPattern[] {
  for (const { pattern } of extra) checkPattern(pattern, agent)
  return [...extra, ...(Object.hasOwn(own, agent) ? (own[agent] ?? []) : []), ...common]
}

function checkPattern(pattern: string, agent: string): void {
  try {
    new RegExp(pattern, 'iu')
  } catch {
    throw new UserError(
      `agent '${agent}': the pattern '${pattern}' is not a regular expression`,
      'Correct it, or remove it from `patterns` in ralph.config.yaml.',
      2,
    )
  }
}
