import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { copilot } from '../../../src/agents/copilot.ts'
import { type Act, agentContract } from './agent-contract.ts'
import { useShim } from './bundle-scripted.ts'
import { useFolder } from './play.ts'
import { spokenSteps, writeScript } from './scripted-acts.ts'
import { aRequest, itRefusesBrokenPrograms, probeIn } from './starting.ts'

const shim = useShim('copilot', 'GitHub Copilot CLI 1.0.102.')

agentContract({
  name: 'copilot',
  acting: async (act, folder) => {
    writeConfig(folder)
    return copilot({ program: shim(folder, writeScript(folder, copilotSteps(act))) })
  },
  missing: async folder => copilot({ program: path.join(folder, 'no-such-copilot') }),
  reportsUsage: false,
})

function writeConfig(home: string): void {
  mkdirSync(path.join(home, '.copilot'), { recursive: true })
  writeFileSync(path.join(home, '.copilot/config.json'), '{}')
}

const failures = {
  limit: {
    errorType: 'rate_limit',
    statusCode: 429,
    message: "You've reached your weekly rate limit. It resets 3am (UTC)",
  },
  outage: { errorType: 'query', statusCode: 503, message: '503 Service Unavailable' },
  login: { errorType: 'authentication', statusCode: 401, message: 'Authentication failed (HTTP 401).' },
}

function copilotSteps(act: Act): unknown[] {
  const said = (content: string) => ({
    json: { type: 'assistant.message', data: { model: 'm', content, toolRequests: [] } },
  })
  return [
    { json: { type: 'session.tools_updated', data: { model: 'm' } } },
    ...spokenSteps(act, said),
    ...(act.after ?? []),
    ...(act.fails ? [{ json: { type: 'session.error', data: failures[act.fails] } }] : []),
    ...(act.exit && !act.fails
      ? []
      : [{ json: { type: 'result', sessionId: 's', usage: { premiumRequests: 1, ...act.usage } } }]),
    ...(act.exit === undefined ? [] : [{ exit: act.exit }]),
  ]
}

describe('copilot: starting', () => {
  const folder = useFolder()
  const headless = [
    'copilot',
    '--output-format',
    'json',
    '--no-ask-user',
    '--no-color',
    '--no-auto-update',
    '--disable-client-telemetry',
  ]

  it('runs headless, without questions, with the prompt on stdin', () => {
    const { argv, stdin } = copilot().command(aRequest({ model: 'gpt-5.4', extraArgs: ['--agent', 'x'] }))
    expect(argv).toEqual([...headless, '--allow-all', '--model', 'gpt-5.4', '--agent', 'x'])
    expect(stdin).toBe('prompt')
  })

  it('refuses a reviewer the writing tools, and does not promise that it cannot write', () => {
    expect(copilot().command(aRequest({ readOnly: true })).argv).toEqual([...headless, '--deny-tool=write'])
    expect(copilot().can.readOnly).toBe(false)
  })

  it('shows the CLI its own variables and no others', () => {
    const env = {
      COPILOT_GITHUB_TOKEN: 't',
      COPILOT_HOME: '/c',
      COPILOT_PROVIDER_BASE_URL: 'http://gateway.example',
      COPILOT_PROVIDER_API_KEY: 'k',
      COPILOT_AUTO_UPDATE: 'true',
      COPILOT_ALLOW_ALL: 'true',
      GH_TOKEN: 'g',
      GITHUB_TOKEN: 'g',
      OPENAI_API_KEY: 'o',
    }
    expect(copilot().command(aRequest({ env })).env).toEqual({
      COPILOT_GITHUB_TOKEN: 't',
      COPILOT_HOME: '/c',
      COPILOT_PROVIDER_BASE_URL: 'http://gateway.example',
      COPILOT_PROVIDER_API_KEY: 'k',
      COPILOT_AUTO_UPDATE: 'false',
    })
  })

  it('tells the version and the login state, and how to log in', async () => {
    const cwd = folder()
    const agent = copilot({ program: shim(cwd) })
    const probe = (env?: Record<string, string>) => probeIn(cwd, agent, env)
    const fine = { ok: true, version: '1.0.102', problem: null, fix: null }
    expect(await probe()).toEqual({
      ...fine,
      login: 'no',
      problem: 'not logged in',
      fix: expect.stringContaining('copilot login'),
    })
    expect(await probe({ COPILOT_GITHUB_TOKEN: 't' })).toEqual({ ...fine, login: 'yes' })
    expect(await probe({ COPILOT_PROVIDER_BASE_URL: 'http://x' })).toEqual({ ...fine, login: 'yes' })
    // Not shown to the CLI, so they are no login.
    expect(await probe({ GITHUB_TOKEN: 't' })).toMatchObject({ login: 'no' })
    writeConfig(cwd)
    expect(await probe()).toEqual({ ...fine, login: 'unknown' })
  })

  itRefusesBrokenPrograms(copilot, {
    product: 'GitHub Copilot CLI',
    install: 'npm install -g @github/copilot',
  })
})
