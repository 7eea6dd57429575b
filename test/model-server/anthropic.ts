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

/** Anthropic Messages: `POST /v1/messages`. */
export const anthropic: Dialect = {
  name: 'anthropic',
  read: body => ({
    answers: countRuns(asList(body.messages), message => asRecord(message)?.role === 'assistant'),
    offered: asList(body.tools).map(tool => ({
      name: asText(asRecord(tool)?.name),
      parameters: asRecord(asRecord(tool)?.input_schema) ?? {},
    })),
  }),
  whole: reply => message(reply, newId('msg_'), blocks(reply)),
  events,
  endless: reply => ({
    opening: [start(reply), blockStart(0, { type: 'text', text: '' })],
    more: delta(0, { type: 'text_delta', text: endlessText }),
  }),
  failure,
}

type Block = { type: 'text'; text: string } | { type: 'tool_use'; id: string; name: string; input: unknown }

function blocks(reply: Reply): Block[] {
  const calls = reply.calls.map(call => ({ type: 'tool_use' as const, id: newId('toolu_'), ...call }))
  return reply.text || calls.length === 0 ? [{ type: 'text', text: reply.text }, ...calls] : calls
}

const stops = { end: 'end_turn', tools: 'tool_use', 'max-tokens': 'max_tokens', refusal: 'refusal' }

function message(reply: Reply, id: string, content: Block[]) {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model: reply.model,
    content,
    stop_reason: stops[reply.stop],
    stop_sequence: null,
    usage: {
      input_tokens: reply.usage.input,
      output_tokens: reply.usage.output,
      cache_read_input_tokens: reply.usage.cacheRead,
      cache_creation_input_tokens: reply.usage.cacheWrite,
    },
  }
}

function events(reply: Reply): ServerEvent[] {
  return [
    start(reply),
    ...blocks(reply).flatMap((block, index) => blockEvents(block, index)),
    event('message_delta', {
      delta: { stop_reason: stops[reply.stop], stop_sequence: null },
      usage: { output_tokens: reply.usage.output },
    }),
    event('message_stop', {}),
  ]
}

/** At the start the server does not know yet how long the answer will be. */
function start(reply: Reply): ServerEvent {
  const whole = message(reply, newId('msg_'), [])
  return event('message_start', {
    message: { ...whole, stop_reason: null, usage: { ...whole.usage, output_tokens: 1 } },
  })
}

function blockEvents(block: Block, index: number): ServerEvent[] {
  const stop = event('content_block_stop', { index })
  if (block.type === 'text') {
    const said = pieces(block.text).map(text => delta(index, { type: 'text_delta', text }))
    return [blockStart(index, { type: 'text', text: '' }), ...said, stop]
  }
  const input = pieces(JSON.stringify(block.input)).map(partial_json =>
    delta(index, { type: 'input_json_delta', partial_json }),
  )
  return [blockStart(index, { ...block, input: {} }), ...input, stop]
}

function blockStart(index: number, content_block: Block): ServerEvent {
  return event('content_block_start', { index, content_block })
}

function delta(index: number, piece: object): ServerEvent {
  return event('content_block_delta', { index, delta: piece })
}

function event(type: string, fields: object): ServerEvent {
  return { event: type, data: { type, ...fields } }
}

const types: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

const messages: Record<number, string> = {
  401: 'invalid x-api-key',
  403: 'Your API key does not have permission to use the specified resource.',
  429: 'This request would exceed the rate limit for your organization.',
  500: 'Internal server error',
  529: 'Overloaded',
}

const tooLong: HttpFailure = { status: 400, message: 'prompt is too long: 250000 tokens > 200000 maximum' }

function failure(what: Failure): FailedResponse {
  const given = what === 'prompt-too-long' ? tooLong : what
  const { status, resetAfter } = given
  const error = {
    type: given.type ?? types[status] ?? 'api_error',
    message: given.message ?? messages[status] ?? `Scripted error ${status}`,
    ...given.fields,
  }
  const reset = resetAfter === undefined ? {} : resetHeaders(resetAfter)
  return {
    status,
    headers: { ...reset, ...given.headers },
    body: { type: 'error', error, request_id: newId('req_') },
  }
}

function resetHeaders(seconds: number): Record<string, string> {
  return {
    'retry-after': String(seconds),
    'anthropic-ratelimit-requests-remaining': '0',
    'anthropic-ratelimit-requests-reset': new Date(Date.now() + seconds * 1000).toISOString(),
  }
}
