import { describe, expect, it } from 'vitest'
import { ask, askers, type Json, parseSse, post, useModelServer } from './ask.ts'
import type { Turn } from './scenario.ts'

const server = useModelServer()
let count = 0

async function fails(name: keyof typeof askers, turn: Turn, stream = true) {
  const url = server().scenario(`f${++count}`, { turns: [turn] })
  const { path, body } = askers[name].request({ answers: 0, stream, tools: true })
  const response = await post(url + path, body)
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, error: errorIn(text) }
}

function errorIn(text: string): Json | undefined {
  return text.startsWith('{') ? (JSON.parse(text) as Json).error : undefined
}

describe('HTTP errors in the words of each dialect', () => {
  it.each([
    ['anthropic', 401, { type: 'authentication_error', message: 'invalid x-api-key' }],
    ['anthropic', 403, { type: 'permission_error' }],
    ['anthropic', 429, { type: 'rate_limit_error' }],
    ['anthropic', 500, { type: 'api_error' }],
    ['anthropic', 529, { type: 'overloaded_error', message: 'Overloaded' }],
    ['responses', 401, { code: 'invalid_api_key', type: 'invalid_request_error' }],
    ['responses', 403, { code: 'unsupported_country_region_territory' }],
    ['responses', 429, { code: 'rate_limit_exceeded' }],
    ['responses', 500, { type: 'server_error', code: null }],
    ['responses', 529, { type: 'server_error' }],
    ['chat', 401, { code: 'invalid_api_key' }],
    ['chat', 403, { code: 'unsupported_country_region_territory' }],
    ['chat', 429, { code: 'rate_limit_exceeded' }],
    ['chat', 500, { type: 'server_error' }],
    ['chat', 529, { type: 'server_error' }],
    ['gemini', 401, { code: 401, status: 'UNAUTHENTICATED' }],
    ['gemini', 403, { code: 403, status: 'PERMISSION_DENIED' }],
    ['gemini', 429, { code: 429, status: 'RESOURCE_EXHAUSTED' }],
    ['gemini', 500, { code: 500, status: 'INTERNAL' }],
    ['gemini', 529, { code: 529 }],
  ] as const)('%s: %i', async (name, status, error) => {
    for (const stream of [true, false]) {
      const failed = await fails(name, { error: { status } }, stream)
      expect(failed.status).toBe(status)
      expect(failed.headers.get('content-type')).toContain('application/json')
      expect(failed.error).toMatchObject(error)
    }
  })

  it('lets type, code, message, headers and further fields be chosen', async () => {
    const error = {
      status: 429,
      type: 'usage_limit_reached',
      code: 'x',
      message: 'The usage limit has been reached',
      headers: { 'anthropic-ratelimit-unified-status': 'rejected' },
      fields: { resets_in_seconds: 60 },
    }
    const failed = await fails('responses', { error })
    expect(failed.error).toMatchObject({
      type: error.type,
      code: 'x',
      message: error.message,
      resets_in_seconds: 60,
    })
    expect(failed.headers.get('anthropic-ratelimit-unified-status')).toBe('rejected')
  })
})

describe('the end of a limit', () => {
  const limited = (name: keyof typeof askers) => fails(name, { error: { status: 429, resetAfter: 3723 } })

  it('anthropic: as seconds and as a date', async () => {
    const { headers } = await limited('anthropic')
    expect(headers.get('retry-after')).toBe('3723')
    const reset = Date.parse(headers.get('anthropic-ratelimit-requests-reset') ?? '')
    expect(Math.abs(reset - Date.now() - 3_723_000)).toBeLessThan(30_000)
  })

  it.each(['responses', 'chat'] as const)('%s: as seconds and as a span', async name => {
    const { headers } = await limited(name)
    expect(headers.get('retry-after')).toBe('3723')
    expect(headers.get('x-ratelimit-reset-requests')).toBe('1h2m3s')
    expect(headers.get('x-ratelimit-remaining-requests')).toBe('0')
  })

  it('gemini: in the body too', async () => {
    const { headers, error } = await limited('gemini')
    expect(headers.get('retry-after')).toBe('3723')
    expect(error?.details?.[0]).toMatchObject({ retryDelay: '3723s' })
  })
})

describe('a prompt that is too long', () => {
  it.each([
    ['anthropic', { type: 'invalid_request_error', message: expect.stringContaining('prompt is too long') }],
    ['chat', { code: 'context_length_exceeded', message: expect.stringContaining('maximum context length') }],
    [
      'gemini',
      {
        status: 'INVALID_ARGUMENT',
        message: expect.stringContaining('exceeds the maximum number of tokens'),
      },
    ],
  ] as const)('%s: 400', async (name, error) => {
    const failed = await fails(name, { error: 'prompt-too-long' })
    expect(failed.status).toBe(400)
    expect(failed.error).toMatchObject(error)
  })

  it('responses: 400, or a stream that fails', async () => {
    const whole = await fails('responses', { error: 'prompt-too-long' }, false)
    expect(whole).toMatchObject({ status: 400, error: { code: 'context_length_exceeded' } })
    const streamed = await fails('responses', { error: 'prompt-too-long' })
    const last = parseSse(streamed.text).at(-1)
    expect(last?.event).toBe('response.failed')
    expect(last?.data.response).toMatchObject({
      status: 'failed',
      error: { code: 'context_length_exceeded' },
    })
  })
})

describe('by count', () => {
  it('fails the first time a turn is asked for and answers the next, turn by turn', async () => {
    const url = server().scenario('attempts', {
      turns: [
        { attempts: [{ error: { status: 529 } }, { error: { status: 500 } }, { text: 'at last' }] },
        { attempts: [{ error: { status: 429 } }, { text: 'again' }] },
      ],
    })
    const said = (answers: number) =>
      ask(url, askers.anthropic, { answers }).then(heard => heard.text, String)
    expect(await said(0)).toContain('529')
    expect(await said(0)).toContain('500')
    expect(await said(0)).toBe('at last')
    expect(await said(0)).toBe('at last')
    expect(await said(1)).toContain('429')
    expect(await said(1)).toBe('again')
  })

  it('counts requests instead of answers when asked to, but not those without tools', async () => {
    const url = server().scenario('requests', { by: 'request', turns: [{ text: 'one' }, { text: 'two' }] })
    expect((await ask(url, askers.chat, { tools: false })).text).toBe('A side note')
    expect((await ask(url, askers.chat, { answers: 5 })).text).toBe('one')
    expect((await ask(url, askers.chat, { answers: 5 })).text).toBe('two')
    expect((await ask(url, askers.chat, { answers: 0 })).text).toBe('two')
  })
})
