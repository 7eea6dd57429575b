import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { asRecord, type JsonRecord } from '../../src/agents/json.ts'
import type { Asked } from './dialect.ts'
import { createRequestLog, type LoggedRequest, pathWithoutKeys, withoutKeys } from './request-log.ts'
import { findRoute, modelList } from './routes.ts'
import { createScript, type Scenario } from './scenario.ts'
import { send, sendJson } from './send.ts'

export type ModelServer = {
  /** `http://127.0.0.1:<port>` */
  url: string
  /** Plays a scenario under a URL of its own, which is given back; a name that is used again starts anew. */
  scenario(name: string, scenario: Scenario): string
  /** The requests that came for a scenario, the last ones, in order. */
  requests(name: string): LoggedRequest[]
  /** Cuts all connections, those that hang too. */
  close(): Promise<void>
}

type State = {
  scripts: Map<string, ReturnType<typeof createScript>>
  log: ReturnType<typeof createRequestLog>
  closing: AbortController
}

/** A model that does what a scenario says, in the words of whoever asks. It can be reached from this machine only. */
export async function startModelServer(options: { port?: number } = {}): Promise<ModelServer> {
  const state: State = { scripts: new Map(), log: createRequestLog(), closing: new AbortController() }
  const server = createServer((req, res) => {
    answer(state, req, res).catch((error: unknown) => {
      // The client has gone, or we close: nobody is left to be told.
      if (res.destroyed || state.closing.signal.aborted) return
      if (res.headersSent) res.destroy()
      else sendJson(res, 500, { error: { message: `model server: ${String(error)}` } })
    })
  })
  // Nobody speaks WebSocket here; a program that tries falls back.
  server.on('upgrade', (_req, socket) => {
    socket.end('HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    scenario(name, scenario) {
      if (!/^[\w.-]+$/u.test(name)) throw new Error(`'${name}' cannot stand in a URL`)
      state.scripts.set(name, createScript(scenario))
      return `${url}/s/${name}`
    },
    requests: name => state.log.of(name),
    close() {
      state.closing.abort()
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      server.closeAllConnections()
      return closed
    },
  }
}

const noTurn: Asked = { answers: 0, offered: [] }

const mostBody = 64 * 1024 * 1024

async function answer(state: State, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = new URL(req.url ?? '/', 'http://127.0.0.1')
  const [, name = '', path = ''] = /^\/s\/([\w.-]+)(\/.*)?$/u.exec(url.pathname) ?? []
  const text = await readBody(req)
  if (text === null)
    return sendJson(res, 413, { error: { message: 'model server: the request is too large' } })
  const body = parsed(text)
  const route = findRoute(req.method ?? 'GET', path + url.search, body)
  const { answers, offered } = route.type === 'turn' ? route.dialect.read(body) : noTurn
  state.log.add(
    name,
    {
      at: Date.now(),
      method: req.method ?? '',
      path: pathWithoutKeys(url, path),
      headers: withoutKeys(req.headers),
      body: Object.keys(body).length > 0 ? body : text,
      answers: route.type === 'turn' ? answers : null,
    },
    text.length,
  )
  const script = state.scripts.get(name)
  if (!script) return sendJson(res, 404, notFound(`there is no scenario '${name}'`))
  switch (route.type) {
    case 'count':
      return sendJson(res, 200, { [route.field]: Math.ceil(text.length / 4) })
    case 'models':
      return sendJson(res, 200, modelList(path, 'anthropic-version' in req.headers))
    case 'unknown':
      return sendJson(res, 404, notFound(`there is nothing at ${req.method} ${path}`))
    case 'turn': {
      const { dialect, model, stream } = route
      const turn = offered.length > 0 ? script.next(answers) : script.side
      await send({ res, dialect, turn, body, model, stream, offered, gone: goneSignal(state, res) })
      return
    }
    default:
      return route satisfies never
  }
}

function goneSignal(state: State, res: ServerResponse): AbortSignal {
  const left = new AbortController()
  res.once('close', () => left.abort())
  return AbortSignal.any([left.signal, state.closing.signal])
}

/** Null when it is too large. */
async function readBody(req: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= mostBody) chunks.push(chunk)
  }
  return size > mostBody ? null : Buffer.concat(chunks).toString('utf8')
}

function parsed(text: string): JsonRecord {
  try {
    return asRecord(JSON.parse(text)) ?? {}
  } catch {
    // Kept as text in the log.
    return {}
  }
}

function notFound(message: string) {
  return { type: 'error', error: { type: 'not_found_error', message: `model server: ${message}` } }
}
