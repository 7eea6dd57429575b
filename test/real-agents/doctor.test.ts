import { expect, it } from 'vitest'
import type { Check } from '../../src/commands/doctor-checks.ts'
import { claude, codex, copilot, gemini, opencode } from './clis.ts'
import { useStage } from './stage.ts'

const clis = [claude, codex, copilot, gemini, opencode] as const
const stage = useStage(...clis)

async function starts(agent: unknown): Promise<{ code: number | null; checks: Check[]; asked: number }> {
  const play = stage({ agent: () => agent })
  const { code, stdout } = await play.ralph('doctor', '--json')
  const { checks } = JSON.parse(stdout) as { checks: Check[] }
  return {
    code,
    checks: checks.filter(check => check.name.startsWith('start ')),
    asked: clis.map(cli => play.requests(cli.name).length).reduce((sum, count) => sum + count),
  }
}

it('sees that each of the five takes our options and that its prompt arrives, and asks no model of the user', async () => {
  const { checks, asked } = await starts(clis.map(cli => cli.name))
  expect(checks.map(({ name, state, text }) => [name, state, text.replace(/[\d.]+ s/u, 'n s')])).toEqual(
    clis.map(cli => [`start ${cli.name}`, 'ok', 'takes our options, and its prompt arrives (n s)']),
  )
  expect(asked).toBe(0)
})

it('says what each of them has against an option that it does not know', async () => {
  const { code, checks } = await starts(clis.map(cli => ({ name: cli.name, args: ['--no-such-option'] })))
  expect(code).toBe(1)
  for (const { name, state, text, fix } of checks) {
    expect(state, `${name}: ${text}`).toBe('problem')
    expect(text).toMatch(
      /before it called its model; it said: .*(?:no-such-option|nosuchoption|Usage|opencode run)/iu,
    )
    expect(fix).toContain('--no-such-option')
  }
})
