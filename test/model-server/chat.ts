import { asList, asRecord, asText, type JsonRecord } from '../../src/agents/json.ts'
import { countRuns, type Dialect, endlessText, newId, pieces, type ServerEvent } from './dialect.ts'
import { openAiFailure } from './openai-failure.ts'
import type { HttpFailure, Reply } from './scenario.ts'

/** OpenAI Chat Completions: `POST /v1/chat/completions`. */
export const chat: Dialect = {
  name: 'chat',
  read: body => ({
    // A tool result between two calls is no answer of the model.
    answers: countRuns(asList(body.messages), message => asRecord(message)?.role === 'assistant'),
    offered: asList(body.tools).map(tool => {
      const made = asRecord(asRecord(tool)?.function)
      return { name: asText(made?.name), parameters: asRecord(made?.parameters) ?? {} }
    }),
  }),
  whole,
  events,
  endless: reply => {
    const chunk = chunks(reply)
    return { opening: [chunk({ role: 'assistant', content: '' })], more: chunk({ content: endlessText }) }
  },
  failure: what => openAiFailure(what === 'prompt-too-long' ? tooLong : what),
}

const stops = { end: 'stop', tools: 'tool_calls', 'max-tokens': 'length', refusal: 'content_filter' }

function toolCalls(reply: Reply) {
  return reply.calls.map(({ name, input }) => ({
    id: newId('call_'),
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
}

function whole(reply: Reply) {
  const calls = toolCalls(reply)
  const message = {
    role: 'assistant',
    content: reply.text || null,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  }
  return {
    id: newId('chatcmpl-'),
    object: 'chat.completion',
    created: now(),
    model: reply.model,
    choices: [{ index: 0, message, finish_reason: stops[reply.stop] }],
    usage: usage(reply),
  }
}

function events(reply: Reply, body: JsonRecord): ServerEvent[] {
  const chunk = chunks(reply)
  const calls = toolCalls(reply).map((call, index) => chunk({ tool_calls: [{ index, ...call }] }))
  return [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(reply.text).map(content => chunk({ content })),
    ...calls,
    chunk({}, stops[reply.stop]),
    // The server tells the tokens of a stream only to who asks for them.
    ...(asRecord(body.stream_options)?.include_usage === true ? [chunk(null, null, usage(reply))] : []),
    { data: '[DONE]' },
  ]
}

/** All chunks of an answer bear its id; the one with the usage has no choice in it. */
function chunks(reply: Reply) {
  const base = { id: newId('chatcmpl-'), object: 'chat.completion.chunk', created: now(), model: reply.model }
  return (delta: object | null, finish_reason: string | null = null, tokens?: object): ServerEvent => ({
    data: {
      ...base,
      choices: delta ? [{ index: 0, delta, finish_reason }] : [],
      ...(tokens ? { usage: tokens } : {}),
    },
  })
}

function usage({ usage: { input, output, cacheRead, cacheWrite } }: Reply) {
  const read = input + cacheRead + cacheWrite
  return {
    prompt_tokens: read,
    completion_tokens: output,
    total_tokens: read + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
  }
}

const tooLong: HttpFailure = {
  status: 400,
  code: 'context_length_exceeded',
  message:
    "This model's maximum context length is 200000 tokens. However, your messages resulted in 250000 tokens. Please reduce the length of the messages.",
  fields: { param: 'messages' },
}

function now(): number {
  return Math.floor(Date.now() / 1000)
}
