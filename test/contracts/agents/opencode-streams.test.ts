import { describe, expect, it } from 'vitest'
import { opencode } from '../../../src/agents/opencode.ts'
import { unknownUsage } from '../../../src/core/outcome.ts'
import { noon } from './play.ts'
import { type Output, readOutput, readRecorded, recording } from './streams.ts'

/** Streams of the real CLI (1.18.18) against a scripted model; paths, ids and ports were taken out. */
function recorded(name: string, exit: number) {
  return readRecorded(opencode(), name, { exit })
}

function read(output: Output) {
  return readOutput(opencode(), output)
}

describe('opencode: recorded streams', () => {
  it('reads a run that went well', () => {
    const { report, events, fault } = recorded('success', 0)
    expect(fault).toBeNull()
    expect(report).toEqual({
      message: 'All done. <promise>COMPLETE</promise>',
      usage: {
        costUsd: expect.closeTo(0.00255 + 0.0015 + 0.0042, 8),
        // 400 and 1000 of the input were cached, 20 of the output were thinking.
        inputTokens: 1000 + 1200 + 1300,
        outputTokens: 50 + 60 + 20,
      },
      fault: null,
      tail: '',
      sessionId: 'ses_1',
      model: null,
      context: { usedTokens: 1320, windowTokens: null },
    })
    expect(events).toEqual([
      { type: 'text', text: 'I will write the file.' },
      { type: 'tool', name: 'bash', input: 'echo hello-from-mock >> out.txt' },
      { type: 'text', text: 'Now a file.' },
      { type: 'tool', name: 'write', input: 'new.txt' },
      { type: 'text', text: 'All done. <promise>COMPLETE</promise>' },
    ])
  })

  it.each([
    ['401', 1, 'auth', 'invalid x-api-key'],
    ['402', 1, 'auth', 'Insufficient credits'],
    ['403', 1, 'auth', 'Country not supported'],
    ['429', 1, 'limit', 'Rate limit reached'],
    ['500', 1, 'infrastructure', 'The server had an error'],
    ['529', 1, 'infrastructure', 'Overloaded'],
    ['dropped', 1, 'infrastructure', 'Connection reset by server'],
    ['prompt-too-long', 1, 'crash', 'prompt is too long'],
    ['max-tokens', 0, 'crash', 'output token maximum'],
    ['interrupted', 0, 'crash', 'in the middle of a step'],
    ['interrupted', 130, 'crash', 'exited with code 130'],
    ['rejected', 0, 'permission', 'not permitted to use bash'],
  ] as const)('tells %s (exit code %i) as %s', (name, exit, kind, message) => {
    expect(recorded(name, exit).fault).toMatchObject({ kind, message: expect.stringContaining(message) })
  })

  it('takes the end of a limit from the header of the answer', () => {
    const timestamp = JSON.parse(recording(opencode(), '429').stdout[0] ?? '').timestamp
    expect(recorded('429', 1).fault?.until).toBe(timestamp + 1000)
  })

  it.each(['no-login', 'unknown-model'])('finds the reason for %s in the log', name => {
    const stderr = [
      'timestamp=2026-11-15T05:58:57.935Z level=ERROR run=d1d812ad message=failed ref=err_1 error="ProviderModelNotFoundError: Model not found: anthropic/sonnet. Did you mean: sonnet?" cause="…"',
    ]
    const { stdout } = recording(opencode(), name)
    expect(read({ stdout, stderr, exit: 1 }).fault).toEqual({
      kind: 'auth',
      message: 'Model not found: anthropic/sonnet (unknown, or no login for its provider)',
    })
    expect(read({ stdout, exit: 1 }).fault?.kind).toBe('crash')
  })

  it('does not take a price of 0 for the truth, nor what it was told of a part for the whole', () => {
    expect(recorded('no-price', 0).report.usage).toEqual({
      costUsd: null,
      inputTokens: 1000,
      outputTokens: 50,
    })
    expect(recorded('task', 0).report.usage).toEqual(unknownUsage)
    expect(recorded('401', 1).report.usage).toEqual(unknownUsage)
    expect(recorded('review', 0).report.usage.costUsd).toBeGreaterThan(0)
  })

  it('lets a reviewer be refused, and an agent that a rule of the user stopped: neither is a fault', () => {
    expect(recorded('review', 0)).toMatchObject({ fault: null, report: { message: 'VERDICT: pass' } })
    expect(recorded('denied', 0).fault).toBeNull()
  })

  it('does not take the words of opencode for the words of the agent', () => {
    const { report, events } = recorded('compacting', 1)
    expect(report.message).toBe('mock title')
    expect(events).not.toContainEqual({ type: 'text', text: expect.stringContaining('previous request') })
  })

  it('shows refusals and errors as notices', () => {
    expect(recorded('rejected', 0).events).toContainEqual({
      type: 'notice',
      text: 'bash: The user rejected permission to use this specific tool call.',
    })
    expect(recorded('401', 1).events).toEqual([{ type: 'notice', text: 'invalid x-api-key' }])
  })
})

describe('opencode: reading', () => {
  const text = (said: string, messageID: string) => ({ type: 'text', part: { text: said, messageID } })
  const error = (name: string, data: object) => ({ type: 'error', timestamp: noon, error: { name, data } })

  it('joins the parts of one message and forgets the messages before', () => {
    const { report } = read({
      stdout: [text('before', 'm1'), text('one', 'm2'), text('two', 'm2')],
      exit: 0,
    })
    expect(report.message).toBe('one\ntwo')
  })

  it('forgets an error that was got over', () => {
    const wrong = error('ContextOverflowError', { message: 'too long' })
    const finished = { type: 'step_finish', part: { reason: 'stop' } }
    const after = [{ type: 'step_start' }, text('done', 'm'), finished]
    expect(read({ stdout: [wrong, ...after], exit: 0 }).fault).toBeNull()
    expect(read({ stdout: [...after, wrong], exit: 0 }).fault?.kind).toBe('crash')
  })

  it.each([
    ['ProviderAuthError', { message: 'no key' }, 'auth'],
    ['APIError', { message: 'x', statusCode: 429, responseBody: '{"type":"insufficient_quota"}' }, 'auth'],
    ['APIError', { message: 'x', statusCode: 403, responseBody: '{"type":"GoUsageLimitError"}' }, 'limit'],
    ['APIError', { message: 'Cannot connect to API: Unable to connect.' }, 'infrastructure'],
    ['APIError', { message: 'tools[0] is wrong', statusCode: 400 }, 'crash'],
    ['MessageAbortedError', { message: 'aborted' }, 'crash'],
    ['', {}, 'crash'],
  ] as const)('tells %s %j as %s', (name, data, kind) => {
    expect(read({ stdout: [error(name, data)], exit: 1 }).fault?.kind).toBe(kind)
  })

  it('keeps the end of a huge message, and nothing of huge tool output', () => {
    const huge = { command: 'c'.repeat(1_000_000) }
    const { report, events } = read({
      stdout: [
        text(`${'y'.repeat(3_000_000)}the end`, 'm'),
        {
          type: 'tool_use',
          part: { tool: 'bash', state: { status: 'error', input: huge, error: 'x'.repeat(3_000_000) } },
        },
      ],
      exit: 0,
    })
    expect(report.message.length).toBe(256 * 1024)
    expect(report.message.endsWith('the end')).toBe(true)
    expect(JSON.stringify(events).length).toBeLessThan(20_000)
  })
})
