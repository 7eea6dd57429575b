import { type ClientApp, type ClientContext, client, RequestError } from '@agentclientprotocol/sdk'
import { asRecord, asText, type JsonRecord } from '../json.ts'
import { firstPart } from '../tail-text.ts'
import type { AcpError, AcpLine } from './line.ts'
import { decide } from './permission.ts'
import { describeError } from './request-error.ts'
import { chooseModel, modelOf } from './session-model.ts'
import { sessionTokens } from './session-tokens.ts'
import { createUpdates, toolInput, type Updates } from './updates.ts'
import { workspaceFiles } from './workspace-files.ts'

export type Conversation = {
  cwd: string
  prompt: string
  readOnly: boolean
  model: string | null
  version: string
  print: (line: AcpLine) => void
  alive: () => void
}

/** Ends the conversation with an error line. */
export class ConversationError extends Error {
  readonly error: AcpError
  /** The agent itself said so; else the conversation broke off. */
  readonly answered: boolean

  constructor(error: AcpError, answered = true) {
    super(error.message)
    this.error = error
    this.answered = answered
  }
}

/** An agent that has not answered by then does not speak ACP, or waits for a person. */
const patience = 120_000

/** One turn with an agent: who are you, a session in the workspace, the prompt, its end. */
export function createConversation(options: Conversation): {
  app: ClientApp
  onUpdate(update: JsonRecord): void
  hold(agent: ClientContext): Promise<void>
  /** Known once the session is open. */
  sessionId(): string | null
  /** Prints what has been said but not yet printed. */
  flush(): void
} {
  const { print, alive, readOnly } = options
  const updates = createUpdates(print, alive)
  const files = workspaceFiles(options.cwd, readOnly)
  const refused = { last: false }
  let sessionId: string | null = null

  const ask = (request: JsonRecord) => {
    const call = asRecord(request.toolCall) ?? {}
    updates.asked(call)
    const { allowed, response } = decide(request, readOnly)
    refused.last = !allowed
    if (!allowed) print({ type: 'notice', text: `refused: ${firstPart(toolInput(call), 300)}` })
    return response
  }
  const app = client({ name: 'ralph' })
    // Our own readers instead of the SDK's schemas: a field that they do not know must not cost a whole attempt.
    .onRequest('session/request_permission', record, ({ params }) => ask(params))
    .onRequest('fs/read_text_file', record, ({ params }) => files.read(params))
    .onRequest('fs/write_text_file', record, ({ params }) => files.write(params))

  const hold = async (agent: ClientContext) => {
    const name = await introduce(agent, options)
    sessionId = await openSession(agent, options)
    await takeTurn({ agent, name, sessionId, options, updates, wasRefused: () => refused.last })
  }
  const onUpdate = (update: JsonRecord) => {
    if (update.sessionUpdate === 'tool_call') refused.last = false
    updates.take(update)
  }
  return { app, onUpdate, hold, sessionId: () => sessionId, flush: updates.flush }
}

/** Says who we are and asks who the agent is; gives its name. */
export async function introduce(
  agent: ClientContext,
  { version, print }: Pick<Conversation, 'version' | 'print'>,
): Promise<string> {
  const answer = await request('initialize', patience, () =>
    agent.request('initialize', {
      protocolVersion: 1,
      clientInfo: { name: 'ralph', version },
      // Writing is offered to a reviewer too: an agent that writes through us can be refused, one that writes by itself
      // cannot. Reading is answered but not offered: Gemini 0.61 takes our "not found" for a failure and makes no new file.
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: true }, terminal: false },
    }),
  )
  if (answer.protocolVersion !== 1)
    throw failed(
      'initialize',
      `the agent speaks version ${answer.protocolVersion} of ACP, and Ralph version 1`,
    )
  const { name, version: its } = asRecord(answer.agentInfo) ?? {}
  print({ type: 'agent', name: asText(name), version: asText(its) })
  return asText(name)
}

async function openSession(agent: ClientContext, { cwd, model, print }: Conversation): Promise<string> {
  const session = await request('session/new', patience, () =>
    agent.request('session/new', { cwd, mcpServers: [] }),
  )
  const id = asText(session.sessionId)
  if (model !== null) {
    const choice = await chooseModel(agent, session, model).catch((error: unknown) => {
      throw new ConversationError({ ...describeError(error, 'model'), kind: 'model' })
    })
    if (choice.type === 'unknown') {
      const offered = choice.offered.slice(0, 20).join(', ')
      const message = `the agent does not offer the model '${model}'${offered ? `; it has ${offered}` : ''}`
      throw new ConversationError({ during: 'model', message, kind: 'model', status: null })
    }
  }
  print({ type: 'session', id, model: model ?? modelOf(session) })
  return id
}

type Turn = {
  agent: ClientContext
  name: string
  sessionId: string
  options: Conversation
  updates: Updates
  /** The last thing that happened was our refusal. */
  wasRefused: () => boolean
}

/** Some agents end their turn when they are refused something; a reviewer is told to go on, but not for ever. */
const mostReminders = 5
const reminder =
  'That was refused, because you may only read here. Go on without it, and give your final answer.'

async function takeTurn({ agent, name, sessionId, options, updates, wasRefused }: Turn): Promise<void> {
  let text = options.prompt
  for (let reminders = 0; ; reminders++) {
    const prompt = [{ type: 'text' as const, text }]
    const result = await request('session/prompt', null, () =>
      agent.request('session/prompt', { sessionId, prompt }),
    )
    updates.flush()
    const tokens = sessionTokens({ agent: name, result, turns: reminders + 1 })
    const reason = asText(result.stopReason)
    if (
      options.readOnly &&
      wasRefused() &&
      gaveUp(reason, updates.sinceTool()) &&
      reminders < mostReminders
    ) {
      text = reminder
      continue
    }
    if (tokens) options.print({ type: 'tokens', ...tokens })
    options.print({ type: 'stop', reason })
    return
  }
}

function gaveUp(reason: string, said: string): boolean {
  if (reason !== 'end_turn' && reason !== 'cancelled') return false
  return /^\s*(?:(?:Info: )?Operation cancelled by user\s*)?$/u.test(said)
}

async function request(
  during: string,
  limit: number | null,
  send: () => Promise<unknown>,
): Promise<JsonRecord> {
  let timer: NodeJS.Timeout | undefined
  try {
    const late = new Promise<never>((_, reject) => {
      if (limit === null) return
      const problem = `no answer to \`${during}\` within ${limit / 1000} s; does it speak ACP?`
      timer = setTimeout(() => reject(failed(during, problem)), limit)
    })
    return record(await Promise.race([send(), late]))
  } catch (error) {
    if (error instanceof ConversationError) throw error
    throw new ConversationError(describeError(error, during), error instanceof RequestError)
  } finally {
    clearTimeout(timer)
  }
}

function failed(during: string, message: string): ConversationError {
  return new ConversationError({ during, message, kind: 'other', status: null })
}

function record(value: unknown): JsonRecord {
  return asRecord(value) ?? {}
}
