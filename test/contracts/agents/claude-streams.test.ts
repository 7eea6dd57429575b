import { describe, expect, it } from 'vitest'
import { claude } from '../../../src/agents/claude.ts'
import { type Usage, unknownUsage } from '../../../src/core/outcome.ts'
import { readOutput, readRecorded } from './streams.ts'

/** Streams of the real CLI (2.1.325) against a scripted model; paths, ids and long lists were taken out. */
function recorded(name: string, exit: number) {
  return readRecorded(claude(), name, { exit })
}

describe('claude: recorded streams', () => {
  it('reads a run that went well', () => {
    const { report, events, fault } = recorded('success', 0)
    expect(fault).toBeNull()
    expect(report).toEqual({
      message: 'All done. <promise>COMPLETE</promise>',
      usage: { costUsd: 0.01, inputTokens: 2000, outputTokens: 100 },
      fault: null,
      tail: '',
      sessionId: '00000000-0000-4000-8000-000000000001',
      model: 'claude-opus-5-5',
    })
    expect(events).toEqual([
      { type: 'text', text: 'I will write the file.' },
      { type: 'tool', name: 'Bash', input: 'echo hello-from-mock >> out.txt' },
      { type: 'text', text: 'All done. <promise>COMPLETE</promise>' },
    ])
  })

  it('counts all that was read, cached or not, once', () => {
    const { report } = recorded('usage', 0)
    expect(report.usage).toMatchObject({
      inputTokens: 10 + 20 + 30 + 5000 + 300 + 400 + 5000 + 5300,
      outputTokens: 111 + 222 + 333,
    })
    expect(report.usage.costUsd).toBeGreaterThan(0)
  })

  it.each([
    ['401', 1, 'auth', 'Invalid API key'],
    ['403', 1, 'auth', '403'],
    ['404', 1, 'auth', 'issue with the selected model'],
    ['credit', 1, 'auth', 'Credit balance is too low'],
    ['not-logged-in', 1, 'auth', 'Not logged in'],
    ['429', 1, 'limit', '429'],
    ['usage-limit', 1, 'limit', 'resets 4:47am'],
    ['500', 1, 'infrastructure', '500'],
    ['529', 1, 'infrastructure', 'Overloaded'],
    ['dropped', 1, 'infrastructure', 'ECONNRESET'],
    ['refused', 1, 'infrastructure', 'ECONNREFUSED'],
    ['prompt-too-long', 1, 'crash', 'Prompt is too long'],
    ['max-tokens', 1, 'crash', 'output token maximum'],
    ['max-turns', 1, 'crash', 'Reached maximum number of turns (1)'],
    ['interrupted', 0, 'crash', 'interrupted'],
    ['interrupted-tool', 0, 'crash', 'interrupted'],
    ['denied', 0, 'permission', 'not permitted to use Bash'],
    ['terminated', 143, 'crash', 'exited with code 143'],
    ['empty', 0, 'empty', 'said nothing'],
  ] as const)('tells %s (exit code %i) as %s', (name, exit, kind, message) => {
    expect(recorded(name, exit).fault).toMatchObject({ kind, message: expect.stringContaining(message) })
  })

  it('takes the end of a usage limit from its event, to the second', () => {
    expect(recorded('usage-limit', 1).fault?.until).toBe(1_794_718_038_000)
  })

  it.each([
    [
      'unknown-model',
      'the price of the model is a guess',
      { costUsd: null, inputTokens: 2000, outputTokens: 100 },
    ],
    ['dropped', 'a broken request may have cost something', unknownUsage],
    ['terminated', 'there is no result', unknownUsage],
    ['401', 'a refused request costs nothing', { costUsd: 0, inputTokens: 0, outputTokens: 0 }],
  ] as [string, string, Usage][])('knows what %s cost as far as it can be known: %s', (name, _, usage) => {
    expect(recorded(name, 1).report.usage).toEqual(usage)
  })

  it('lets a reviewer be refused, and an agent that a hook stopped: neither lacks a permission', () => {
    expect(recorded('review', 0)).toMatchObject({ fault: null, report: { message: 'VERDICT: pass' } })
    expect(recorded('hook-denied', 0)).toMatchObject({
      fault: null,
      report: { message: 'All done. <promise>COMPLETE</promise>' },
    })
  })

  it('shows retries and refusals as notices', () => {
    expect(recorded('429', 1).events).toContainEqual({ type: 'notice', text: 'API 429, retry 1 of 1' })
    expect(recorded('denied', 0).events).toContainEqual({
      type: 'notice',
      text: expect.stringContaining('Bash denied'),
    })
  })
})

describe('claude: reading', () => {
  const report = (...stdout: (object | string)[]) => readOutput(claude(), { stdout }).report
  const said = (text: string, rest = {}) => ({
    type: 'assistant',
    message: { model: 'm', content: [{ type: 'text', text }] },
    ...rest,
  })

  it('falls back to the last thing the agent itself said', () => {
    const { message } = report(
      said('first'),
      said('last'),
      said('inside', { parent_tool_use_id: 'toolu_1' }),
      { type: 'result', subtype: 'success', result: '' },
    )
    expect(message).toBe('last')
  })

  it('does not take the words of the CLI for the words of the agent', () => {
    const synthetic = {
      type: 'assistant',
      message: { model: '<synthetic>', content: [{ type: 'text', text: 'API Error' }] },
      error: 'server_error',
    }
    expect(report(said('half done'), synthetic).message).toBe('half done')
  })

  it('takes the last result when there are several', () => {
    const result = (text: string, cost: number) => ({
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: text,
      total_cost_usd: cost,
      modelUsage: { m: { inputTokens: 1, outputTokens: 1 } },
    })
    expect(report(result('one', 0.1), result('two', 0.3))).toMatchObject({
      message: 'two',
      usage: { costUsd: 0.3 },
    })
  })

  it('keeps lines that are no events for people and for the search for faults', () => {
    expect(report('node: warning', '{"type":"result","resul').tail).toBe(
      'node: warning\n{"type":"result","resul',
    )
  })

  it('names the root rule when the CLI refuses to skip permissions', () => {
    const line =
      '--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons'
    const { fault } = readOutput(claude(), { stderr: [line], exit: 1 })
    expect(fault?.kind).toBe('permission')
  })
})
