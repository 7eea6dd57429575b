import { describe, expect, it } from 'vitest'
import { faultFix } from '../../../src/agents/fixes.ts'
import { findAgent } from '../../../src/agents/registry.ts'
import type { FaultKind } from '../../../src/core/outcome.ts'
import { readRecorded } from './streams.ts'

async function fixOf(agent: string, recording: string, exit: number): Promise<string | null> {
  const { fault } = readRecorded(await findAgent(agent), recording, { exit })
  return fault && faultFix(agent, fault)
}

describe('faultFix', () => {
  it.each([
    ['claude', '401', 1, '/login'],
    ['claude', 'not-logged-in', 1, '/login'],
    ['claude', 'credit', 1, 'Top up'],
    ['codex', '401', 1, 'codex login'],
    ['codex', 'no-key', 1, 'codex login'],
    ['copilot', '401', 1, 'copilot login'],
    ['copilot', '404', 1, '--model'],
    ['copilot', 'not-logged-in', 1, 'copilot login'],
    ['gemini', '401', 145, 'Run `gemini`'],
    ['gemini', '404', 1, '--model'],
    ['gemini', 'not-logged-in', 41, 'Run `gemini`'],
    ['opencode', '401', 1, 'opencode auth login'],
  ])('%s, %s (exit code %i): %s', async (agent, recording, exit, words) => {
    expect(await fixOf(agent, recording, exit)).toContain(words)
  })

  it.each([
    "There's an issue with the selected model (x). It may not exist or you may not have access to it.",
    'ProviderModelNotFoundError: Model not found: anthropic/sonnet.',
    "The model 'x' does not exist",
  ])('takes "%s" for a matter of the model', message => {
    expect(faultFix('claude', { kind: 'auth', message })).toContain('--model')
  })

  it('tells how to install what could not be started', () => {
    const fault = { kind: 'permission' as const, message: 'Agent could not be started: spawn codex ENOENT' }
    expect(faultFix('codex', fault)).toContain('npm install -g @openai/codex')
    expect(faultFix('command', fault)).toContain('`agent`')
  })

  it('has something for agents it does not know, and for refusals', () => {
    expect(faultFix('toString', { kind: 'auth', message: 'no' })).toContain("Log in to 'toString'")
    expect(faultFix('gemini', { kind: 'permission', message: 'not permitted' })).toContain('ralph doctor')
  })

  it.each(['infrastructure', 'limit', 'crash', 'timeout', 'empty'] satisfies FaultKind[])(
    'has nothing for %s, which passes or is the task’s own',
    kind => {
      expect(faultFix('claude', { kind, message: 'Not logged in' })).toBeNull()
    },
  )
})
