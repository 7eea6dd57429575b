import { expect, it } from 'vitest'
import { describeEvent } from '../../src/reporters/describe.ts'
import { anAgent, event } from './build.ts'

const line = (over: Parameters<typeof anAgent>[0]) =>
  describeEvent(event({ type: 'step.finished', step: 's', stage: 'implement', outcome: anAgent(over) }), null)
    ?.text

it('says what an agent has used, as far as it told', () => {
  const usage = { costUsd: 0.25, inputTokens: 10, outputTokens: 5 }
  expect(line({})).toBe('scripted after 1.0 s: 1 file changed; claims done, now to be verified')
  expect(line({ usage })).toContain('scripted after 1.0 s, $0.2500: ')
  expect(line({ usage, context: { usedTokens: 50_000, windowTokens: 200_000 } })).toContain(
    ', $0.2500, 25 % of its context: ',
  )
  expect(line({ context: { usedTokens: 50_000, windowTokens: null } })).not.toContain('context')
})
