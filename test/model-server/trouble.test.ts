import { describe, expect, it } from 'vitest'
import { askers, post, useModelServer } from './ask.ts'
import type { Turn } from './scenario.ts'
import { startModelServer } from './server.ts'

const server = useModelServer()
let count = 0
const text = 'A text that is long enough to be said in several pieces, of which only half arrive.'

/** How long nothing may come: before the first byte, and after it. Short only where nothing is expected. */
type Patience = { first?: number; next?: number }

/** Asks, and reads what comes until it ends, breaks, is too much, or nothing has come for a while. */
async function hear(name: keyof typeof askers, turn: Turn, stream: boolean, patience: Patience = {}) {
  const { first = 10_000, next = 10_000 } = patience
  const url = server().scenario(`t${++count}`, { turns: [turn] })
  const leave = new AbortController()
  const { path, body } = askers[name].request({ answers: 0, stream, tools: true })
  const quiet = (ms: number) => new Promise<'quiet'>(resolve => setTimeout(resolve, ms, 'quiet').unref())
  const asked = post(url + path, body, { signal: leave.signal })
  let heard = ''
  try {
    const response = await Promise.race([asked, quiet(first)])
    if (response === 'quiet') return { heard, end: 'no answer' }
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const piece = await Promise.race([reader?.read() ?? quiet(0), quiet(heard ? next : first)])
      if (piece === 'quiet') return { heard, end: 'hangs' }
      if (piece.done) return { heard, end: 'whole' }
      heard += piece.value
      if (heard.length > 500_000) return { heard, end: 'goes on' }
    }
  } catch {
    return { heard, end: 'broken' }
  } finally {
    leave.abort()
    await asked.catch(() => undefined)
  }
}

function expectHalf(heard: string, stream: boolean): void {
  expect(heard).toContain(stream ? 'A text' : '{"')
  if (stream) expect(heard).not.toContain('arrive.')
  else expect(() => JSON.parse(heard)).toThrow()
}

describe.each(['anthropic', 'responses', 'chat', 'gemini'] as const)('%s', name => {
  it.each([true, false])('is silent: not even a header comes (stream: %s)', async stream => {
    expect(await hear(name, { text, trouble: 'silent' }, stream, { first: 250 })).toEqual({
      heard: '',
      end: 'no answer',
    })
  })

  it.each([true, false])('hangs halfway (stream: %s)', async stream => {
    const { heard, end } = await hear(name, { text, trouble: 'hang' }, stream, { next: 400 })
    expect(end).toBe('hangs')
    expectHalf(heard, stream)
  })

  it.each([true, false])('is cut off halfway, after the half has arrived (stream: %s)', async stream => {
    const { heard, end } = await hear(name, { text, trouble: 'drop' }, stream)
    expect(end).toBe('broken')
    expectHalf(heard, stream)
  })

  it.each([true, false])('never ends (stream: %s)', async stream => {
    const { heard, end } = await hear(name, { text, trouble: 'endless' }, stream)
    expect(end).toBe('goes on')
    if (stream) expect(heard.split('and so on').length).toBeGreaterThan(1000)
    else expect(heard.trim()).toBe('')
  })

  it('is slow to start', async () => {
    const from = performance.now()
    expect(await hear(name, { text, delay: 120 }, true)).toMatchObject({ end: 'whole' })
    expect(performance.now() - from).toBeGreaterThanOrEqual(110)
  })
})

describe('an endless stream', () => {
  it('waits for a client that does not read, and ends with one that leaves', async () => {
    const own = await startModelServer()
    try {
      const url = own.scenario('endless', { turns: [{ trouble: 'endless' }] })
      const leave = new AbortController()
      const { path, body } = askers.chat.request({ answers: 0, stream: true, tools: true })
      const response = await post(url + path, body, { signal: leave.signal })
      const before = process.memoryUsage().rss
      await new Promise(resolve => setTimeout(resolve, 300))
      expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000)
      expect(response.status).toBe(200)
      leave.abort()
      // Somebody else is served meanwhile.
      expect((await fetch(`${url}/v1/models`)).status).toBe(200)
    } finally {
      await own.close()
    }
  })
})

describe('closing', () => {
  it('cuts what hangs and is over at once', async () => {
    const own = await startModelServer()
    const url = own.scenario('hang', { turns: [{ trouble: 'silent' }] })
    const slow = own.scenario('slow', { turns: [{ text, delay: 60_000 }] })
    const { path, body } = askers.anthropic.request({ answers: 0, stream: true, tools: true })
    const asked = [url, slow].map(base =>
      post(base + path, body).then(
        () => 'answered',
        () => 'cut',
      ),
    )
    while (own.requests('hang').length + own.requests('slow').length < 2)
      await new Promise(resolve => setTimeout(resolve, 5))
    await own.close()
    expect(await Promise.all(asked)).toEqual(['cut', 'cut'])
    await expect(fetch(own.url)).rejects.toThrow()
  })
})
