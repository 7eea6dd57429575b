import { describe, expect, it } from 'vitest'
import { ask, askers, type Heard, parseSse, post, useModelServer } from './ask.ts'
import type { Scenario } from './scenario.ts'

const server = useModelServer()
let count = 0
const play = (scenario: Scenario) => server().scenario(`s${++count}`, scenario)

const work: Scenario = {
  turns: [
    { text: 'I will write the file, Wörter 漢字 😀.', tools: [{ shell: 'echo "hi" > out.txt' }] },
    {
      tools: [{ shell: 'one' }, { shell: 'two' }],
      usage: { input: 10, output: 7, cacheRead: 5, cacheWrite: 3 },
    },
    { text: 'All done. <promise>COMPLETE</promise>' },
  ],
  side: { text: 'A title' },
}

/** The words of each dialect for the same things. */
const words = {
  anthropic: {
    shell: 'Bash',
    tools: 'tool_use',
    end: 'end_turn',
    cut: 'max_tokens',
    refused: 'refusal',
    read: 10,
  },
  responses: {
    shell: 'shell',
    tools: 'completed',
    end: 'completed',
    cut: 'max_output_tokens',
    refused: 'completed',
    read: 18,
  },
  chat: {
    shell: 'shell',
    tools: 'tool_calls',
    end: 'stop',
    cut: 'length',
    refused: 'content_filter',
    read: 18,
  },
  gemini: {
    shell: 'run_shell_command',
    tools: 'STOP',
    end: 'STOP',
    cut: 'MAX_TOKENS',
    refused: 'SAFETY',
    read: 18,
  },
}

describe.each(['anthropic', 'responses', 'chat', 'gemini'] as const)('%s', name => {
  const asker = askers[name]
  const word = words[name]

  it.each([true, false])('plays a conversation turn by turn (stream: %s)', async stream => {
    const url = play(work)
    const heard = (answers: number) => ask(url, asker, { answers, stream })
    expect(await heard(0)).toEqual<Heard>({
      text: 'I will write the file, Wörter 漢字 😀.',
      calls: [{ name: word.shell, input: { command: 'echo "hi" > out.txt' } }],
      stop: word.tools,
      input: 1000,
      output: 50,
    })
    expect(await heard(1)).toEqual<Heard>({
      text: '',
      calls: [
        { name: word.shell, input: { command: 'one' } },
        { name: word.shell, input: { command: 'two' } },
      ],
      stop: word.tools,
      input: word.read,
      output: 7,
    })
    const last = { text: 'All done. <promise>COMPLETE</promise>', calls: [], stop: word.end }
    expect(await heard(2)).toMatchObject(last)
    expect(await heard(9)).toMatchObject(last)
  })

  it('gives the same turn again to a retry, and each of many at once its own', async () => {
    const url = play(work)
    const turns = [2, 0, 1, 0, 2, 1, 0]
    const heard = await Promise.all(turns.map(answers => ask(url, asker, { answers })))
    expect(heard.map(one => one.calls.length)).toEqual(turns.map(turn => [1, 2, 0][turn]))
  })

  it('answers a request without tools aside', async () => {
    const url = play(work)
    expect(await ask(url, asker, { tools: false })).toMatchObject({ text: 'A title', calls: [] })
    expect(await ask(url, asker, { tools: false, stream: false, answers: 2 })).toMatchObject({
      text: 'A title',
    })
  })

  it.each([true, false])('stops for want of tokens, and refuses (stream: %s)', async stream => {
    const cut = play({ turns: [{ text: 'half a sen', stop: 'max-tokens' }] })
    expect(await ask(cut, asker, { stream })).toMatchObject({ text: 'half a sen', stop: word.cut })
    const refused = play({ turns: [{ text: 'I will not.', stop: 'refusal' }] })
    expect(await ask(refused, asker, { stream })).toMatchObject({ text: 'I will not.', stop: word.refused })
  })

  it('says the text in more than one piece, an empty one too', async () => {
    const url = play({ turns: [{ text: 'ab' }, {}] })
    const { path, body } = asker.request({ answers: 0, stream: true, tools: true })
    const events = parseSse(await (await post(url + path, body)).text())
    expect(events.filter(one => /"[ab]"/u.test(one.raw)).length).toBeGreaterThanOrEqual(2)
    expect(await ask(url, asker, { answers: 1 })).toMatchObject({ text: '', calls: [], stop: word.end })
  })
})

describe('what only one of them has', () => {
  it('anthropic: tells the cache apart and counts tokens', async () => {
    const url = play({ turns: [{ text: 'x', usage: { cacheRead: 5, cacheWrite: 3 } }] })
    const request = askers.anthropic.request({ answers: 0, stream: false, tools: true })
    expect(await (await post(url + request.path, request.body)).json()).toMatchObject({
      model: 'm',
      usage: { input_tokens: 1000, cache_read_input_tokens: 5, cache_creation_input_tokens: 3 },
    })
    const counted = await post(`${url}/v1/messages/count_tokens`, request.body)
    const length = JSON.stringify(request.body).length
    expect(await counted.json()).toEqual({ input_tokens: Math.ceil(length / 4) })
  })

  it('responses: counts one answer for the items of one turn, and numbers its events', async () => {
    const url = play({ turns: [{ text: 'first' }, { text: 'second' }, { text: 'third' }] })
    const input = [
      { role: 'user', content: 'Go.' },
      { type: 'reasoning' },
      { role: 'assistant', content: 'x' },
      { type: 'function_call' },
      { type: 'function_call_output' },
      { type: 'function_call' },
      { type: 'function_call_output' },
    ]
    const tools = [{ type: 'custom', name: 'apply_patch' }]
    const response = await post(`${url}/v1/responses`, { model: 'm', stream: true, input, tools })
    const events = parseSse(await response.text())
    expect(askers.responses.fromStream(events).text).toBe('third')
    expect(events.map(one => Number(one.data.sequence_number))).toEqual(events.map((_, index) => index))
    expect(events.map(one => one.event)).toEqual(events.map(one => String(one.data.type)))
  })

  it('responses: gives a custom tool its plain text', async () => {
    const url = play({ turns: [{ tools: [{ raw: { name: 'apply_patch', input: '*** Begin Patch' } }] }] })
    const tools = [{ type: 'custom', name: 'apply_patch' }]
    const response = await post(`${url}/v1/responses`, { model: 'm', stream: true, input: [], tools })
    const item = parseSse(await response.text()).find(one => one.event === 'response.output_item.done')?.data
      .item
    expect(item).toMatchObject({ type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin Patch' })
  })

  it('chat: tells the tokens of a stream only when asked', async () => {
    const url = play({ turns: [{ text: 'x' }] })
    const { path, body } = askers.chat.request({ answers: 0, stream: true, tools: true })
    const text = await (await post(url + path, { ...body, stream_options: {} })).text()
    expect(text).not.toContain('prompt_tokens')
  })

  it('gemini: streams a list when no events are asked for, and counts tokens', async () => {
    const url = play({ turns: [{ text: 'All done.' }] })
    const { body } = askers.gemini.request({ answers: 0, stream: true, tools: true })
    const listed = await post(`${url}/v1beta/models/m:streamGenerateContent`, body)
    const heard = ((await listed.json()) as never[]).map(one => askers.gemini.fromWhole(one))
    expect(heard.map(one => one.text).join('')).toBe('All done.')
    expect(heard.at(-1)?.stop).toBe('STOP')
    const counted = await post(`${url}/v1beta/models/m:countTokens`, body)
    expect(await counted.json()).toEqual({ totalTokens: Math.ceil(JSON.stringify(body).length / 4) })
  })
})
