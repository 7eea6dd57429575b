import { afterAll, beforeAll } from 'vitest'
import { type ModelServer, startModelServer } from './server.ts'

/** How a program asks a model in one of the dialects, and what it takes from the answer. */
export type Asker = {
  name: string
  /** Where and what to ask after so many answers of the model. */
  request(options: { answers: number; stream: boolean; tools: boolean }): { path: string; body: object }
  /** Reads the answer from the events of a stream. */
  fromStream(events: Sse[]): Heard
  /** Reads it from an answer in one piece. */
  fromWhole(body: Json): Heard
}

export type Heard = {
  text: string
  calls: { name: string; input: unknown }[]
  stop: string
  input: number
  output: number
}

/** Whatever JSON came; tests look into it by index. */
export type Json = { [key: string]: Json } & Json[]
export type Sse = { event: string; data: Json; raw: string }

/** One server per test file. */
export function useModelServer(): () => ModelServer {
  let server: ModelServer | null = null
  beforeAll(async () => {
    server = await startModelServer()
  })
  afterAll(() => server?.close())
  return () => {
    if (!server) throw new Error('the server is started in beforeAll')
    return server
  }
}

export function post(url: string, body: object, init: RequestInit = {}): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...init.headers }
  return fetch(url, { ...init, method: 'POST', headers, body: JSON.stringify(body) })
}

/** Asks once and reads the answer as a program would. */
export async function ask(
  base: string,
  asker: Asker,
  options: { answers?: number; stream?: boolean; tools?: boolean } = {},
): Promise<Heard> {
  const { answers = 0, stream = true, tools = true } = options
  const { path, body } = asker.request({ answers, stream, tools })
  const response = await post(base + path, body)
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`)
  if (!stream) return asker.fromWhole((await response.json()) as Json)
  return asker.fromStream(parseSse(await response.text()))
}

export function parseSse(text: string): Sse[] {
  return text
    .split('\n\n')
    .filter(block => block.trim() !== '')
    .map(block => {
      const field = (name: string) =>
        block
          .split('\n')
          .filter(line => line.startsWith(`${name}: `))
          .map(line => line.slice(name.length + 2))
          .join('\n')
      const raw = field('data')
      return {
        event: field('event'),
        raw,
        data: raw.startsWith('{') ? (JSON.parse(raw) as Json) : ({} as Json),
      }
    })
}

const schema = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] }

const anthropic: Asker = {
  name: 'anthropic',
  request: ({ answers, stream, tools }) => ({
    path: '/v1/messages',
    body: {
      model: 'm',
      max_tokens: 100,
      stream,
      messages: conversation(answers, 'assistant'),
      ...(tools ? { tools: [{ name: 'Bash', input_schema: schema }] } : {}),
    },
  }),
  fromStream: events => {
    const of = (type: string) => events.filter(one => one.event === type).map(one => one.data)
    const deltas = of('content_block_delta').map(one => one.delta)
    const calls = of('content_block_start').filter(one => String(one.content_block?.type) === 'tool_use')
    const [start] = of('message_start')
    const [end] = of('message_delta')
    return {
      text: deltas.map(delta => delta?.text ?? '').join(''),
      calls: calls.map(call => ({
        name: String(call.content_block?.name),
        input: JSON.parse(
          of('content_block_delta')
            .filter(one => one.index === call.index)
            .map(one => one.delta?.partial_json ?? '')
            .join(''),
        ),
      })),
      stop: String(end?.delta?.stop_reason),
      input: Number(start?.message?.usage?.input_tokens),
      output: Number(end?.usage?.output_tokens),
    }
  },
  fromWhole: body => ({
    text: list(body.content)
      .map(block => block.text ?? '')
      .join(''),
    calls: list(body.content).flatMap(block =>
      String(block.type) === 'tool_use' ? [{ name: String(block.name), input: block.input }] : [],
    ),
    stop: String(body.stop_reason),
    input: Number(body.usage?.input_tokens),
    output: Number(body.usage?.output_tokens),
  }),
}

const responses: Asker = {
  name: 'responses',
  request: ({ answers, stream, tools }) => ({
    path: '/v1/responses',
    body: {
      model: 'm',
      stream,
      input: conversation(answers, 'assistant'),
      ...(tools ? { tools: [{ type: 'function', name: 'shell', parameters: schema }] } : {}),
    },
  }),
  fromStream: events => {
    const said = events.filter(one => /^response\.(?:output_text|refusal)\.delta$/u.test(one.event))
    const last = events.at(-1)?.data.response as Json
    return { ...responses.fromWhole(last), text: said.map(one => one.data.delta).join('') }
  },
  fromWhole: body => ({
    text: list(body.output)
      .flatMap(item => list(item.content))
      .map(part => part.text ?? part.refusal ?? '')
      .join(''),
    calls: list(body.output).flatMap(item =>
      String(item.type) === 'function_call'
        ? [{ name: String(item.name), input: JSON.parse(String(item.arguments)) }]
        : [],
    ),
    stop: String(body.incomplete_details?.reason ?? body.status),
    input: Number(body.usage?.input_tokens),
    output: Number(body.usage?.output_tokens),
  }),
}

const chat: Asker = {
  name: 'chat',
  request: ({ answers, stream, tools }) => ({
    path: '/v1/chat/completions',
    body: {
      model: 'm',
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {}),
      messages: conversation(answers, 'assistant'),
      ...(tools ? { tools: [{ type: 'function', function: { name: 'shell', parameters: schema } }] } : {}),
    },
  }),
  fromStream: events => {
    if (events.at(-1)?.raw !== '[DONE]') throw new Error('the stream did not end')
    const choices = events.flatMap(one => list(one.data.choices))
    const usage = events.map(one => one.data.usage).find(one => one !== undefined)
    return {
      text: choices.map(choice => choice.delta?.content ?? '').join(''),
      calls: choices.flatMap(choice => list(choice.delta?.tool_calls)).map(chatCall),
      stop: String(choices.map(choice => choice.finish_reason).find(Boolean)),
      input: Number(usage?.prompt_tokens),
      output: Number(usage?.completion_tokens),
    }
  },
  fromWhole: body => {
    const [choice] = list(body.choices)
    return {
      text: String(choice?.message?.content ?? ''),
      calls: list(choice?.message?.tool_calls).map(chatCall),
      stop: String(choice?.finish_reason),
      input: Number(body.usage?.prompt_tokens),
      output: Number(body.usage?.completion_tokens),
    }
  },
}

const gemini: Asker = {
  name: 'gemini',
  request: ({ answers, stream, tools }) => ({
    path: `/v1beta/models/m:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: {
      contents: conversation(answers, 'model'),
      ...(tools
        ? { tools: [{ functionDeclarations: [{ name: 'run_shell_command', parameters: schema }] }] }
        : {}),
    },
  }),
  fromStream: events => {
    const all = events.map(one => gemini.fromWhole(one.data))
    return {
      text: all.map(one => one.text).join(''),
      calls: all.flatMap(one => one.calls),
      stop: all.at(-1)?.stop ?? '',
      input: all.at(-1)?.input ?? 0,
      output: all.at(-1)?.output ?? 0,
    }
  },
  fromWhole: body => {
    const [candidate] = list(body.candidates)
    const parts = list(candidate?.content?.parts)
    return {
      text: parts.map(part => part.text ?? '').join(''),
      calls: parts.flatMap(part =>
        part.functionCall ? [{ name: String(part.functionCall.name), input: part.functionCall.args }] : [],
      ),
      stop: String(candidate?.finishReason),
      input: Number(body.usageMetadata?.promptTokenCount),
      output: Number(body.usageMetadata?.candidatesTokenCount),
    }
  },
}

export const askers = { anthropic, responses, chat, gemini }

function conversation(answers: number, role: string): object[] {
  const said = (who: string, text: string) => ({ role: who, content: text, parts: [{ text }] })
  return [
    said('user', 'Do the work.'),
    ...Array.from({ length: answers }, (_, index) => [
      said(role, `answer ${index}`),
      said('user', 'Go on.'),
    ]).flat(),
  ]
}

function chatCall(call: Json): { name: string; input: unknown } {
  return { name: String(call.function?.name), input: JSON.parse(String(call.function?.arguments)) }
}

function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : []
}
