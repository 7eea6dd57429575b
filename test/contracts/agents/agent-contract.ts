import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Agent } from '../../../src/agents/agent.ts'
import { unknownUsage } from '../../../src/core/outcome.ts'
import { noon, play, useFolder } from './play.ts'

/** One attempt of an agent, told in a way that every agent can act. */
export type Act = {
  /** Steps of a script that are played before anything is said. */
  before?: unknown[]
  /** Printed on stderr. */
  aside?: string
  /** The final message. */
  message?: string
  /** The agent fails in this way and says so in its own manner; the limit ends at 3 in the morning, UTC. */
  fails?: 'limit' | 'outage' | 'login'
  usage?: { costUsd: number; inputTokens: number; outputTokens: number }
  exit?: number
  /** Played at the very end. */
  after?: unknown[]
}

export type Subject = {
  name: string
  /** An agent that acts like this when it is started. */
  acting(act: Act, folder: string): Promise<Agent>
  /** The same agent, pointed at a program that does not exist. */
  missing(folder: string): Promise<Agent>
  /** Whether it tells tokens and cost, tokens only, or neither. */
  reportsUsage: boolean | 'tokens'
}

/** What the engine relies on, whatever the agent. */
export function agentContract(subject: Subject): void {
  const folder = useFolder()
  const acted = async (act: Act, prompt?: string) => {
    const cwd = folder()
    return play(await subject.acting(act, cwd), { cwd, ...(prompt === undefined ? {} : { prompt }) })
  }

  describe(`${subject.name}: the agent contract`, () => {
    it('H-28 gets a prompt of 1 MB whole, on stdin and not in its arguments', async () => {
      const cwd = folder()
      const prompt = `${'Zeile ä 漢 😀 "quoted" $HOME\n'.repeat(34_000)}the end`
      expect(Buffer.byteLength(prompt)).toBeGreaterThan(1_000_000)
      const agent = await subject.acting({ before: [{ 'write-prompt': 'seen.txt' }], message: 'ok' }, cwd)
      const played = await play(agent, { cwd, prompt })
      expect(readFileSync(path.join(cwd, 'seen.txt'), 'utf8') === prompt).toBe(true)
      expect(played.argv.join(' ').length).toBeLessThan(4096)
      expect(played.fault).toBeNull()
    })

    it('gives the final message and nothing of stderr', async () => {
      const played = await acted({
        aside: 'a warning',
        message: 'First line.\n\n<promise>COMPLETE</promise>',
      })
      expect(played.report.message.trim()).toBe('First line.\n\n<promise>COMPLETE</promise>')
      expect(played.report.tail).toContain('a warning')
      expect(played.fault).toBeNull()
    })

    it('shows what is said and what is printed aside as events', async () => {
      const { events } = await acted({ aside: 'a warning', message: 'All is well.' })
      expect(events).toContainEqual({ type: 'text', text: 'All is well.' })
      expect(events).toContainEqual({ type: 'notice', text: 'a warning' })
    })

    it('says unknown, not 0, when usage is not told', async () => {
      const { report } = await acted({ message: 'ok' })
      expect(report.usage).toEqual({ costUsd: null, inputTokens: null, outputTokens: null })
    })

    it(usageTitles[String(subject.reportsUsage)] ?? '', async () => {
      const usage = { costUsd: 0.25, inputTokens: 1200, outputTokens: 34 }
      const { report } = await acted({ message: 'ok', usage })
      const told = subject.reportsUsage === 'tokens' ? { ...usage, costUsd: null } : usage
      expect(report.usage).toEqual(subject.reportsUsage ? told : unknownUsage)
    })

    it('reads the message after 20 MB of noise in lines, and after 3 MB without a line end', async () => {
      const lines = await acted({ before: [{ flood: 20_000_000 }], message: 'after the flood' })
      expect(lines.report.message.endsWith('after the flood')).toBe(true)
      expect(lines.report.message.length).toBeLessThanOrEqual(256 * 1024)
      const endless = await acted({
        before: [{ flood: { bytes: 3_000_000, line: 0 } }, { say: '' }],
        message: 'after the line',
      })
      expect(endless.report.message.endsWith('after the line')).toBe(true)
    })

    it('keeps memory flat over 100 MB of output', async () => {
      const reader = (await subject.acting({}, folder())).reader()
      setFlagsFromString('--expose-gc')
      const gc = runInNewContext('gc') as () => void
      const heap = () => {
        gc()
        return process.memoryUsage().heapUsed
      }
      const json = (index: number) =>
        JSON.stringify({
          type: 'assistant',
          message: { content: [{ type: 'text', text: `${index}${'y'.repeat(5_000_000)}` }] },
        })
      const before = heap()
      let longest = 0
      for (let index = 0; index < 10; index++) {
        const events = [
          ...reader.line(`${index}${'x'.repeat(5_000_000)}`, index % 2 ? 'stdout' : 'stderr'),
          ...reader.line(json(index), 'stdout'),
        ]
        longest = Math.max(longest, ...events.map(event => ('text' in event ? event.text.length : 0)))
      }
      expect(heap() - before).toBeLessThan(2_500_000)
      expect(longest).toBeLessThanOrEqual(16_384)
      const report = reader.end({ code: 0, killed: null })
      expect(report.message.length).toBeLessThanOrEqual(256 * 1024)
      expect(report.tail.length).toBeLessThanOrEqual(8 * 1024)
    })

    it('survives invalid UTF-8 and control bytes', async () => {
      const { report, fault } = await acted({
        before: [{ bytes: 'ff fe 80 c3 28 00 07 1b5b333161 0d 0a' }, { bytes: 'edbfbf 0a' }],
        message: 'still here',
      })
      expect(report.message.trim().endsWith('still here')).toBe(true)
      expect(fault).toBeNull()
    })

    it('never throws, whatever lines come', async () => {
      const agent = await subject.acting({}, folder())
      fc.assert(
        fc.property(
          fc.array(fc.tuple(anyLine, fc.constantFrom('stdout' as const, 'stderr' as const)), {
            maxLength: 12,
          }),
          lines => {
            const reader = agent.reader()
            for (const [line, stream] of lines) {
              for (const event of reader.line(line, stream))
                expect(['text', 'tool', 'notice']).toContain(event.type)
            }
            const report = reader.end({ code: 0, killed: null })
            expect(typeof report.message).toBe('string')
            for (const amount of Object.values(report.usage))
              expect(amount === null || amount >= 0).toBe(true)
          },
        ),
        { numRuns: 300 },
      )
    })

    it('calls exit 0 without text empty', async () => {
      expect((await acted({})).fault).toMatchObject({ kind: 'empty' })
      expect((await acted({ message: '  \n' })).fault).toMatchObject({ kind: 'empty' })
    })

    it('calls a failed exit a crash and says what was printed last', async () => {
      const { fault } = await acted({ aside: 'Error: cannot find module x', message: 'half done', exit: 7 })
      expect(fault).toEqual({
        kind: 'crash',
        message: 'Agent exited with code 7: Error: cannot find module x',
      })
    })

    it('calls a death by signal a crash', async () => {
      const { fault, killed } = await acted({ message: 'half done', after: ['segfault'] })
      expect(killed).toBe('SIGSEGV')
      expect(fault).toMatchObject({ kind: 'crash', message: expect.stringContaining('SIGSEGV') })
    })

    it('tells a usage limit with its end from an outage and a missing login', async () => {
      expect((await acted({ fails: 'limit', exit: 1 })).fault).toMatchObject({
        kind: 'limit',
        until: Date.UTC(2026, 10, 16, 3),
      })
      expect((await acted({ fails: 'outage', exit: 1 })).fault).toMatchObject({ kind: 'infrastructure' })
      expect((await acted({ fails: 'login', exit: 1 })).fault).toMatchObject({ kind: 'auth' })
    })

    it('sees a limit message with exit code 0 when it is all that was said', async () => {
      const { fault } = await acted({ message: "You've hit your limit · resets 3am (UTC)" })
      expect(fault).toEqual({
        kind: 'limit',
        message: "You've hit your limit · resets 3am (UTC)",
        until: noon + 15 * 3_600_000,
      })
    })

    it('leaves a useful answer about rate limits alone', async () => {
      const answer = `${'I added the middleware and its tests.\n'.repeat(20)}Clients that are rate limited now get 429 Too Many Requests.\n<ralph>DONE 1.1</ralph>`
      expect((await acted({ message: answer })).fault).toBeNull()
    })

    it('gives the same command for the same request', async () => {
      const cwd = folder()
      const agent = await subject.acting({}, cwd)
      const request = {
        promptFile: 'p',
        cwd,
        readOnly: true,
        extraArgs: ['--extra', 'last'],
        env: {},
        root: false,
      }
      const command = agent.command(request)
      expect(agent.command(request)).toEqual(command)
      expect(command.argv.slice(-2)).toEqual(['--extra', 'last'])
    })

    it('is probed by starting it or looking it up, and says how to mend what is missing', async () => {
      const cwd = folder()
      const env = { PATH: process.env.PATH, HOME: cwd }
      const fine = await (await subject.acting({ message: '1.2.3' }, cwd)).probe({ env, cwd })
      expect(fine).toMatchObject({ ok: true, problem: null })
      const broken = await (await subject.missing(cwd)).probe({ env, cwd })
      expect(broken.ok).toBe(false)
      expect(broken.problem).not.toBe('')
      expect(broken.fix).not.toBe('')
    })
  })
}

const usageTitles: Record<string, string> = {
  true: 'tells usage and cost',
  tokens: 'tells tokens, and cost as unknown',
  false: 'cannot tell usage, whatever it prints',
}

const anyJson = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string(),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    tie('list'),
    tie('map'),
  ),
  list: fc.array(tie('value'), { maxLength: 3 }),
  map: fc.dictionary(
    fc.constantFrom(
      'type',
      'subtype',
      'message',
      'content',
      'text',
      'result',
      'usage',
      'modelUsage',
      'is_error',
      'errors',
      'error',
      'permission_denials',
      'rate_limit_info',
      'status',
      'resetsAt',
      'tool_result_meta',
      'permission_decision',
      'input',
      'model',
      'session_id',
      'total_cost_usd',
      'api_error_status',
      'terminal_reason',
      'plugin_errors',
      'item',
      'part',
      'state',
      'tokens',
      'changes',
      'arguments',
      'data',
      'responseHeaders',
    ),
    tie('value'),
    { maxKeys: 6 },
  ),
}))

const anyEvent = fc
  .tuple(
    fc.constantFrom(
      'system',
      'assistant',
      'user',
      'result',
      'rate_limit_event',
      'stream_event',
      'item.completed',
      'turn.completed',
      'turn.failed',
      'text',
      'tool_use',
      'step_finish',
      'error',
      'toString',
      '__proto__',
    ),
    fc.constantFrom('init', 'api_retry', 'permission_denied', 'success', 'error_max_turns'),
    anyJson.map,
  )
  .map(([type, subtype, rest]) => JSON.stringify({ ...(rest as object), type, subtype }))

const anyLine = fc.oneof(
  fc.string({ unit: 'binary' }),
  anyJson.value.map(value => JSON.stringify(value) ?? ''),
  anyEvent,
  anyEvent.map(line => line.slice(0, line.length / 2)),
  fc.constantFrom(
    '@ralph-usage ',
    '@ralph-usage {}',
    '@ralph-usage {"costUsd":"x"}',
    '@ralph-usage {"costUsd":-1}',
    '{',
    '[]',
    'null',
  ),
)
