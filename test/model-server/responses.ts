import { asList, asRecord, asText, type JsonRecord } from '../../src/agents/json.ts'
import { countRuns, type Dialect, endlessText, newId, pieces, type ServerEvent } from './dialect.ts'
import { openAiFailure } from './openai-failure.ts'
import type { HttpFailure, Reply } from './scenario.ts'

/** OpenAI Responses: `POST /v1/responses`. */
export const responses: Dialect = {
  name: 'responses',
  read: body => ({
    answers: countRuns(asList(body.input).map(asRecord), isAnswer),
    offered: asList(body.tools).map(offered),
  }),
  whole: reply => finished(reply, opened(reply), items(reply, {})),
  events,
  endless: reply => {
    const message = messageItem(reply)
    const event = numbered()
    return {
      opening: [event('response.created', { response: opened(reply) }), ...messageStart(event, message, 0)],
      more: event('response.output_text.delta', { ...place(message, 0), delta: endlessText }),
    }
  },
  failure: what => openAiFailure(what === 'prompt-too-long' ? tooLong : what),
  failedStream: (what, reply) => {
    if (what !== 'prompt-too-long') return null
    const event = numbered()
    const response = opened(reply)
    const error = { code: tooLong.code, message: tooLong.message }
    return [
      event('response.created', { response }),
      event('response.failed', { response: { ...response, status: 'failed', error } }),
    ]
  },
}

const answerTypes = ['function_call', 'custom_tool_call', 'local_shell_call', 'reasoning']

function isAnswer(item: JsonRecord | null): boolean {
  return item?.role === 'assistant' || answerTypes.includes(asText(item?.type))
}

/** A custom tool takes plain text; a built-in one has no name but its type. */
function offered(tool: unknown) {
  const given = asRecord(tool)
  const parameters = given?.type === 'custom' ? null : (asRecord(given?.parameters) ?? {})
  return { name: asText(given?.name) || asText(given?.type), parameters }
}

type Message = { type: 'message'; id: string; status: string; role: 'assistant'; content: Part[] }
type Part = { type: 'output_text'; text: string; annotations: [] } | { type: 'refusal'; refusal: string }
type Call = { id: string; call_id: string; name: string; status: string } & (
  | { type: 'function_call'; arguments: string }
  | { type: 'custom_tool_call'; input: string }
)

function items(reply: Reply, body: JsonRecord): (Message | Call)[] {
  const custom = asList(body.tools)
    .map(asRecord)
    .flatMap(tool => (tool?.type === 'custom' ? [asText(tool.name)] : []))
  const calls = reply.calls.map(({ name, input }): Call => {
    const call = { id: newId('fc_'), call_id: newId('call_'), name, status: 'completed' }
    if (!custom.includes(name)) return { ...call, type: 'function_call', arguments: JSON.stringify(input) }
    return {
      ...call,
      type: 'custom_tool_call',
      input: typeof input === 'string' ? input : JSON.stringify(input),
    }
  })
  return reply.text || calls.length === 0 ? [messageItem(reply), ...calls] : calls
}

function messageItem({ text, stop }: Reply): Message {
  const part: Part =
    stop === 'refusal' ? { type: 'refusal', refusal: text } : { type: 'output_text', text, annotations: [] }
  return { type: 'message', id: newId('msg_'), status: 'completed', role: 'assistant', content: [part] }
}

function opened(reply: Reply) {
  return {
    id: newId('resp_'),
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    model: reply.model,
    status: 'in_progress',
    output: [] as unknown[],
    parallel_tool_calls: false,
    tools: [],
    tool_choice: 'auto',
    error: null,
    incomplete_details: null as { reason: string } | null,
  }
}

function finished(reply: Reply, response: ReturnType<typeof opened>, output: unknown[]) {
  const { input, output: written, cacheRead, cacheWrite } = reply.usage
  const read = input + cacheRead + cacheWrite
  const cut = reply.stop === 'max-tokens'
  return {
    ...response,
    status: cut ? 'incomplete' : 'completed',
    incomplete_details: cut ? { reason: 'max_output_tokens' } : null,
    output,
    usage: {
      input_tokens: read,
      input_tokens_details: { cached_tokens: cacheRead },
      output_tokens: written,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: read + written,
    },
  }
}

function events(reply: Reply, body: JsonRecord): ServerEvent[] {
  const event = numbered()
  const response = opened(reply)
  const output = items(reply, body)
  const last = reply.stop === 'max-tokens' ? 'response.incomplete' : 'response.completed'
  return [
    event('response.created', { response }),
    ...output.flatMap((item, index) =>
      item.type === 'message' ? messageEvents(event, item, index) : callEvents(event, item, index),
    ),
    event(last, { response: finished(reply, response, output) }),
  ]
}

type Numbered = (type: string, fields: object) => ServerEvent

function numbered(): Numbered {
  let sequence_number = 0
  return (type, fields) => ({
    event: type,
    data: { type, sequence_number: sequence_number++, ...fields },
  })
}

function messageStart(event: Numbered, item: Message, index: number): ServerEvent[] {
  const refused = item.content[0]?.type === 'refusal'
  const part = refused ? { type: 'refusal', refusal: '' } : { type: 'output_text', text: '', annotations: [] }
  return [
    event('response.output_item.added', {
      output_index: index,
      item: { ...item, status: 'in_progress', content: [] },
    }),
    event('response.content_part.added', { ...place(item, index), part }),
  ]
}

function messageEvents(event: Numbered, item: Message, index: number): ServerEvent[] {
  const [part] = item.content
  const start = messageStart(event, item, index)
  const said = part?.type === 'refusal' ? part.refusal : (part?.text ?? '')
  const kind = part?.type === 'refusal' ? 'refusal' : 'output_text'
  const done = kind === 'refusal' ? { refusal: said } : { text: said }
  const where = place(item, index)
  return [
    ...start,
    ...pieces(said).map(delta => event(`response.${kind}.delta`, { ...where, delta })),
    event(`response.${kind}.done`, { ...where, ...done }),
    event('response.content_part.done', { ...where, part }),
    event('response.output_item.done', { output_index: index, item }),
  ]
}

function callEvents(event: Numbered, item: Call, index: number): ServerEvent[] {
  const where = { item_id: item.id, output_index: index }
  const empty = item.type === 'function_call' ? { arguments: '' } : { input: '' }
  const added = { output_index: index, item: { ...item, ...empty, status: 'in_progress' } }
  const input =
    item.type === 'function_call'
      ? [
          event('response.function_call_arguments.delta', { ...where, delta: item.arguments }),
          event('response.function_call_arguments.done', { ...where, arguments: item.arguments }),
        ]
      : [event('response.custom_tool_call_input.done', { ...where, input: item.input })]
  return [
    event('response.output_item.added', added),
    ...input,
    event('response.output_item.done', { output_index: index, item }),
  ]
}

function place(item: Message, index: number) {
  return { item_id: item.id, output_index: index, content_index: 0 }
}

const tooLong: HttpFailure = {
  status: 400,
  code: 'context_length_exceeded',
  message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
  fields: { param: 'input' },
}
