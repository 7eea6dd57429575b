import { describe, expect, it } from 'vitest'
import { acp } from '../../../src/agents/acp/index.ts'
import { unknownUsage } from '../../../src/core/outcome.ts'
import { noon } from './play.ts'
import { readOutput, readRecorded } from './streams.ts'

/**
 * What the client program printed about real agents against a scripted model: gemini-cli 0.61.0 (`--acp`), Copilot
 * 1.0.102 (`--acp`), opencode 1.18.18 (`acp`). Ids and addresses were taken out.
 */
function recorded(name: string, exit: number) {
  return readRecorded(agent, name, { exit })
}

const agent = acp({ command: 'any --acp', program: '/anywhere/acp-client.js' })

const done = 'All done. <promise>COMPLETE</promise>'

describe('acp: recorded streams', () => {
  it('reads a run of Gemini that went well', () => {
    const { report, events, fault } = recorded('gemini-success', 0)
    expect(fault).toBeNull()
    expect(report).toEqual({
      message: done,
      usage: { costUsd: null, inputTokens: 300, outputTokens: 33 },
      fault: null,
      tail: '',
      sessionId: 'session-1',
      model: 'gemini-2.5-pro',
    })
    expect(events).toEqual([
      { type: 'text', text: 'I will write the file.' },
      { type: 'tool', name: 'execute', input: 'echo hello >> out.txt' },
      { type: 'text', text: done },
    ])
    expect(recorded('gemini-write', 0).events).toContainEqual({
      type: 'tool',
      name: 'edit',
      input: 'Writing to made.txt',
    })
  })

  it('takes context from Copilot and opencode, cost from opencode, and its tokens for unknown', () => {
    expect(recorded('copilot-success', 0).report).toMatchObject({
      message: done,
      usage: { costUsd: null, inputTokens: 300, outputTokens: 33 },
      context: { usedTokens: 9490, windowTokens: 922_000 },
    })
    expect(recorded('opencode-success', 0).report).toMatchObject({
      message: done,
      usage: { costUsd: 0.001395, inputTokens: null, outputTokens: null },
      context: { usedTokens: 200, windowTokens: 200_000 },
      model: 'mock/mock-model',
    })
  })

  it.each([
    ['gemini-401', 1, 'auth', 'invalid authentication credentials'],
    ['gemini-429', 1, 'limit', 'exceeded your current quota'],
    ['gemini-dropped', 1, 'infrastructure', 'terminated'],
    ['gemini-prompt-too-long', 1, 'crash', 'exceeds the maximum number of tokens'],
    ['gemini-unknown-model', 1, 'auth', "does not offer the model 'nope'; it has auto, gemini-3"],
    ['gemini-no-login', 1, 'auth', 'API key is missing'],
    ['copilot-401', 0, 'auth', 'Authentication failed'],
    ['copilot-429', 0, 'limit', '429 Rate limit reached'],
    ['copilot-500', 0, 'infrastructure', 'Last error: 500'],
    ['copilot-dropped', 0, 'infrastructure', 'Failed native model HTTP request'],
    ['copilot-prompt-too-long', 0, 'crash', 'maximum context length'],
    ['opencode-401', 1, 'auth', 'Incorrect API key'],
    ['opencode-refusal', 0, 'crash', 'refused to go on'],
  ] as const)('tells %s (exit code %i) as %s', (name, exit, kind, message) => {
    expect(recorded(name, exit).fault).toMatchObject({ kind, message: expect.stringContaining(message) })
  })

  it('reads the end of a limit from the words of the error', () => {
    expect(recorded('gemini-429', 1).fault?.until).toBe(noon + 3_600_000)
  })

  it('knows no cost of a run that failed', () => {
    expect(recorded('gemini-dropped', 1).report.usage).toEqual(unknownUsage)
  })

  it.each(['gemini', 'copilot', 'opencode'])(
    'hears the verdict of a reviewer that was refused (%s)',
    name => {
      const { report, events, fault } = recorded(`${name}-review`, 0)
      expect([report.message, fault]).toEqual(['VERDICT: pass', null])
      expect(events).toContainEqual({ type: 'notice', text: 'refused: echo x > made.txt' })
      expect(events).toContainEqual({ type: 'tool', name: 'execute', input: 'git status' })
    },
  )

  it('shows the refusal of a file that a reviewer wanted to write', () => {
    const { events, fault } = recorded('gemini-read-only', 0)
    expect(events).toContainEqual({ type: 'notice', text: 'refused: Writing to made.txt' })
    expect(fault).toBeNull()
  })
})

describe('acp: reading', () => {
  const read = (...stdout: object[]) => readOutput(agent, { stdout })

  it('puts the pieces of a message together and keeps only the last message', () => {
    const { report, events } = read(
      { type: 'text', message: 1, text: 'first ' },
      { type: 'text', message: 1, text: 'message' },
      { type: 'text', message: 2, text: 'second <ralph>DO' },
      { type: 'text', message: 2, text: 'NE 1.1</ralph>' },
    )
    expect(report.message).toBe('second <ralph>DONE 1.1</ralph>')
    expect(events).toHaveLength(4)
  })

  it('falls back to the last message that was not blank', () => {
    const said = { type: 'text', message: 1, text: 'said' }
    expect(read(said, { type: 'text', message: 2, text: '\n ' }).report.message).toBe('said')
  })

  it('keeps the end of a message that never ends', () => {
    const piece = { type: 'text', message: 1, text: 'x'.repeat(16_000) }
    const { report } = read(...Array(80).fill(piece), { type: 'text', message: 1, text: 'the end' })
    expect(report.message.endsWith('xthe end')).toBe(true)
    expect(report.message.length).toBeLessThanOrEqual(256 * 1024)
  })

  it.each([
    ['max_tokens', 'most tokens'],
    ['max_turn_requests', 'most requests'],
    ['refusal', 'refused'],
    ['cancelled', 'interrupted'],
    ['something new', 'something new'],
    ['', 'no reason given'],
  ])('calls the end %s a crash', (reason, message) => {
    expect(read({ type: 'stop', reason }).report.fault).toMatchObject({
      kind: 'crash',
      message: expect.stringContaining(message),
    })
  })

  it('leaves an error without a status to the phrases', () => {
    const error = { during: 'session/prompt', message: 'fetch failed', kind: 'other', status: null }
    const { report } = read({ type: 'error', error })
    expect(report).toMatchObject({ fault: null, tail: 'Error: fetch failed' })
  })

  it.each([
    [503, 'infrastructure'],
    [408, 'infrastructure'],
    [402, 'auth'],
    [404, 'auth'],
    [429, 'limit'],
  ])('takes status %i for %s', (status, kind) => {
    const error = { during: 'session/prompt', message: 'no', kind: 'other', status }
    expect(read({ type: 'error', error }).report.fault?.kind).toBe(kind)
  })
})
