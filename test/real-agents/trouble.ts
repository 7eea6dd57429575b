import { describe, expect, it } from 'vitest'
import { until } from '../helpers/ralph.ts'
import type { Turn } from '../model-server/scenario.ts'
import type { RealCli } from './clis.ts'
import { type Play, patience, useStage } from './stage.ts'

/** What Ralph makes of a model that cannot be reached or refuses, as the real CLI tells it. */
export function takesOutages(cli: RealCli): void {
  const stage = useStage(cli)

  describe(`${cli.name}: outages`, () => {
    it('an overload and a dropped stream back off, a limit waits for its end, a wrong key holds: no try is used up', async () => {
      const play = stage()
      const { grain, lead, failure } = cli.limit
      const headers = cli.hurry ? { headers: cli.hurry } : {}
      const overloaded: Turn = { error: { status: 529, ...headers } }
      const dropped: Turn = { text: 'Half of this answer is lost, because the line breaks.', trouble: 'drop' }
      play.script([overloaded])
      const running = play.start('run', '--attempts', '1')
      const outage = await ended(play, 1)
      play.script([dropped])
      const loss = await ended(play, 2)
      const resetAt = Math.ceil((Date.now() + lead) / grain) * grain
      play.script([{ error: failure(resetAt) }])
      const refusal = await ended(play, 3)
      play.script([{ error: { status: 401 } }])
      const { code, stdout } = await running.ended

      const calls = play.calls()
      expect(calls.map(call => call.fault?.kind ?? call.message)).toEqual([
        'infrastructure',
        'infrastructure',
        'limit',
        'auth',
      ])
      expect(stdout.match(/does not count as a try/gu)).toHaveLength(3)
      expect(askedAfter(play, outage)).toBeGreaterThanOrEqual(outage + 1000)
      expect(askedAfter(play, loss)).toBeGreaterThanOrEqual(loss + 2000)
      const reset = calls[2]?.fault?.until ?? 0
      expect(reset).toBeGreaterThan(refusal)
      expect(askedAfter(play, refusal)).toBeGreaterThanOrEqual(reset)

      expect(code).toBe(1)
      expect(stdout).toMatch(/^Not complete: auth: /mu)
      expect(play.project.exists('progress.txt') ? play.project.read('progress.txt') : '').not.toContain(
        '[FAIL]',
      )
      expect((await play.ralph('explain', '1.1')).stdout).toContain('ralph doctor')
      const report = JSON.parse((await play.ralph('report', '--json')).stdout) as { agents: unknown[] }
      expect(report.agents).toMatchObject([{ calls: 4, refunded: 4 }])
    })
  })
}

/** What ends badly in itself, and would again. */
export function countsFailures(cli: RealCli): void {
  const stage = useStage(cli)

  describe(`${cli.name}: failures`, () => {
    it('a prompt that is too long, a cut answer and one without an end count as tries', async () => {
      const play = stage()
      const attempt = async (turn: Turn, ...args: string[]) => {
        play.script([turn])
        const { code, stdout } = await play.ralph('run', '--attempts', '3', '-n', '1', ...args)
        expect(code, stdout).toBe(1)
        const failures = play.project.read('progress.txt').match(/^\[FAIL\] .*$/gmu) ?? []
        return { call: play.calls().at(-1), failure: failures.at(-1), count: failures.length, stdout }
      }

      const tooLong = await attempt({ error: 'prompt-too-long' })
      expect(tooLong.call?.fault).toMatchObject({ kind: 'crash', message: expect.stringMatching(longWords) })
      expect(tooLong.failure).toContain('(attempt 1/3)')

      const cut = await attempt({ text: 'This answer is cut in the middle of', stop: 'max-tokens' })
      const told = cli.cut === 'told'
      expect(cut.call?.fault ?? null).toEqual(told ? expect.objectContaining({ kind: 'crash' }) : null)
      expect(cut.failure).toMatch(
        told ? /tokens?\b.*\(attempt 2\/3\)/u : /No completion signal.*\(attempt 2\/3\)/u,
      )

      const endless = await attempt({ trouble: 'endless' }, '-t', patience(tooLong.call?.ms ?? 0))
      const byClock = cli.endless === 'timeout'
      expect(endless.call?.ended).toBe(byClock ? 'timeout' : 'exit')
      expect(endless.failure).toMatch(byClock ? /Timeout after.*\(attempt 3\/3\)/u : /\(attempt 3\/3\)/u)
      expect(endless.count).toBe(3)
      expect(endless.stdout).toContain('MAX RETRIES EXCEEDED')
    })
  })
}

const longWords = /too long|maximum context|context window|exceeds the maximum/iu

/** When it was seen to have ended. */
async function ended(play: Play, calls: number): Promise<number> {
  await until(`the end of call ${calls}`, () => play.calls().length >= calls, 240_000)
  return Date.now()
}

/** When the next call asked its model. */
function askedAfter(play: Play, time: number): number {
  return play.requests().find(request => request.at >= time)?.at ?? Number.NaN
}
