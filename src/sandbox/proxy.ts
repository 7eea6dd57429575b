import { lookup } from 'node:dns/promises'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, isIP, type Server } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import {
  bracketed,
  connected,
  connectTo,
  join,
  nameOf,
  reach,
  type Target,
  type Way,
} from './proxy-connect.ts'
import { type HostRule, isHere, mayReach, plainHost, ruleFor } from './proxy-rules.ts'
import { connectUpstream, upstreamFor } from './proxy-upstream.ts'

export type ProxyOptions = {
  rules: readonly HostRule[]
  /** Told once for each host and port that somebody wanted and did not get. */
  refused(what: string): void
  /** The environment Ralph was started with: the proxy it names is used on the way out. */
  env: Readonly<Record<string, string | undefined>>
  /** Every address of a name. */
  resolve?: (host: string) => Promise<string[]>
}

export type BoxProxy = {
  /** Serves programs that come by this socket. */
  listen(path: string): Promise<void>
  /** Leads all who come by this socket to a port of this machine. */
  forward(path: string, port: number): Promise<void>
  close(): Promise<void>
}

const headerTime = 20_000
/** An agent may think for long while its stream is open. */
const idleTime = 30 * 60_000
const mostConnections = 512
const mostHeaders = 32 * 1024
/** So many refused hosts are told; a program that tries all names there are would fill the memory. */
const mostTold = 200

/** The only way out of a box: it looks where a program wants to go, and where that name really leads. */
export function createProxy(options: ProxyOptions): BoxProxy {
  const told = new Set<string>()
  const open = new Set<Duplex>()
  const servers: Server[] = []
  const keep = (socket: Duplex) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket)).on('error', () => socket.destroy())
  }
  const way = async (target: Target): Promise<Way | Refusal> => {
    const found = await findWay(target, options)
    if ('status' in found && found.status === 403 && told.size < mostTold) {
      const what = nameOf(target)
      if (!told.has(what)) options.refused(`${what} (${found.why})`)
      told.add(what)
    }
    return found
  }

  const start = (server: Server, path: string) =>
    new Promise<void>((resolve, reject) => {
      servers.push(server)
      server.maxConnections = mostConnections
      server.on('connection', keep)
      server.once('error', reject)
      server.listen(path, () => {
        server.off('error', reject)
        // One connection that cannot be taken is no reason to end.
        server.on('error', () => undefined)
        // A run that is over does not wait for us.
        server.unref()
        resolve()
      })
    })

  return {
    listen: path => {
      const server = createServer({
        maxHeaderSize: mostHeaders,
        headersTimeout: headerTime,
        requestTimeout: 0,
        keepAliveTimeout: 60_000,
        insecureHTTPParser: false,
      })
      server.timeout = idleTime
      server.on(
        'request',
        (request, response) => void answer(request, response, way).catch(() => response.destroy()),
      )
      server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
        void tunnel({ request, socket, head, way, keep }).catch(() => socket.destroy())
      })
      server.on('clientError', (_, socket) =>
        socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'),
      )
      return start(server, path)
    },
    forward: (path, port) => {
      const server = createTcpServer({ allowHalfOpen: true }, socket => {
        void connectTo(['127.0.0.1', '::1'], port).then(
          outside => {
            keep(outside)
            join(socket, outside)
          },
          () => socket.destroy(),
        )
      })
      return start(server, path)
    },
    close: async () => {
      const closed = servers.map(server => new Promise(resolve => server.close(resolve)))
      for (const socket of open) socket.destroy()
      await Promise.all(closed)
    },
  }
}

type Refusal = { status: 400 | 403 | 502; why: string }

async function findWay(target: Target, options: ProxyOptions): Promise<Way | Refusal> {
  const { host, port } = target
  const rule = ruleFor(options.rules, host, port)
  if (!rule) return { status: 403, why: `to allow it, add ${wanted(target)} to sandbox.hosts` }
  if (isHere(host)) return { addresses: ['127.0.0.1', '::1'], upstream: null }
  const upstream = upstreamFor(options.env, target)
  // What a name means there, only that proxy knows.
  if (upstream) return { addresses: null, upstream }
  const addresses = isIP(host) ? [host] : await (options.resolve ?? addressesOf)(host).catch(() => [])
  if (addresses.length === 0) return { status: 502, why: `${host} has no address` }
  const reachable = addresses.filter(address => mayReach(rule, address))
  if (reachable.length > 0) return { addresses: reachable, upstream: null }
  return { status: 403, why: `the name leads to ${addresses[0]}, which is not a public address` }
}

async function addressesOf(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}

/** `CONNECT host:port`: from then on bytes go both ways unread, usually encrypted. */
async function tunnel(options: {
  request: IncomingMessage
  socket: Duplex
  head: Buffer
  way(target: Target): Promise<Way | Refusal>
  keep(socket: Duplex): void
}): Promise<void> {
  const { request, socket, head, way, keep } = options
  const target = authority(request.url ?? '')
  const found = target ? await way(target) : badTarget
  if (!target || 'status' in found) return refuseTunnel(socket, target, found as Refusal)
  const outside = await reach(found, target).catch(
    (error: Error) => ({ status: 502, why: error.message }) as const,
  )
  if ('status' in outside) return refuseTunnel(socket, target, outside)
  keep(outside)
  if (socket.destroyed) return void outside.destroy()
  outside.setTimeout(idleTime, () => outside.destroy())
  socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
  if (head.length > 0) outside.write(head)
  join(socket, outside)
}

/** `GET http://host/path`: sent on as a request of its own, with the headers that are meant for the other end. */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  way: (target: Target) => Promise<Way | Refusal>,
): Promise<void> {
  const url = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : null
  const host = url && plainHost(url.hostname)
  if (url?.protocol !== 'http:' || !host) return refuse(response, badTarget, null)
  const target = { host, port: Number(url.port) || 80, encrypted: false }
  const found = await way(target)
  if ('status' in found) return refuse(response, found, target)
  const headers = forwarded(request, url)
  if (found.upstream?.authorization) headers.push('Proxy-Authorization', found.upstream.authorization)
  const socket = await (found.upstream
    ? connected(connectUpstream(found.upstream))
    : connectTo(found.addresses, target.port)
  ).catch(() => null)
  if (!socket) return refuse(response, { status: 502, why: 'it cannot be reached' }, target)
  const onward = httpRequest({
    createConnection: () => socket,
    method: request.method ?? 'GET',
    path: found.upstream ? url.href : `${url.pathname}${url.search}`,
    headers,
    setHost: false,
  })
  onward.setTimeout(idleTime, () => onward.destroy())
  onward.on('response', answered => {
    const kept = endToEnd(answered.rawHeaders, answered.headers.connection)
    response.writeHead(answered.statusCode ?? 502, answered.statusMessage ?? '', kept)
    pipeline(answered, response, () => undefined)
  })
  onward.on('error', () => {
    if (response.headersSent) response.destroy()
    else refuse(response, { status: 502, why: 'the connection broke' }, target)
  })
  response.on('close', () => onward.destroy())
  request.pipe(onward)
}

/** Where the request goes is in its first line alone: a Host header that says otherwise is not believed. */
function forwarded(request: IncomingMessage, url: URL): string[] {
  const kept = endToEnd(request.rawHeaders, request.headers.connection)
  const headers: string[] = ['Host', url.host, 'Connection', 'close']
  for (let index = 0; index < kept.length; index += 2) {
    const [name = '', value = ''] = [kept[index], kept[index + 1]]
    if (name.toLowerCase() !== 'host') headers.push(name, value)
  }
  const length = request.headers['content-length']
  if (length === undefined && request.headers['transfer-encoding'])
    headers.push('Transfer-Encoding', 'chunked')
  return headers
}

const oneStep = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
])

/** Names and values in turn, without those that are only for the next station. */
function endToEnd(raw: readonly string[], connection: string | undefined): string[] {
  const named = new Set((connection ?? '').toLowerCase().split(/[\s,]+/))
  const kept: string[] = []
  for (let index = 0; index < raw.length; index += 2) {
    const [name = '', value = ''] = [raw[index], raw[index + 1]]
    if (!oneStep.has(name.toLowerCase()) && !named.has(name.toLowerCase())) kept.push(name, value)
  }
  return kept
}

/** `host:port` and nothing else. */
function authority(text: string): Target | null {
  const [, name, port] = /^(\[[0-9a-f:.]+\]|[^\s:/@[\]]+):(\d{1,5})$/i.exec(text) ?? []
  const host = plainHost(name ?? '')
  const number = Number(port)
  return host !== null && number > 0 && number < 65536 ? { host, port: number, encrypted: true } : null
}

const badTarget: Refusal = { status: 400, why: 'the request names no host that could be looked for' }

function refuseTunnel(socket: Duplex, target: Target | null, refusal: Refusal): void {
  const body = sentence(refusal, target)
  socket.end(
    `HTTP/1.1 ${refusal.status} ${reasons[refusal.status]}\r\nContent-Type: text/plain\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Ralph-Sandbox: ${body.trim()}\r\nConnection: close\r\n\r\n${body}`,
  )
}

function refuse(response: ServerResponse, refusal: Refusal, target: Target | null): void {
  if (response.headersSent || response.destroyed) return
  const body = sentence(refusal, target)
  response.writeHead(refusal.status, reasons[refusal.status], {
    'Content-Type': 'text/plain',
    'X-Ralph-Sandbox': body.trim(),
    Connection: 'close',
  })
  response.end(body)
}

const reasons = { 400: 'Bad Request', 403: 'Not allowed by the sandbox', 502: 'Bad Gateway' }

function sentence({ status, why }: Refusal, target: Target | null): string {
  const what = target ? nameOf(target) : 'this'
  const text = status === 403 ? `${what} is not allowed in this sandbox: ${why}` : `${what}: ${why}`
  return `${text.replace(/[^\x20-\x7e]/g, '?')}\n`
}

function wanted({ host, port }: Target): string {
  return port === 443 || port === 80 ? bracketed(host) : `${bracketed(host)}:${port}`
}
