import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type BoxProxy, createProxy, type ProxyOptions } from '../../src/sandbox/proxy.ts'
import { readRules } from '../../src/sandbox/proxy-rules.ts'

let folder: string
let socket: string
let proxy: BoxProxy
let server: Server
let port: number
let seen: { url: string; host: string; headers: IncomingMessage['headers']; body: string }[]
let refused: string[]
const names: Record<string, string[]> = {
  'allowed.test': ['127.0.0.1'],
  'rebound.test': ['169.254.169.254'],
  'home.test': ['127.0.0.1'],
  'below.star.test': ['127.0.0.1'],
  'mixed.test': ['169.254.169.254', '127.0.0.1'],
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-proxy-'))
  socket = join(folder, 'p.sock')
  seen = []
  refused = []
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push({ url: request.url ?? '', host: request.headers.host ?? '', headers: request.headers, body })
    response.setHeader('X-From', 'server')
    response.end(`hello ${request.url}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})

afterEach(async () => {
  await proxy.close()
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true })
})

async function start(hosts: string[], more: Partial<ProxyOptions> = {}): Promise<void> {
  proxy = createProxy({
    rules: readRules(hosts),
    refused: what => refused.push(what),
    env: {},
    resolve: async host => names[host] ?? [],
    ...more,
  })
  await proxy.listen(socket)
}

/** Everything that comes back for these bytes, until the other side ends; `then` is sent after the first answer. */
async function raw(bytes: string, then?: string): Promise<string> {
  const client = connect({ path: socket, allowHalfOpen: true })
  client.write(bytes)
  let text = ''
  let more = then
  client.on('data', data => {
    text += data
    if (more !== undefined && text.includes('\r\n\r\n')) {
      client.end(more)
      more = undefined
    }
  })
  client.on('end', () => client.end())
  client.on('error', () => undefined)
  await once(client, 'close')
  return text
}

const get = (url: string, headers = '') =>
  raw(`GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`)
const tunnel = (to: string, path = '/tunnel') =>
  raw(
    `CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n\r\n`,
    `GET ${path} HTTP/1.1\r\nHost: inner\r\nConnection: close\r\n\r\n`,
  )

describe('the way out of a box', () => {
  it('leads to an allowed host, by a tunnel and by plain requests', async () => {
    await start([`allowed.test:${port}`])
    expect(await tunnel(`allowed.test:${port}`)).toMatch(/^HTTP\/1.1 200 .*hello \/tunnel$/s)
    expect(await get(`http://allowed.test:${port}/plain?a=1`)).toMatch(
      /^HTTP\/1.1 200 .*X-From: server.*hello/s,
    )
    expect(seen.map(({ url }) => url)).toEqual(['/tunnel', '/plain?a=1'])
    expect(refused).toEqual([])
  })

  it('S1-T02 refuses every other host and says how to allow it, to each program, and once to the user', async () => {
    await start([`allowed.test:${port}`])
    for (let index = 0; index < 3; index++) {
      expect(await tunnel('evil.test:443')).toMatch(/^HTTP\/1.1 403 .*add evil\.test to sandbox\.hosts/s)
      expect(await get(`http://evil.test:${port}/`)).toMatch(
        /^HTTP\/1.1 403 .*add evil\.test:\d+ to sandbox\.hosts/s,
      )
    }
    expect(refused).toEqual([
      'evil.test:443 (to allow it, add evil.test to sandbox.hosts)',
      `evil.test:${port} (to allow it, add evil.test:${port} to sandbox.hosts)`,
    ])
    expect(seen).toEqual([])
  })

  it('does not follow an allowed name to this machine, to the local network or to the keys of a cloud', async () => {
    const asked = { rules: 0 }
    await start(['rebound.test', 'home.test', `rebound.test:${port}`, `*.star.test:${port}`, '*'], {
      resolve: async host => {
        asked.rules++
        return names[host] ?? []
      },
    })
    for (const to of ['rebound.test:80', `rebound.test:${port}`, 'home.test:443', `below.star.test:${port}`])
      expect(await tunnel(to)).toMatch(/^HTTP\/1.1 403 .*not a public address/s)
    expect(await get('http://rebound.test/latest/meta-data')).toMatch(/^HTTP\/1.1 403/)
    expect(asked.rules).toBe(5)
    expect(seen).toEqual([])
  })

  it('goes to the address it looked at, not to another one of the name', async () => {
    await start([`mixed.test:${port}`])
    expect(await tunnel(`mixed.test:${port}`)).toMatch(/^HTTP\/1.1 200 .*hello/s)
  })

  it.each([
    '169.254.169.254:80',
    '127.0.0.1:80',
    '[::1]:80',
    '0.0.0.0:80',
    '2130706433:80',
    '0x7f000001:80',
    '127.1:80',
  ])('refuses the address %s', async to => {
    await start(['allowed.test', '*'])
    expect(await tunnel(to)).toMatch(/^HTTP\/1.1 (?:403|502)/)
    expect(await get(`http://${to}/`)).toMatch(/^HTTP\/1.1 (?:403|502)/)
    expect(seen).toEqual([])
  })

  it('believes the first line and not the Host header', async () => {
    await start([`allowed.test:${port}`])
    const asked = (line: string, host: string) =>
      raw(`GET ${line} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    expect(await asked(`http://allowed.test:${port}/`, 'evil.test')).toMatch(/^HTTP\/1.1 200/)
    expect(seen[0]?.host).toBe(`allowed.test:${port}`)
    expect(await asked(`http://evil.test:${port}/`, `allowed.test:${port}`)).toMatch(/^HTTP\/1.1 403/)
    expect(await asked('/', `allowed.test:${port}`)).toMatch(/^HTTP\/1.1 400/)
    expect(await asked(`http://allowed.test:${port}@evil.test:${port}/`, 'x')).toMatch(/^HTTP\/1.1 403/)
    expect(seen).toHaveLength(1)
  })

  it.each([
    ['two lengths', 'POST URL HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 30\r\n\r\nabc'],
    [
      'a length and chunks',
      'POST URL HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'an unknown encoding',
      'POST URL HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, xchunked\r\n\r\n0\r\n\r\n',
    ],
    ['a bare line feed', 'GET URL HTTP/1.1\nHost: x\nX: a\n\n'],
    ['a folded header', 'GET URL HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n : c\r\n\r\n'],
    ['a host with a line break', 'CONNECT allowed.test%0d%0a:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['no port', 'CONNECT allowed.test HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a password before the host', 'CONNECT allowed.test:1@evil.test:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['another scheme', 'GET ftp://allowed.test/x HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['not HTTP at all', '\x05\x01\x00\r\n\r\n'],
    ['endless headers', `GET URL HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(40_000)}\r\n\r\n`],
  ])('turns away %s', async (_, request) => {
    await start([`allowed.test:${port}`])
    expect(await raw(request.replace('URL', `http://allowed.test:${port}/`))).toMatch(/^HTTP\/1.1 4\d\d/)
    expect(seen).toEqual([])
  })

  it('hands on what is meant for the other end and nothing else', async () => {
    await start([`allowed.test:${port}`])
    const body = 'x'.repeat(100_000)
    const answer = await raw(
      `POST http://allowed.test:${port}/in HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic c2VjcmV0\r\nX-Mine: 1\r\nX-Hop: 2\r\n` +
        `Connection: close, x-hop\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    expect(answer).toMatch(/^HTTP\/1.1 200/)
    expect(seen[0]?.body).toBe(body)
    expect(seen[0]?.headers).toMatchObject({ 'x-mine': '1', 'content-length': '100000' })
    expect(seen[0]?.headers).not.toHaveProperty('proxy-authorization')
    expect(seen[0]?.headers).not.toHaveProperty('x-hop')
  })

  it('judges each request of a connection by itself', async () => {
    await start([`allowed.test:${port}`])
    const first = `GET http://allowed.test:${port}/1 HTTP/1.1\r\nHost: x\r\n\r\n`
    const second = `GET http://evil.test:${port}/2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
    expect(await raw(first + second)).toMatch(/^HTTP\/1.1 200 .*HTTP\/1.1 403/s)
    expect(seen.map(({ url }) => url)).toEqual(['/1'])
  })

  it('sends on 20 MB as fast as they are read, and what was sent before the end arrives', async () => {
    const size = 20 * 1024 * 1024
    const big = createTcp({ allowHalfOpen: true }, one => {
      one.on('error', () => undefined).resume()
      one.end(Buffer.alloc(size, 'a'))
    })
    big.listen(0, '127.0.0.1')
    await once(big, 'listening')
    const to = (big.address() as AddressInfo).port
    await start([`allowed.test:${to}`])
    const client = connect({ path: socket, allowHalfOpen: true })
    client.write(`CONNECT allowed.test:${to} HTTP/1.1\r\nHost: x\r\n\r\n`)
    let read = 0
    for await (const chunk of client) read += chunk.length
    client.destroy()
    big.close()
    expect(read).toBe(size + 'HTTP/1.1 200 Connection established\r\n\r\n'.length)
  })

  it('says that a host has no address or does not answer', async () => {
    await start(['nowhere.test', 'allowed.test:1'])
    expect(await tunnel('nowhere.test:443')).toMatch(/^HTTP\/1.1 502 .*has no address/s)
    expect(await tunnel('allowed.test:1')).toMatch(/^HTTP\/1.1 502/)
    expect(await get('http://allowed.test:1/')).toMatch(/^HTTP\/1.1 502/)
    expect(refused).toEqual([])
  })

  it('leads a port in the box to the same port here', async () => {
    await start([`localhost:${port}`])
    const path = join(folder, 'port.sock')
    await proxy.forward(path, port)
    const client = connect({ path })
    client.end('GET /direct HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    let text = ''
    for await (const chunk of client) text += chunk
    expect(text).toMatch(/hello \/direct$/)
    // The same by the proxy, for clients that ask it for everything.
    expect(await get(`http://localhost:${port}/asked`)).toMatch(/hello \/asked$/)
  })

  it('ends with the box: no connection is left', async () => {
    await start([`allowed.test:${port}`])
    const client = connect({ path: socket })
    client.write(`CONNECT allowed.test:${port} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await once(client, 'data')
    await proxy.close()
    await once(client, 'close')
    const late = connect({ path: socket })
    await expect(once(late, 'connect')).rejects.toThrow()
  })
})

describe('a machine that needs a proxy itself', () => {
  it('is left by that proxy, with its password, after the same rules', async () => {
    const asked: string[] = []
    const upstream = createServer((request, response) => {
      asked.push(`${request.url} ${request.headers['proxy-authorization']} ${request.headers.host}`)
      response.end('by the proxy')
    })
    upstream.on('connect', (request, one) => {
      asked.push(`${request.url} ${request.headers['proxy-authorization']}`)
      one.end('HTTP/1.1 200 OK\r\n\r\nfrom the far end')
    })
    upstream.listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    const at = (upstream.address() as AddressInfo).port
    const env = {
      HTTPS_PROXY: `http://me:pa%20ss@127.0.0.1:${at}`,
      http_proxy: `127.0.0.1:${at}`,
      NO_PROXY: '.inner.test',
    }
    await start(['far.test', `allowed.test:${port}`, `a.inner.test:${port}`], {
      env,
      resolve: async () => ['127.0.0.1'],
    })
    expect(await tunnel('far.test:443')).toMatch(/^HTTP\/1.1 200 .*from the far end$/s)
    expect(await get('http://far.test/x')).toMatch(/by the proxy$/)
    expect(await tunnel('evil.test:443')).toMatch(/^HTTP\/1.1 403/)
    expect(await tunnel(`a.inner.test:${port}`)).toMatch(/hello \/tunnel$/)
    const secret = `Basic ${Buffer.from('me:pa ss').toString('base64')}`
    expect(asked).toEqual([`far.test:443 ${secret}`, 'http://far.test/x undefined far.test'])
    upstream.close()
  })
})
