import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AcpScript, AcpStep } from './acp-agent.ts'
import { useAcpPrograms } from './acp-bundle.ts'
import { type PlayOptions, play, useFolder } from './play.ts'

/** The client program with a real agent at its other end. */

const programs = useAcpPrograms()
const folder = useFolder()

async function turn(steps: AcpStep[], rest: Partial<AcpScript> = {}, options: Partial<PlayOptions> = {}) {
  const cwd = options.cwd ?? folder()
  const agent = programs.agent(cwd, { turns: [steps], ...rest })
  return { cwd, ...(await play(agent, { cwd, ...options })) }
}

const ask = (toolCall: object) => ({
  toolCall: { toolCallId: 'call-1', title: 'a tool', ...toolCall },
  options: [
    { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
    { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
  ],
})
const edit = ask({ kind: 'edit', title: 'Writing a.txt' })

describe('acp: the conversation', () => {
  it('introduces itself, opens a session in the workspace and sends the prompt', async () => {
    const cwd = folder()
    const { report, exit } = await turn(
      [{ play: [{ 'write-prompt': 'seen.txt' }] }, { chunk: 'ok' }],
      {},
      { cwd, prompt: 'Tu es.\n' },
    )
    expect(readFileSync(path.join(cwd, 'seen.txt'), 'utf8')).toBe('Tu es.\n')
    expect(report).toMatchObject({ message: 'ok', sessionId: 'session-1', model: null })
    expect(exit).toBe(0)
  })

  it('shows texts, tools and notices, each once, in order', async () => {
    const tool = { toolCallId: 'a', title: 'bash', kind: 'execute' }
    const { events } = await turn([
      { chunk: 'I ' },
      { chunk: 'look.' },
      { update: { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'SECRET' } } },
      { update: { sessionUpdate: 'tool_call', ...tool, status: 'pending' } },
      { update: { sessionUpdate: 'tool_call_update', ...tool, rawInput: { command: 'ls -l' } } },
      { update: { sessionUpdate: 'tool_call_update', ...tool, status: 'completed' } },
      { update: { sessionUpdate: 'from_the_future', what: 1 } },
      { update: { sessionUpdate: 'plan', entries: [] } },
      { update: { sessionUpdate: 'notice', severity: 'info', title: 'Note', description: 'this' } },
      { chunk: 'Done.' },
    ])
    expect(events).toEqual([
      { type: 'text', text: 'I look.' },
      { type: 'tool', name: 'execute', input: 'ls -l' },
      { type: 'notice', text: 'Note: this' },
      { type: 'text', text: 'Done.' },
    ])
  })

  it('takes only the last message, told by tools, ids and thoughts', async () => {
    const thought = { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'hm' } }
    const message = async (...steps: AcpStep[]) => (await turn(steps)).report.message
    expect(await message({ chunk: 'one', id: 'a' }, { chunk: 'two', id: 'b' }, { chunk: '!', id: 'b' })).toBe(
      'two!',
    )
    expect(await message({ chunk: 'one' }, { update: thought }, { chunk: 'two' })).toBe('two')
    expect(await message({ chunk: 'one ' }, { chunk: 'two' })).toBe('one two')
    expect(await message({ chunk: 'one' }, { permission: edit }, { chunk: ' more' })).toContain('more')
  })

  it('says a long text in lines that the engine can take', async () => {
    const text = `${'Zeile 漢 😀\n'.repeat(40_000)}<ralph>DONE 1.1</ralph>`
    const { report } = await turn([{ chunk: text }])
    expect(report.message).toBe(text.slice(-256 * 1024))
  })

  it('passes on what the agent prints among its messages, and how it ended', async () => {
    const { report, fault } = await turn([
      { play: [{ say: 'a stray line' }, { stderr: 'Error: boom' }, { exit: 9 }] },
    ])
    expect(report.tail).toContain('a stray line')
    expect(report.tail).toContain('Error: boom')
    expect(fault).toMatchObject({ kind: 'crash', message: expect.stringContaining('exited with code 9') })
  })

  it('keeps what was said when the agent dies', async () => {
    const { report, fault } = await turn([{ chunk: 'half done' }, { play: [{ exit: 0 }] }])
    expect(report.message).toBe('half done')
    expect(fault).toMatchObject({ kind: 'crash', message: expect.stringContaining('left before its turn') })
  })

  it.each([
    [{ code: -32000, message: 'Authentication required' }, 'auth', 'Authentication required'],
    [
      { code: -32603, message: 'Internal error', data: { details: '401 Unauthorized', status: 401 } },
      'auth',
      '401',
    ],
    [{ code: 503, message: '{"error":{"message":"try later"}}' }, 'infrastructure', 'try later'],
    [{ code: -32603, message: 'Internal error', data: 'ECONNRESET' }, 'infrastructure', 'ECONNRESET'],
    [{ code: -32603, message: 'it broke' }, 'crash', 'it broke'],
  ])('tells the error %j as %s', async (error, kind, message) => {
    const { fault, exit } = await turn([{ fail: error }])
    expect(exit).toBe(1)
    expect(fault).toMatchObject({ kind, message: expect.stringContaining(message) })
  })

  it('tells a missing login from the start of a session', async () => {
    const { fault } = await turn([], { refuse: { code: -32000, message: 'Run `agent login`' } })
    expect(fault).toEqual({ kind: 'auth', message: 'Run `agent login`' })
  })

  it('refuses another version of the protocol', async () => {
    const { fault } = await turn([], { initialize: { protocolVersion: 2 } })
    expect(fault).toMatchObject({ kind: 'crash', message: expect.stringContaining('version 2 of ACP') })
  })
})

describe('acp: the model', () => {
  const option = {
    id: 'm',
    name: 'Model',
    category: 'model',
    type: 'select',
    currentValue: 'small',
    options: [
      { value: 'small', name: 'S' },
      { group: 'g', name: 'G', options: [{ value: 'large', name: 'L' }] },
    ],
  }
  const models = { currentModelId: 'a', availableModels: [{ modelId: 'a' }, { modelId: 'b' }] }

  it('is what the agent says it is', async () => {
    expect((await turn([{ chunk: 'x' }], { session: { configOptions: [option] } })).report.model).toBe(
      'small',
    )
    expect((await turn([{ chunk: 'x' }], { session: { models } })).report.model).toBe('a')
  })

  it('is chosen as an option of the session, or in the older way', async () => {
    const chosen = await turn([{ chunk: 'x' }], { session: { configOptions: [option] } }, { model: 'large' })
    expect(chosen.report).toMatchObject({ model: 'large', tail: expect.stringContaining('config m=large') })
    const older = await turn([{ chunk: 'x' }], { session: { models } }, { model: 'b' })
    expect(older.report).toMatchObject({ model: 'b', tail: expect.stringContaining('model b') })
  })

  it('is not silently another one', async () => {
    const { fault } = await turn([{ chunk: 'x' }], { session: { models } }, { model: 'c' })
    expect(fault).toEqual({ kind: 'auth', message: "the agent does not offer the model 'c'; it has a, b" })
    const none = await turn([{ chunk: 'x' }], {}, { model: 'c' })
    expect(none.fault?.message).toBe("the agent does not offer the model 'c'")
  })
})

describe('acp: permissions and files', () => {
  it('allows an implementer', async () => {
    const steps: AcpStep[] = [
      { permission: edit, allowed: [{ play: [{ write: { path: 'a.txt', text: 'a' } }] }] },
    ]
    const { cwd, events } = await turn(steps)
    expect(existsSync(path.join(cwd, 'a.txt'))).toBe(true)
    expect(events).toContainEqual({ type: 'tool', name: 'edit', input: 'Writing a.txt' })
  })

  it('refuses a reviewer to write and lets him read', async () => {
    const status = ask({ toolCallId: 'b', kind: 'execute', rawInput: { command: 'git status' } })
    const { report, events } = await turn(
      [
        { permission: edit },
        { permission: status },
        { writeFile: { path: 'a.txt', content: 'x' } },
        { chunk: ' end' },
      ],
      {},
      { readOnly: true },
    )
    expect(events).toContainEqual({ type: 'notice', text: 'refused: Writing a.txt' })
    expect(JSON.stringify(events)).toContain('\\"optionId\\":\\"reject\\"')
    expect(report.message).toContain('"optionId":"allow"')
    expect(report.message).toContain('you may only read')
    expect(report.message.endsWith(' end')).toBe(true)
  })

  it('reminds a reviewer who gave up when he was refused, and not for ever', async () => {
    const cancelled = 'Info: Operation cancelled by user'
    // What a turn says before its permission is asked does not count; what it says after it does.
    const refused: AcpStep = {
      update: { sessionUpdate: 'tool_call', toolCallId: 'x', title: 'x', kind: 'edit' },
    }
    const giveUp: AcpStep[] = [refused, { silentPermission: edit }, { chunk: cancelled }]
    const verdict: AcpStep[] = [{ play: [{ 'write-prompt': 'reminder.txt' }] }, { chunk: 'VERDICT: pass' }]
    const reviewed = await turn([], { turns: [giveUp, verdict] }, { readOnly: true })
    expect(reviewed.report.message).toBe('VERDICT: pass')
    expect(readFileSync(path.join(reviewed.cwd, 'reminder.txt'), 'utf8')).toContain('you may only read')
    const stubborn = await turn([], { turns: [giveUp] }, { readOnly: true })
    expect(stubborn.report.message).toBe(cancelled)
    expect(stubborn.events.filter(event => event.type === 'notice')).toHaveLength(6)
  })

  it('reads and writes files in the workspace and nowhere else', async () => {
    const cwd = folder()
    const outside = mkdtempSync(path.join(tmpdir(), 'ralph-outside-'))
    writeFileSync(path.join(outside, 'secret.txt'), 'secret')
    writeFileSync(path.join(cwd, 'lines.txt'), 'one\ntwo\nthree\nfour\n')
    mkdirSync(path.join(cwd, 'sub'))
    symlinkSync(outside, path.join(cwd, 'link'))
    symlinkSync(path.join(outside, 'new.txt'), path.join(cwd, 'dangling'))
    const read = (file: string, rest = {}) => ({ readFile: { path: path.join(cwd, file), ...rest } })
    const write = (file: string) => ({ writeFile: { path: path.join(cwd, file), content: 'written' } })
    try {
      const { report } = await turn(
        [
          read('lines.txt', { line: 2, limit: 2 }),
          read('none.txt'),
          read('sub'),
          read('link/secret.txt'),
          { readFile: { path: path.join(outside, 'secret.txt') } },
          write('sub/deep/er.txt'),
          write('link/new.txt'),
          write('dangling'),
          write('../escaped.txt'),
        ],
        {},
        { cwd },
      )
      expect(report.message).toContain('[{"content":"two\\nthree"}]')
      expect(report.message).toContain('Resource not found')
      expect(report.message).toContain('is not a file')
      expect(report.message.match(/is not in the workspace/gu)).toHaveLength(5)
      expect(report.message).not.toContain('"secret"')
      expect(readFileSync(path.join(cwd, 'sub/deep/er.txt'), 'utf8')).toBe('written')
      expect(existsSync(path.join(outside, 'new.txt'))).toBe(false)
      expect(existsSync(path.join(cwd, '../escaped.txt'))).toBe(false)
    } finally {
      rmSync(outside, { recursive: true, force: true })
    }
  })
})

describe('acp: usage', () => {
  const usage = { inputTokens: 100, outputTokens: 20, totalTokens: 520, cachedReadTokens: 400 }
  const end: AcpStep[] = [{ chunk: 'x' }, { stop: 'end_turn', result: { usage } }]

  it('counts what came from the cache, once', async () => {
    expect((await turn(end)).report.usage).toEqual({ costUsd: null, inputTokens: 500, outputTokens: 20 })
    const { totalTokens: _, ...parts } = usage
    const untold = await turn([{ chunk: 'x' }, { stop: 'end_turn', result: { usage: parts } }])
    expect(untold.report.usage).toMatchObject({ inputTokens: 500 })
  })

  it('does not believe an agent that tells only its last step, nor another currency', async () => {
    const cost = { amount: 3, currency: 'EUR' }
    const { report } = await turn(
      [{ update: { sessionUpdate: 'usage_update', used: 9, size: 10, cost } }, ...end],
      {
        initialize: { agentInfo: { name: 'OpenCode', version: '1' } },
      },
    )
    expect(report.usage).toEqual({ costUsd: null, inputTokens: null, outputTokens: null })
    expect(report.context).toEqual({ usedTokens: 9, windowTokens: 10 })
  })
})
