import type { FailedResponse } from './dialect.ts'
import type { HttpFailure } from './scenario.ts'

const types: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'invalid_request_error',
  403: 'invalid_request_error',
  404: 'invalid_request_error',
  429: 'requests',
}

const codes: Record<number, string> = {
  401: 'invalid_api_key',
  403: 'unsupported_country_region_territory',
  404: 'model_not_found',
  429: 'rate_limit_exceeded',
}

const messages: Record<number, string> = {
  401: 'Incorrect API key provided. You can find your API key in your account settings.',
  403: 'Country, region, or territory not supported',
  429: 'Rate limit reached for requests',
  500: 'The server had an error while processing your request. Sorry about that!',
  503: 'The server is overloaded or not ready yet.',
  529: 'The server is overloaded or not ready yet.',
}

/** Responses and Chat Completions fail in the same words. */
export function openAiFailure(given: HttpFailure): FailedResponse {
  const { status, resetAfter } = given
  const error = {
    message: given.message ?? messages[status] ?? `Scripted error ${status}`,
    type: given.type ?? types[status] ?? 'server_error',
    param: null,
    code: given.code ?? codes[status] ?? null,
    ...given.fields,
  }
  const reset = resetAfter === undefined ? {} : resetHeaders(resetAfter)
  return { status, headers: { ...reset, ...given.headers }, body: { error } }
}

function resetHeaders(seconds: number): Record<string, string> {
  return {
    'retry-after': String(seconds),
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': span(seconds),
  }
}

/** `1h2m3s`, as OpenAI writes it. */
function span(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  return `${hours ? `${hours}h` : ''}${hours || minutes ? `${minutes}m` : ''}${seconds % 60}s`
}
