import { describe, expect, it } from 'vitest'
import { codex } from '../../../src/agents/codex.ts'
import { unknownUsage } from '../../../src/core/outcome.ts'
import { noon } from './play.ts'
import { type Output, readOutput, readRecorded, recording } from './streams.ts'

/** Streams of the real CLI (0.166.0) against a scripted model; paths, ids and ports were taken out. */
function recorded(name: string, exit: number | null, killed: string | null = null) {
  return readRecorded(codex(), name, { exit, killed })
}

function read(output: Output) {
  return readOutput(codex(), output)
}

describe('codex: recorded streams', () => {
  it('reads a run that went well', () => {
    const { report, events, fault } = recorded('success', 0)
    expect(fault).toBeNull()
    expect(report).toEqual({
      message: 'All done. <promise>COMPLETE</promise>',
      // 400 and 1000 of the input were cached; they were read all the same.
      usage: { costUsd: null, inputTokens: 1000 + 1200 + 1300, outputTokens: 50 + 60 + 20 },
      fault: null,
      tail: '',
      sessionId: '00000000-0000-7000-8000-000000000001',
      model: null,
    })
    expect(events).toEqual([
      { type: 'text', text: 'I will write the file.' },
      { type: 'tool', name: 'shell', input: 'echo hello-from-mock >> out.txt' },
      { type: 'text', text: 'Now a patch.' },
      { type: 'tool', name: 'edit', input: '/project/new.txt' },
      { type: 'text', text: 'All done. <promise>COMPLETE</promise>' },
    ])
  })

  it.each([
    ['401', 1, 'auth', '401 Unauthorized'],
    ['403', 1, 'auth', '403 Forbidden'],
    ['404', 1, 'auth', 'does not exist or you do not have access'],
    ['no-key', 1, 'auth', 'Missing environment variable'],
    ['quota', 1, 'auth', 'Quota exceeded'],
    ['429', 1, 'limit', '429 Too Many Requests'],
    ['usage-limit', 1, 'limit', 'hit your usage limit'],
    ['rate-limit', 1, 'limit', 'Please try again in 28.5s'],
    ['500', 1, 'infrastructure', 'high demand'],
    ['529', 1, 'infrastructure', 'status 529'],
    ['at-capacity', 1, 'infrastructure', 'at capacity'],
    ['dropped', 1, 'infrastructure', 'stream disconnected'],
    ['refused', 1, 'infrastructure', 'Connection failed'],
    ['prompt-too-long', 1, 'crash', 'Your input exceeds the context window'],
    ['out-of-room', 1, 'crash', 'ran out of room'],
    ['max-tokens', 1, 'crash', 'max_output_tokens'],
    ['interrupted', 1, 'crash', 'exited with code 1'],
    ['empty', 0, 'empty', 'said nothing'],
  ] as const)('tells %s (exit code %i) as %s', (name, exit, kind, message) => {
    expect(recorded(name, exit).fault).toMatchObject({ kind, message: expect.stringContaining(message) })
  })

  it('takes the end of a limit from the message', () => {
    const until = recorded('usage-limit', 1).fault?.until ?? 0
    const clock = new Date(until).toLocaleTimeString('en-US', { hour: 'numeric', minute: '2-digit' })
    const told = /try again at (\d+:\d+ [AP]M)/u.exec(recorded('usage-limit', 1).fault?.message ?? '')?.[1]
    expect(clock).toBe(told)
    expect(recorded('rate-limit', 1).fault?.until).toBe(noon + 28_500)
  })

  it('calls a death by signal a crash, and an exit code of 0 in the middle of a turn too', () => {
    expect(recorded('terminated', null, 'SIGTERM').fault).toMatchObject({
      kind: 'crash',
      message: expect.stringContaining('SIGTERM'),
    })
    expect(recorded('terminated', 0).fault).toMatchObject({
      kind: 'crash',
      message: expect.stringContaining('middle of its turn'),
    })
  })

  it('knows nothing of the cost of a turn that failed', () => {
    expect(recorded('dropped', 1).report.usage).toEqual(unknownUsage)
    expect(recorded('401', 1).report.usage).toEqual(unknownUsage)
  })

  it('lets a reviewer read, and be refused what he may not: neither is a fault', () => {
    expect(recorded('review-read', 0)).toMatchObject({ fault: null, report: { message: 'VERDICT: pass' } })
    expect(recorded('review', 0)).toMatchObject({ fault: null, report: { message: 'VERDICT: pass' } })
  })

  it('shows refusals, retries and warnings as notices', () => {
    const refusal =
      '2026-11-15T05:41:16Z ERROR codex_core::tools::router: error=approval policy is Never; reject command'
    const { stdout } = recording(codex(), 'denied')
    const denied = read({ stdout, stderr: [refusal], exit: 0 })
    expect(denied.events).toContainEqual({ type: 'notice', text: refusal })
    expect(denied.fault).toBeNull()
    expect(recorded('401', 1).events).toContainEqual({
      type: 'notice',
      text: expect.stringMatching(/^Reconnecting\.\.\. 1\/1/u),
    })
    expect(recorded('warning', 0)).toMatchObject({ fault: null })
    expect(recorded('warning', 0).events).toContainEqual({
      type: 'notice',
      text: expect.stringContaining('`no_such_key` is ignored'),
    })
  })
})

describe('codex: reading', () => {
  const item = (type: string, fields: object, on = 'item.completed') => ({
    type: on,
    item: { id: `item_${type}`, type, ...fields },
  })
  const started = { type: 'turn.started' }
  const failed = (message: string) => ({ type: 'turn.failed', error: { message } })

  it('takes neither reasoning nor what a tool printed for the words of the agent', () => {
    const { report } = read({
      stdout: [
        item('agent_message', { text: 'the answer' }),
        item('reasoning', { text: 'I could say <promise>COMPLETE</promise>' }),
        item('command_execution', { command: 'cat x', aggregated_output: '<promise>COMPLETE</promise>' }),
        { type: 'turn.completed', usage: {} },
      ],
      exit: 0,
    })
    expect(report.message).toBe('the answer')
  })

  it('says nothing of the warning that our own guard brings about', () => {
    const words = '`--dangerously-bypass-hook-trust` is enabled. Enabled hooks may run without review.'
    expect(read({ stdout: [item('error', { message: words })], exit: 0 }).events).toEqual([])
  })

  it('shows a tool once, whether it told its start or not', () => {
    const call = { server: 'docs', tool: 'find', arguments: { q: 'x' } }
    const { events } = read({
      stdout: [
        item('command_execution', { command: '/bin/zsh -lc "ls -a"' }, 'item.started'),
        item('command_execution', { command: '/bin/zsh -lc "ls -a"' }),
        item('mcp_tool_call', call),
        item('web_search', { query: 'weather' }),
        item('todo_list', { items: [] }),
      ],
      exit: 0,
    })
    expect(events).toEqual([
      { type: 'tool', name: 'shell', input: 'ls -a' },
      { type: 'tool', name: 'docs.find', input: '{"q":"x"}' },
      { type: 'tool', name: 'web_search', input: 'weather' },
    ])
  })

  it('forgets an error that was got over, and remembers one that was not', () => {
    const error = { type: 'error', message: 'Reconnecting... 2/5 (Connection failed: error sending request)' }
    const again = item('command_execution', { command: 'ls' }, 'item.started')
    expect(read({ stdout: [started, error, again], exit: 1 }).fault?.kind).toBe('crash')
    expect(read({ stdout: [started, again, error], exit: 1 }).fault).toEqual({
      kind: 'infrastructure',
      message: 'Connection failed: error sending request',
    })
  })

  it.each([
    ['Your workspace is out of credits. Add credits to continue.', 'auth'],
    ['You hit your spend cap set in your workspace. Increase your spend cap to continue.', 'auth'],
    ['Your access token could not be refreshed. Please log out and sign in again.', 'auth'],
    ['Selected model is at capacity. Please try a different model.', 'infrastructure'],
    ['unexpected status 400 Bad Request: tools[0] is wrong', 'crash'],
    ['', 'crash'],
  ] as const)('tells the failure "%s" as %s', (message, kind) => {
    expect(read({ stdout: [started, failed(message)], exit: 1 }).fault?.kind).toBe(kind)
  })

  it('names what keeps it from starting', () => {
    const start = (line: string) => read({ stderr: [line], exit: 1 }).fault?.kind
    expect(start('Not inside a trusted directory and --skip-git-repo-check was not specified.')).toBe(
      'permission',
    )
    expect(start('Error loading configuration: config.toml:1:21: invalid basic string')).toBe('permission')
    expect(start('Error: turn/start failed: Input exceeds the maximum length of 1048576 characters.')).toBe(
      'crash',
    )
  })

  it('keeps the end of a huge message, and nothing of huge tool output', () => {
    const { report, events } = read({
      stdout: [
        item('agent_message', { text: `${'y'.repeat(3_000_000)}the end` }),
        item('command_execution', {
          command: 'c'.repeat(1_000_000),
          aggregated_output: 'x'.repeat(3_000_000),
        }),
      ],
      exit: 0,
    })
    expect(report.message.length).toBe(256 * 1024)
    expect(report.message.endsWith('the end')).toBe(true)
    expect(JSON.stringify(events).length).toBeLessThan(20_000)
  })
})
