import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay, setImmediate as nextRound } from 'node:timers/promises'
import type { JsonRecord } from '../../src/agents/json.ts'
import { type Dialect, newId, type ServerEvent } from './dialect.ts'
import type { Answer, Failure, Reply, Tokens, Turn } from './scenario.ts'
import { type OfferedTool, translate } from './tools.ts'

export type Sending = {
  res: ServerResponse
  dialect: Dialect
  turn: Turn
  body: JsonRecord
  model: string
  stream: boolean
  offered: readonly OfferedTool[]
  /** Ends when the client has gone or the server is closed. */
  gone: AbortSignal
}

/** Plays one turn to a client, with all its troubles. */
export async function send(sending: Sending): Promise<void> {
  const { turn, gone } = sending
  if (turn.delay) await delay(turn.delay, undefined, { signal: gone, ref: false })
  if (turn.error !== undefined) return sendFailure(sending, turn.error)
  if (turn.trouble === 'silent') return
  const reply = replyOf(turn, sending)
  return sending.stream ? sendStream(sending, turn, reply) : sendWhole(sending, turn, reply)
}

export function sendJson(res: ServerResponse, status: number, body: unknown, headers = {}): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers })
  res.end(JSON.stringify(body))
}

const usual: Tokens = { input: 1000, output: 50, cacheRead: 0, cacheWrite: 0 }

function replyOf(turn: Answer, { model, offered }: Sending): Reply {
  const calls = (turn.tools ?? []).map(call => translate(call, offered))
  return {
    model,
    text: turn.text ?? '',
    calls,
    usage: { ...usual, ...turn.usage },
    stop: turn.stop ?? (calls.length > 0 ? 'tools' : 'end'),
  }
}

function sendFailure(sending: Sending, failure: Failure): void {
  const { res, dialect, stream } = sending
  const events = stream ? dialect.failedStream?.(failure, replyOf({}, sending)) : null
  if (events) {
    startStream(res)
    res.end(events.map(encode).join(''))
    return
  }
  const { status, headers, body } = dialect.failure(failure)
  sendJson(res, status, body, { 'request-id': newId('req_'), ...headers })
}

async function sendStream({ res, dialect, body, gone }: Sending, turn: Answer, reply: Reply): Promise<void> {
  startStream(res)
  if (turn.trouble === 'endless') {
    const { opening, more } = dialect.endless(reply)
    return sendForEver(res, opening.map(encode).join(''), encode(more))
  }
  const events = dialect.events(reply, body)
  if (!turn.trouble) {
    for (const event of events) await write(res, encode(event))
    res.end()
    return
  }
  // Never the last event: it would be the whole answer.
  const half = events.slice(0, Math.min(Math.ceil(events.length / 2), events.length - 1))
  for (const event of half) await write(res, encode(event))
  if (turn.trouble === 'drop') await cut(res, gone)
}

async function sendWhole({ res, dialect, gone }: Sending, turn: Answer, reply: Reply): Promise<void> {
  const text = JSON.stringify(dialect.whole(reply))
  if (!turn.trouble) return sendJson(res, 200, JSON.parse(text), { 'request-id': newId('req_') })
  res.writeHead(200, { 'content-type': 'application/json' })
  // White space before a JSON text is allowed, however much of it.
  if (turn.trouble === 'endless') return sendForEver(res, '', ' '.repeat(1000))
  await write(res, text.slice(0, text.length / 2))
  if (turn.trouble === 'drop') await cut(res, gone)
}

function startStream(res: ServerResponse): void {
  res.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'request-id': newId('req_'),
  })
  res.flushHeaders()
}

/** As fast as the client reads, and not faster. */
async function sendForEver(res: ServerResponse, opening: string, more: string): Promise<void> {
  if (opening) await write(res, opening)
  while (!res.destroyed) {
    await write(res, more)
    // Others have their turn too: a write that is taken at once never leaves this round of the loop.
    await nextRound()
  }
}

/** Resolves when the system has taken it. */
async function write(res: ServerResponse, text: string): Promise<void> {
  await new Promise<void>((resolve, reject) => res.write(text, error => (error ? reject(error) : resolve())))
}

/** What was written is given a moment to arrive: cut off at once, it might be thrown away with the connection. */
async function cut(res: ServerResponse, gone: AbortSignal): Promise<void> {
  await delay(30, undefined, { signal: gone, ref: false })
  const closed = once(res, 'close')
  res.destroy()
  await closed
}

function encode({ event, data }: ServerEvent): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${event ? `event: ${event}\n` : ''}data: ${text}\n\n`
}
