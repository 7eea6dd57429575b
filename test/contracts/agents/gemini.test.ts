import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { gemini } from '../../../src/agents/gemini.ts'
import { type Act, agentContract } from './agent-contract.ts'
import { useShim } from './bundle-scripted.ts'
import { useFolder } from './play.ts'
import { spokenSteps, writeScript } from './scripted-acts.ts'
import { aRequest, itRefusesBrokenPrograms, probeIn } from './starting.ts'

const shim = useShim('gemini', '0.61.0')

agentContract({
  name: 'gemini',
  acting: async (act, folder) => {
    writeSettings(folder, 'gemini-api-key')
    return gemini({ program: shim(folder, writeScript(folder, geminiSteps(act))) })
  },
  missing: async folder => gemini({ program: path.join(folder, 'no-such-gemini') }),
  reportsUsage: 'tokens',
})

function writeSettings(home: string, selectedType: string): void {
  mkdirSync(path.join(home, '.gemini'), { recursive: true })
  writeFileSync(
    path.join(home, '.gemini/settings.json'),
    JSON.stringify({ security: { auth: { selectedType } } }),
  )
}

const failures = {
  limit: '[API Error: You exceeded your current quota. It resets 3am (UTC)]',
  outage: '[API Error: {"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]',
  login: '[API Error: {"error":{"code":401,"message":"Expected a token.","status":"UNAUTHENTICATED"}}]',
}

function geminiSteps(act: Act): unknown[] {
  const said = (content: string) => ({ json: { type: 'message', role: 'assistant', content, delta: true } })
  const ended = (fields: object) => ({ json: { type: 'result', ...usageFields(act), ...fields } })
  return [
    { json: { type: 'init', session_id: 's', model: 'm' } },
    ...spokenSteps(act, said, [
      { json: { type: 'tool_use', tool_name: 'read_file', tool_id: '1', parameters: {} } },
      { json: { type: 'tool_result', tool_id: '1', status: 'success', output: 'x' } },
    ]),
    ...(act.after ?? []),
    ...(act.fails
      ? [ended({ status: 'error', error: { type: 'unknown', message: failures[act.fails] } })]
      : act.message === undefined || act.exit
        ? []
        : [ended({ status: 'success' })]),
    ...(act.exit === undefined ? [] : [{ exit: act.exit }]),
  ]
}

/** Of the output a part was only thought, which the CLI counts in the total alone. */
function usageFields({ usage }: Act): object {
  if (!usage) return {}
  const { inputTokens, outputTokens } = usage
  return {
    stats: {
      input_tokens: inputTokens,
      output_tokens: outputTokens - 4,
      total_tokens: inputTokens + outputTokens,
    },
  }
}

describe('gemini: starting', () => {
  const folder = useFolder()

  it('runs headless, without questions, with the prompt on stdin', () => {
    const { argv, stdin } = gemini().command(aRequest({ model: 'gemini-2.5-pro', extraArgs: ['-e', 'none'] }))
    expect(argv).toEqual([
      'gemini',
      '--approval-mode',
      'yolo',
      '--output-format',
      'stream-json',
      '--model',
      'gemini-2.5-pro',
      '-e',
      'none',
    ])
    expect(stdin).toBe('prompt')
  })

  it('lets a reviewer look at the change, and does not promise that it cannot write', () => {
    const { argv } = gemini().command(aRequest({ readOnly: true }))
    expect(argv).toEqual([
      'gemini',
      '--approval-mode',
      'default',
      '--allowed-tools',
      'run_shell_command(git diff),run_shell_command(git log),run_shell_command(git show),run_shell_command(git status)',
      '--output-format',
      'stream-json',
    ])
    expect(gemini().can.readOnly).toBe(false)
  })

  it('shows the CLI its own variables and no others', () => {
    const env = {
      GEMINI_API_KEY: 'k',
      GEMINI_CLI_HOME: '/g',
      GOOGLE_GEMINI_BASE_URL: 'http://gateway.example',
      GEMINI_CLI_IDE_SERVER_PORT: '1',
      GEMINI_TELEMETRY_ENABLED: 'true',
      GOOGLE_APPLICATION_CREDENTIALS: 'f',
      GOOGLE_API_KEY: 'c',
      GITHUB_TOKEN: 'g',
    }
    expect(gemini().command(aRequest({ env })).env).toEqual({
      GEMINI_API_KEY: 'k',
      GEMINI_CLI_HOME: '/g',
      GOOGLE_GEMINI_BASE_URL: 'http://gateway.example',
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_CLI_NO_RELAUNCH: 'true',
      GEMINI_TELEMETRY_ENABLED: 'false',
    })
  })

  it('shows the keys of the cloud only to who uses it', () => {
    const env = { GOOGLE_API_KEY: 'c', GOOGLE_CLOUD_ACCESS_TOKEN: 't' }
    const vertex = gemini().command(aRequest({ env: { ...env, GOOGLE_GENAI_USE_VERTEXAI: 'true' } })).env
    expect(vertex).toMatchObject({ GOOGLE_API_KEY: 'c' })
    expect(vertex).not.toHaveProperty('GOOGLE_CLOUD_ACCESS_TOKEN')
    const assist = gemini().command(aRequest({ env: { ...env, GOOGLE_GENAI_USE_GCA: 'true' } })).env
    expect(assist).toMatchObject({ GOOGLE_CLOUD_ACCESS_TOKEN: 't' })
    expect(assist).not.toHaveProperty('GOOGLE_API_KEY')
  })

  it('tells the version and the login state, and how to log in', async () => {
    const cwd = folder()
    const agent = gemini({ program: shim(cwd) })
    const probe = (env?: Record<string, string>) => probeIn(cwd, agent, env)
    const fine = { ok: true, version: '0.61.0', problem: null, fix: null }
    expect(await probe()).toEqual({
      ...fine,
      login: 'no',
      problem: 'not logged in',
      fix: expect.stringContaining('GEMINI_API_KEY'),
    })
    expect(await probe({ GEMINI_API_KEY: 'k' })).toEqual({ ...fine, login: 'yes' })
    // Measured: exit code 41, because a base URL alone means a gateway.
    expect(await probe({ GEMINI_API_KEY: 'k', GOOGLE_GEMINI_BASE_URL: 'http://x' })).toMatchObject({
      login: 'no',
      fix: expect.stringContaining('selectedType'),
    })
    expect(await probe({ GOOGLE_GENAI_USE_VERTEXAI: 'true' })).toEqual({ ...fine, login: 'unknown' })

    writeSettings(cwd, 'oauth-personal')
    expect(await probe()).toEqual({ ...fine, login: 'unknown' })
    writeFileSync(path.join(cwd, '.gemini/oauth_creds.json'), '{}')
    expect(await probe()).toEqual({ ...fine, login: 'yes' })
  })

  itRefusesBrokenPrograms(gemini, { product: 'Gemini CLI', install: 'npm install -g @google/gemini-cli' })
})
