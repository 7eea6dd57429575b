import { readFileSync, writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import {
  type AgentContext,
  type AnyMessage,
  agent,
  ndJsonStream,
  type PromptResponse,
  RequestError,
} from '@agentclientprotocol/sdk'
import { readBehaviour } from '../../../src/agents/scripted/behaviour.ts'
import { print } from '../../../src/agents/scripted/output.ts'
import { Exit, perform } from '../../../src/agents/scripted/perform.ts'

/**
 * A real ACP agent, made with the SDK, that plays a script instead of asking a model: `acp-agent <script.json> …`.
 * The steps of `AcpStep` are its own; `play` are steps of the scripted agent.
 */
export type AcpScript = {
  /** What happens on each prompt; the last is repeated. */
  turns: AcpStep[][]
  /** In the place of the usual answers to `initialize` and `session/new`. */
  initialize?: object
  session?: object
  /** Session requests are answered with this error. */
  refuse?: { code: number; message: string; data?: unknown }
  /** It stays when its stdin is closed, and notes its pid in `agent.pid`. */
  lingers?: boolean
}

export type AcpStep =
  | { chunk: string; id?: string }
  | { update: Record<string, unknown> }
  | { permission: object; allowed?: AcpStep[]; refused?: AcpStep[] }
  /** Asked, and not a word said about the answer. */
  | { silentPermission: object }
  | { readFile: object }
  | { writeFile: object }
  | { play: unknown[] }
  | { stop: string; result?: object }
  | { fail: { code: number; message: string; data?: unknown } }

const script = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as AcpScript
let turns = 0

if (script.lingers) writeFileSync('agent.pid', String(process.pid))
serve()

function serve(): void {
  const { readable } = ndJsonStream(
    new WritableStream(),
    Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
  )
  // Written at once, so that it stays in order with what the steps print.
  const writable = new WritableStream<AnyMessage>({ write: message => print(`${JSON.stringify(message)}\n`) })
  agent({ name: 'acp-agent' })
    .onRequest('initialize', () => ({
      protocolVersion: 1,
      agentInfo: { name: 'scripted-acp', version: '1.2.3' },
      ...script.initialize,
    }))
    .onRequest('session/new', () => {
      if (script.refuse) throw error(script.refuse)
      return { sessionId: 'session-1', ...script.session }
    })
    .onRequest('session/set_config_option', ({ params }) => {
      print(`config ${params.configId}=${'value' in params ? params.value : ''}\n`)
      return { configOptions: [] }
    })
    .onRequest(
      'session/set_model',
      value => value as { modelId: string },
      ({ params }) => {
        print(`model ${params.modelId}\n`)
        return {}
      },
    )
    .onNotification('session/cancel', () => print('cancelled\n'))
    .onRequest('session/prompt', async ({ params, client }) => {
      const [block] = params.prompt
      const steps = script.turns[Math.min(turns++, script.turns.length - 1)] ?? []
      const prompt = block?.type === 'text' ? block.text : ''
      return (await playAll(steps, client, prompt)) ?? { stopReason: 'end_turn' }
    })
    .connect({ readable, writable })
    .closed.finally(() => (script.lingers ? setInterval(() => undefined, 60_000) : process.exit(0)))
}

async function playAll(
  steps: AcpStep[],
  client: AgentContext,
  prompt: string,
): Promise<PromptResponse | null> {
  for (const step of steps) {
    const end = await playOne(step, client, prompt)
    if (end) return end
  }
  return null
}

async function playOne(step: AcpStep, client: AgentContext, prompt: string): Promise<PromptResponse | null> {
  const sessionId = 'session-1'
  const update = (fields: object) =>
    client.notify<unknown>('session/update' as string, { sessionId, update: fields })
  const say = (text: string, messageId?: string) =>
    update({
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text },
      ...(messageId === undefined ? {} : { messageId }),
    })
  const ask = (method: string, params: object) =>
    client.request<unknown>(method, { sessionId, ...params }).catch((problem: unknown) => String(problem))

  if ('chunk' in step) await say(step.chunk, step.id)
  else if ('update' in step) await update(step.update)
  else if ('silentPermission' in step) await ask('session/request_permission', step.silentPermission)
  else if ('permission' in step) {
    const answer = JSON.stringify(await ask('session/request_permission', step.permission))
    const allowed = answer.includes('"allow')
    await say(`[${answer}]`)
    return playAll((allowed ? step.allowed : step.refused) ?? [], client, prompt)
  } else if ('readFile' in step)
    await say(`[${JSON.stringify(await ask('fs/read_text_file', step.readFile))}]`)
  else if ('writeFile' in step)
    await say(`[${JSON.stringify(await ask('fs/write_text_file', step.writeFile))}]`)
  else if ('play' in step) play(step.play, prompt)
  else if ('fail' in step) throw error(step.fail)
  else return { stopReason: step.stop, ...step.result } as PromptResponse
  return null
}

function play(steps: unknown[], prompt: string): void {
  try {
    const stage = { prompt: Buffer.from(prompt), call: {}, env: process.env }
    for (const step of steps) perform(readBehaviour(step), stage)
  } catch (end) {
    if (end instanceof Exit) process.exit(end.code)
    throw end
  }
}

function error({ code, message, data }: { code: number; message: string; data?: unknown }): RequestError {
  return new RequestError(code, message, data)
}
