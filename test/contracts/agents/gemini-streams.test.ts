import { describe, expect, it } from 'vitest'
import { gemini } from '../../../src/agents/gemini.ts'
import { type Usage, unknownUsage } from '../../../src/core/outcome.ts'
import { noon } from './play.ts'
import { readOutput, readRecorded } from './streams.ts'

/**
 * Streams of the real CLI (0.61.0) against a scripted model; paths, ids and stack traces were taken out. Retries were
 * set to one (`general.maxAttempts`), and a policy file refused the tool of `denied`.
 */
function recorded(name: string, exit: number) {
  return readRecorded(gemini(), name, { exit })
}

describe('gemini: recorded streams', () => {
  it('reads a run that went well', () => {
    const { report, events, fault } = recorded('success', 0)
    expect(fault).toBeNull()
    expect(report).toEqual({
      message: 'All done. <promise>COMPLETE</promise>',
      usage: { costUsd: null, inputTokens: 2000, outputTokens: 100 },
      fault: null,
      tail: '',
      sessionId: '00000000-0000-4000-8000-000000000001',
      model: 'gemini-2.5-pro',
    })
    expect(events).toEqual([
      { type: 'text', text: 'I will write the file.' },
      { type: 'tool', name: 'run_shell_command', input: 'echo hello-from-mock >> out.txt' },
      { type: 'text', text: 'All done. <promise>COMPLETE</promise>' },
    ])
  })

  it.each([
    ['401', 145, 'auth', 'Expected OAuth2 access token'],
    ['403', 147, 'auth', 'does not have permission'],
    ['404', 1, 'auth', 'is not found for API version'],
    ['invalid-key', 144, 'auth', 'API key not valid'],
    ['not-logged-in', 41, 'auth', 'Please set an Auth method'],
    ['no-key', 41, 'auth', 'you must specify the GEMINI_API_KEY'],
    ['no-oauth', 41, 'auth', 'Manual authorization is required'],
    ['429', 173, 'limit', 'exceeded your current quota'],
    ['500', 244, 'infrastructure', 'internal error'],
    ['503', 247, 'infrastructure', 'overloaded'],
    ['529', 17, 'infrastructure', 'Overloaded'],
    ['dropped', 1, 'infrastructure', 'fetch failed'],
    ['dropped-midway', 1, 'infrastructure', 'terminated'],
    ['refused', 1, 'infrastructure', 'fetch failed'],
    ['prompt-too-long', 144, 'crash', 'exceeds the maximum number of tokens'],
    ['safety', 0, 'crash', 'blocked due to safety settings'],
    ['denied', 0, 'permission', 'not permitted to use run_shell_command'],
    ['untrusted', 55, 'permission', 'not running in a trusted directory'],
    ['no-yolo', 52, 'permission', 'YOLO mode is disabled'],
  ] as const)('tells %s (exit code %i) as %s', (name, exit, kind, message) => {
    expect(recorded(name, exit).fault).toMatchObject({ kind, message: expect.stringContaining(message) })
  })

  it('takes the end of a limit from the message', () => {
    expect(recorded('429', 173).fault?.until).toBe(noon + 3_600_500)
  })

  it('cannot see that the answer was cut at the limit of tokens: the CLI calls it a success', () => {
    expect(recorded('max-tokens', 0)).toMatchObject({ fault: null, report: { message: 'partial out' } })
  })

  it.each([
    ['401', 145, 'a refused request', { costUsd: null, inputTokens: 0, outputTokens: 0 }],
    ['dropped', 1, 'a broken request may have cost something', unknownUsage],
    ['dropped-midway', 1, 'the calls that ended', { costUsd: null, inputTokens: 1000, outputTokens: 50 }],
    ['not-logged-in', 41, 'there is no result', unknownUsage],
  ] as [string, number, string, Usage][])('knows what %s used as far as it can be known', (...row) => {
    const [name, exit, , usage] = row
    expect(recorded(name, exit).report.usage).toEqual(usage)
  })

  it('lets a reviewer be refused', () => {
    const { fault, report, events } = recorded('review', 0)
    expect(fault).toBeNull()
    expect(report.message).toBe('VERDICT: pass')
    expect(events).toContainEqual({
      type: 'notice',
      text: 'run_shell_command denied: Tool execution denied by policy.',
    })
  })
})

describe('gemini: reading', () => {
  const read = (stdout: (object | string)[], exit = 0) => readOutput(gemini(), { stdout, exit })
  const said = (content: string) => ({ type: 'message', role: 'assistant', content, delta: true })
  const tool = { type: 'tool_use', tool_name: 'glob', tool_id: '1', parameters: { pattern: '*' } }

  it('puts the pieces of the last message together and leaves the earlier ones out', () => {
    const result = { type: 'result', status: 'success' }
    expect(
      read([said('DO'), said('NE'), tool, said('a'), said('b\n'), said('c'), result]).report.message,
    ).toBe('ab\nc')
  })

  it('keeps what was said last when a tool call comes after it', () => {
    expect(read([said('half done'), tool]).report.message).toBe('half done')
  })

  it('never shows our own prompt, whole or cut', () => {
    const echo = JSON.stringify({ type: 'message', timestamp: 't', role: 'user', content: '<promise>' })
    const { events, report } = read([echo, echo.slice(0, -6)])
    expect(events).toEqual([])
    expect(report).toMatchObject({ message: '', tail: '' })
  })

  it('reads the status from the exit code when the message does not tell it', () => {
    const failed = { type: 'result', status: 'error', error: { type: 'unknown', message: '[API Error: x]' } }
    const kind = (code: number) => read([failed], code).report.fault
    expect(kind(145)).toEqual({ kind: 'auth', message: 'x' })
    expect(kind(173)).toMatchObject({ kind: 'limit' })
    expect(kind(246)).toMatchObject({ kind: 'infrastructure' })
    expect(kind(17)).toMatchObject({ kind: 'infrastructure' })
    expect(kind(144)).toMatchObject({ kind: 'crash' })
    expect(kind(1)).toMatchObject({ kind: 'crash' })
  })

  it('does not wait for a quota of nothing', () => {
    const message = '[API Error: You exceeded your current quota, limit: 0, model: gemini-2.5-pro]'
    const failed = { type: 'result', status: 'error', error: { type: 'unknown', message } }
    expect(read([failed], 173).report.fault).toMatchObject({ kind: 'auth' })
  })

  it('names the model that did most of the work', () => {
    const models = { 'flash-lite': { total_tokens: 10 }, pro: { total_tokens: 900 } }
    const result = { type: 'result', status: 'success', stats: { models } }
    expect(read([{ type: 'init', model: 'auto' }, result]).report.model).toBe('pro')
    expect(read([{ type: 'init', model: 'auto' }]).report.model).toBe('auto')
  })
})
