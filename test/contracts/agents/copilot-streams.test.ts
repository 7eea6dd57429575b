import { describe, expect, it } from 'vitest'
import { copilot } from '../../../src/agents/copilot.ts'
import { unknownUsage } from '../../../src/core/outcome.ts'
import { noon } from './play.ts'
import { readOutput, readRecorded } from './streams.ts'

/**
 * Streams of the real CLI (1.0.102) with a model of one's own (BYOK) against a scripted model; paths and ids were taken
 * out. `denied` was recorded without `--allow-all`.
 */
function recorded(name: string, exit: number) {
  return readRecorded(copilot(), name, { exit })
}

describe('copilot: recorded streams', () => {
  it('reads a run that went well', () => {
    const { report, events, fault } = recorded('success', 0)
    expect(fault).toBeNull()
    expect(report).toEqual({
      message: 'All done. <promise>COMPLETE</promise>',
      usage: unknownUsage,
      fault: null,
      tail: '',
      sessionId: expect.stringMatching(/^00000000-0000-4000-8000-\d{12}$/u),
      model: 'gpt-5.4',
      context: { usedTokens: expect.any(Number), windowTokens: 922_000 },
    })
    expect(report.context?.usedTokens).toBeGreaterThan(1000)
    expect(events).toEqual([
      { type: 'text', text: 'I will write the file.' },
      { type: 'tool', name: 'bash', input: 'echo hello-from-mock >> out.txt' },
      { type: 'text', text: 'All done. <promise>COMPLETE</promise>' },
    ])
  })

  it('shows a patch, which comes as plain text', () => {
    expect(recorded('patch', 0).events).toContainEqual({
      type: 'tool',
      name: 'apply_patch',
      input: expect.stringContaining('*** Add File: p.txt'),
    })
  })

  it.each([
    ['401', 1, 'auth', 'HTTP 401'],
    ['403', 1, 'auth', 'HTTP 403'],
    ['404', 1, 'auth', "Model 'gpt-5.4' not found"],
    ['no-credit', 1, 'auth', '429 You exceeded your current quota'],
    ['not-logged-in', 1, 'auth', 'No authentication information found'],
    ['429', 1, 'limit', 'Rate limit reached'],
    ['500', 1, 'infrastructure', '500 An internal error'],
    ['529', 1, 'infrastructure', '529 Overloaded'],
    ['dropped', 1, 'infrastructure', 'connection closed'],
    ['dropped-midway', 1, 'infrastructure', 'unexpected EOF'],
    ['prompt-too-long', 1, 'crash', 'maximum context length'],
    ['denied', 0, 'permission', 'not permitted to use bash'],
  ] as const)('tells %s (exit code %i) as %s', (name, exit, kind, message) => {
    expect(recorded(name, exit).fault).toMatchObject({ kind, message: expect.stringContaining(message) })
  })

  it('does not take half of an answer for the last message', () => {
    const { report, events } = recorded('dropped-midway', 1)
    expect(report.message).toBe('I will write the file.')
    expect(JSON.stringify(events)).not.toContain('All of it is done')
  })

  it('takes the end of a limit from the message, and the time it has tried for none', () => {
    expect(recorded('429', 1).fault?.until).toBe(noon + 20 * 60_000)
    expect(recorded('500', 1).fault).not.toHaveProperty('until')
  })

  it('cannot see that the answer was cut at the limit of tokens: the CLI calls it a success', () => {
    expect(recorded('max-tokens', 0)).toMatchObject({
      fault: null,
      report: { message: expect.stringContaining('partial out') },
    })
  })

  it('lets a reviewer be refused', () => {
    const { fault, report, events } = recorded('review', 0)
    expect(fault).toBeNull()
    expect(report.message).toBe('VERDICT: pass')
    expect(events).toContainEqual({
      type: 'notice',
      text: expect.stringContaining('apply_patch denied'),
    })
  })

  it('shows retries as notices', () => {
    expect(recorded('dropped', 1).events).toContainEqual({
      type: 'notice',
      text: 'Response was interrupted due to a server error. Retrying...',
    })
  })
})

describe('copilot: reading', () => {
  const read = (...stdout: (object | string)[]) => readOutput(copilot(), { stdout })
  const said = (content: string, rest = {}) => ({ type: 'assistant.message', data: { content }, ...rest })
  const failed = (data: object) => ({ type: 'session.error', data })
  const denied = (message: string) => ({
    type: 'tool.execution_complete',
    data: { success: false, error: { code: 'denied', message } },
  })

  it('does not take the words of a subagent for the words of the agent', () => {
    const inside = { type: 'assistant.message', data: { content: 'inside', parentToolCallId: 'c' } }
    expect(read(said('mine'), said('nested', { agentId: 'a' }), inside).report.message).toBe('mine')
  })

  it('forgets an error when the agent went on', () => {
    expect(read(failed({ message: 'x', statusCode: 500 }), said('done')).report.fault).toBeNull()
    expect(read(said('half'), failed({ message: 'x', statusCode: 500 })).report.fault).not.toBeNull()
  })

  it.each([
    ['quota', 'quota_exceeded', 'limit'],
    ['quota', 'billing_not_configured', 'auth'],
    ['policy', '', 'auth'],
    ['context_limit', '', 'crash'],
    ['query', '', 'crash'],
  ])('takes the error type %s (%s) for %s', (errorType, errorCode, kind) => {
    expect(read(failed({ errorType, errorCode, message: 'no' })).report.fault).toEqual({
      kind,
      message: 'no',
    })
  })

  it('does not blame a reviewer that only tried to write, nor an agent that did something', () => {
    expect(read(denied('no user')).report.fault).toMatchObject({ kind: 'permission' })
    expect(read(denied('denied due to the following rules: `write`')).report.fault).toBeNull()
    const done = { type: 'tool.execution_complete', data: { success: true } }
    expect(read(done, denied('no user')).report.fault).toBeNull()
  })

  it('never shows our own prompt, whole or cut', () => {
    const echo = JSON.stringify({ type: 'user.message', data: { content: '<promise>COMPLETE</promise>' } })
    const { events, report } = read(echo, echo.slice(0, -6))
    expect(events).toEqual([])
    expect(report).toMatchObject({ message: '', tail: '' })
  })
})
