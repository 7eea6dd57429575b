import { asList, asRecord, asText } from '../../src/agents/json.ts'
import {
  countRuns,
  type Dialect,
  endlessText,
  type FailedResponse,
  newId,
  pieces,
  type ServerEvent,
} from './dialect.ts'
import type { Failure, HttpFailure, Reply } from './scenario.ts'

/** Google Gemini: `POST …/models/<model>:generateContent` and `:streamGenerateContent?alt=sse`. */
export const gemini: Dialect = {
  name: 'gemini',
  read: body => ({
    answers: countRuns(asList(body.contents), content => asRecord(content)?.role === 'model'),
    offered: asList(body.tools)
      .flatMap(tool => asList(asRecord(tool)?.functionDeclarations))
      .map(asRecord)
      .map(made => ({
        name: asText(made?.name),
        parameters: asRecord(made?.parametersJsonSchema) ?? asRecord(made?.parameters) ?? {},
      })),
  }),
  whole: reply => response(reply, parts(reply), true),
  events,
  endless: reply => ({
    opening: [{ data: response(reply, [{ text: 'It begins. ' }], false) }],
    more: { data: response(reply, [{ text: endlessText }], false) },
  }),
  failure,
}

/** A stream that is not asked for as events is one list of all pieces. */
export const geminiList: Dialect = { ...gemini, whole: reply => events(reply).map(event => event.data) }

type Part = { text: string } | { functionCall: { id: string; name: string; args: unknown } }

function parts(reply: Reply): Part[] {
  const calls = reply.calls.map(({ name, input }) => ({
    functionCall: { id: newId('fc_'), name, args: input },
  }))
  return reply.text || calls.length === 0 ? [{ text: reply.text }, ...calls] : calls
}

const stops = { end: 'STOP', tools: 'STOP', 'max-tokens': 'MAX_TOKENS', refusal: 'SAFETY' }

function response(reply: Reply, said: Part[], last: boolean) {
  const { input, output, cacheRead, cacheWrite } = reply.usage
  const read = input + cacheRead + cacheWrite
  const finish = last ? { finishReason: stops[reply.stop] } : {}
  return {
    candidates: [{ content: { role: 'model', parts: said }, index: 0, ...finish }],
    usageMetadata: {
      promptTokenCount: read,
      candidatesTokenCount: output,
      totalTokenCount: read + output,
      cachedContentTokenCount: cacheRead,
    },
    modelVersion: reply.model,
    responseId: newId('r_'),
  }
}

/** The last piece bears the reason of the end; there is no event after it. */
function events(reply: Reply): ServerEvent[] {
  const said = parts(reply).flatMap((part): Part[] =>
    'text' in part && part.text ? pieces(part.text).map(text => ({ text })) : [part],
  )
  return said.map((part, index) => ({ data: response(reply, [part], index === said.length - 1) }))
}

const statuses: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
}

const messages: Record<number, string> = {
  401: 'Request had invalid authentication credentials.',
  403: 'The caller does not have permission',
  429: 'You exceeded your current quota, please check your plan and billing details.',
  500: 'An internal error has occurred.',
  503: 'The model is overloaded. Please try again later.',
  529: 'The model is overloaded. Please try again later.',
}

const tooLong: HttpFailure = {
  status: 400,
  message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
}

function failure(what: Failure): FailedResponse {
  const given = what === 'prompt-too-long' ? tooLong : what
  const { status, resetAfter } = given
  const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${resetAfter}s` }
  const error = {
    code: status,
    message: given.message ?? messages[status] ?? `Scripted error ${status}`,
    status: given.type ?? statuses[status] ?? 'UNKNOWN',
    ...(resetAfter === undefined ? {} : { details: [retry] }),
    ...given.fields,
  }
  return {
    status,
    headers: {
      ...(resetAfter === undefined ? {} : { 'retry-after': String(resetAfter) }),
      ...given.headers,
    },
    body: { error },
  }
}
