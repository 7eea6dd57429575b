import { once } from 'node:events'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { describe, expect, it } from 'vitest'
import { ask, askers, post, useModelServer } from './ask.ts'
import { createRequestLog } from './request-log.ts'
import { startModelServer } from './server.ts'

const server = useModelServer()

describe('where it can be reached', () => {
  it('is bound to the loopback address and no other', async () => {
    const { hostname, port } = new URL(server().url)
    expect(hostname).toBe('127.0.0.1')
    const others = Object.values(networkInterfaces())
      .flatMap(list => list ?? [])
      .filter(one => !one.internal && one.family === 'IPv4')
      .map(one => one.address)
    // 127.0.0.2 is this machine too, and would be served by a server that listens everywhere.
    for (const address of ['127.0.0.2', ...others]) {
      const socket = connect({ host: address, port: Number(port), timeout: 2000 })
      const [how] = await Promise.race([
        once(socket, 'connect').then(() => ['connected']),
        once(socket, 'timeout').then(() => ['refused']),
        new Promise<string[]>(resolve => socket.once('error', () => resolve(['refused']))),
      ])
      socket.destroy()
      expect(`${address} ${how}`).toBe(`${address} refused`)
    }
  })

  it('can be given a port', async () => {
    const first = await startModelServer()
    const port = Number(new URL(first.url).port)
    await first.close()
    const second = await startModelServer({ port })
    expect(second.url).toBe(first.url)
    await expect(startModelServer({ port })).rejects.toThrow('EADDRINUSE')
    await second.close()
  })
})

describe('scenarios', () => {
  it('keeps them apart by name and starts a name anew', async () => {
    const one = server().scenario('one', { turns: [{ text: 'I am one' }] })
    const two = server().scenario('two', { turns: [{ text: 'I am two' }] })
    expect((await ask(one, askers.chat)).text).toBe('I am one')
    expect((await ask(two, askers.chat)).text).toBe('I am two')
    server().scenario('one', { turns: [{ text: 'I am new' }] })
    expect((await ask(one, askers.chat)).text).toBe('I am new')
  })

  it('refuses one without turns and a name that is no part of a URL', () => {
    expect(() => server().scenario('x', { turns: [] })).toThrow('at least one turn')
    expect(() => server().scenario('a/b', { turns: [{}] })).toThrow('a/b')
  })

  it('says what is not there', async () => {
    const unknown = await post(`${server().url}/s/nobody/v1/messages`, {})
    expect([unknown.status, await unknown.text()]).toEqual([
      404,
      expect.stringContaining("no scenario 'nobody'"),
    ])
    const url = server().scenario('here', { turns: [{}] })
    const lost = await post(`${url}/v1/elsewhere`, {})
    expect([lost.status, await lost.text()]).toEqual([404, expect.stringContaining('POST /v1/elsewhere')])
    expect((await fetch(server().url)).status).toBe(404)
  })

  it('lists models in the words of each dialect', async () => {
    const url = server().scenario('models', { turns: [{}] })
    const list = async (path: string, headers = {}) => (await fetch(url + path, { headers })).json()
    expect(await list('/v1/models')).toMatchObject({ object: 'list', data: [{ id: 'scripted-model' }] })
    expect(await list('/v1/models', { 'anthropic-version': '2023-06-01' })).toMatchObject({
      data: [{ type: 'model', id: 'scripted-model' }],
      has_more: false,
    })
    expect(await list('/v1beta/models')).toMatchObject({ models: [{ name: 'models/scripted-model' }] })
  })

  it('declines a WebSocket', async () => {
    const { port } = new URL(server().url)
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(
      'GET /s/x/v1/responses HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    )
    const [answer] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect(answer.toString()).toContain('426')
  })
})

describe('the log', () => {
  it('holds what came, without keys', async () => {
    const url = server().scenario('log', { turns: [{ text: 'x' }] })
    const { path, body } = askers.gemini.request({ answers: 2, stream: true, tools: true })
    const headers = {
      'x-api-key': 'secret-1',
      authorization: 'Bearer secret-2',
      'x-goog-api-key': 'secret-3',
      'user-agent': 'tester',
    }
    await (await post(`${url}${path}&key=secret-4`, body, { headers })).text()
    await (await fetch(`${url}/v1/models`)).text()
    await (await fetch(`${url}/v1/messages`, { method: 'POST', body: 'no json' })).text()
    const requests = server().requests('log')
    expect(requests).toHaveLength(3)
    expect(requests[0]).toMatchObject({
      method: 'POST',
      path: '/v1beta/models/m:streamGenerateContent?alt=sse&key=[redacted]',
      headers: { 'user-agent': 'tester', 'x-api-key': '[redacted]' },
      body,
      answers: 2,
    })
    expect(requests[1]).toMatchObject({ method: 'GET', path: '/v1/models', answers: null })
    expect(requests[2]).toMatchObject({ body: 'no json', answers: 0 })
    expect(JSON.stringify(requests)).not.toContain('secret-')
    expect(server().requests('nobody-asked')).toEqual([])
  })

  it('takes a prompt of 3 MB whole', async () => {
    const url = server().scenario('large', { turns: [{ text: 'read' }] })
    const { path, body } = askers.anthropic.request({ answers: 0, stream: true, tools: true })
    const system = 'ä'.repeat(1_500_000)
    expect((await post(url + path, { ...body, system })).status).toBe(200)
    expect(server().requests('large')[0]?.body).toMatchObject({ system })
  })

  it('forgets the oldest when there are too many or they are too large', () => {
    const entry = (at: number) => ({ at, method: '', path: '', headers: {}, body: '', answers: null })
    const many = createRequestLog({ requests: 3, bytes: 1000 })
    for (let at = 0; at < 10; at++) many.add(at % 2 ? 'odd' : 'even', entry(at), 1)
    expect([many.of('odd'), many.of('even')].map(list => list.map(one => one.at))).toEqual([[7, 9], [8]])
    const large = createRequestLog({ requests: 3, bytes: 1000 })
    for (let at = 0; at < 3; at++) large.add('x', entry(at), 600)
    expect(large.of('x').map(one => one.at)).toEqual([2])
    large.add('x', entry(3), 5000)
    expect(large.of('x').map(one => one.at)).toEqual([3])
  })
})
