import type { IncomingHttpHeaders } from 'node:http'

/** A request that came. Keys are not in it. */
export type LoggedRequest = {
  /** Milliseconds since the epoch. */
  at: number
  method: string
  /** Without the scenario's prefix, with the query. */
  path: string
  headers: Record<string, string>
  /** Parsed, or the text itself when it is no JSON. */
  body: unknown
  /** Answers that were already in the conversation; null when it was no request for a turn. */
  answers: number | null
}

/** Keeps the last requests; their number and their size are bounded, so that an agent in an endless loop is harmless. */
export function createRequestLog(limits = { requests: 500, bytes: 64 * 1024 * 1024 }): {
  add(scenario: string, request: LoggedRequest, bytes: number): void
  of(scenario: string): LoggedRequest[]
} {
  const kept: { scenario: string; request: LoggedRequest; bytes: number }[] = []
  let total = 0
  return {
    add(scenario, request, bytes) {
      kept.push({ scenario, request, bytes })
      total += bytes
      while (kept.length > limits.requests || (total > limits.bytes && kept.length > 1))
        total -= kept.shift()?.bytes ?? 0
    },
    of: scenario => kept.filter(entry => entry.scenario === scenario).map(entry => entry.request),
  }
}

const secretHeaders = /authorization|api-?key|cookie|token|secret/iu

export function withoutKeys(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      secretHeaders.test(name) ? '[redacted]' : Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  )
}

/** Gemini takes its key in the query too. */
export function pathWithoutKeys(url: URL, path: string): string {
  const query = new URLSearchParams(url.search)
  for (const name of ['key', 'api_key', 'access_token']) if (query.has(name)) query.set(name, '[redacted]')
  return query.size > 0 ? `${path}?${decodeURIComponent(query.toString())}` : path
}
