import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { codex } from '../../../src/agents/codex.ts'
import { type Act, agentContract } from './agent-contract.ts'
import { useShim } from './bundle-scripted.ts'
import { useFolder } from './play.ts'
import { spokenSteps, writeScript } from './scripted-acts.ts'
import { aRequest, itRefusesBrokenPrograms, probeIn } from './starting.ts'

const bareShim = useShim('codex', 'codex-cli 0.166.0')
const shim = (folder: string, script: string, login = 'echo "Logged in using ChatGPT"') =>
  bareShim(folder, script, [`[ "$1" = login ] && { ${login}; exit; }`])

agentContract({
  name: 'codex',
  acting: async (act, folder) => codex({ program: shim(folder, writeScript(folder, codexSteps(act))) }),
  missing: async folder => codex({ program: path.join(folder, 'no-such-codex') }),
  reportsUsage: 'tokens',
})

/** Codex names the end of a limit in the time of this machine, without a zone. */
const three = new Date(Date.UTC(2026, 10, 16, 3)).toLocaleTimeString('en-US', {
  hour: 'numeric',
  minute: '2-digit',
})
const failures = {
  limit: `You’ve hit your usage limit. Visit https://chatgpt.com/settings/usage to purchase more credits or try again at ${three}.`,
  outage: 'stream disconnected before completion: error sending request',
  login: 'unexpected status 401 Unauthorized: Missing bearer, url: https://api.example/v1/responses',
}

function codexSteps(act: Act): unknown[] {
  const event = (type: string, fields: object = {}) => ({ json: { ...fields, type } })
  const said = (text: string) =>
    event('item.completed', { item: { id: 'item_1', type: 'agent_message', text } })
  const fails = act.fails && failures[act.fails]
  return [
    event('thread.started', { thread_id: 't' }),
    ...spokenSteps(act, said),
    ...(act.after ?? []),
    ...(fails
      ? [event('error', { message: fails }), event('turn.failed', { error: { message: fails } })]
      : act.message === undefined || act.exit
        ? []
        : [event('turn.completed', usageFields(act))]),
    ...(act.exit === undefined ? [] : [{ exit: act.exit }]),
  ]
}

function usageFields({ usage }: Act): object {
  return usage
    ? {
        usage: {
          input_tokens: usage.inputTokens,
          cached_input_tokens: 900,
          output_tokens: usage.outputTokens,
          reasoning_output_tokens: 12,
        },
      }
    : {}
}

describe('codex: starting', () => {
  const folder = useFolder()
  const settled = [
    '-c',
    'analytics.enabled=false',
    '-c',
    'check_for_update_on_startup=false',
    '-c',
    'features.unbounded_connection_retries=false',
  ]

  it('runs headless, without questions, with the prompt on stdin', () => {
    const { argv, stdin } = codex().command(aRequest({ model: 'gpt-5.5', extraArgs: ['--profile', 'x'] }))
    expect(argv).toEqual([
      'codex',
      'exec',
      '--json',
      '--dangerously-bypass-approvals-and-sandbox',
      ...settled,
      '--model',
      'gpt-5.5',
      '-',
      '--profile',
      'x',
    ])
    expect(stdin).toBe('prompt')
  })

  it('puts a reviewer into the read-only sandbox, in a repository or not', () => {
    expect(codex().command(aRequest({ readOnly: true })).argv).toEqual([
      'codex',
      'exec',
      '--json',
      '--sandbox',
      'read-only',
      '--skip-git-repo-check',
      ...settled,
      '-',
    ])
  })

  it('passes on its own variables and no others', () => {
    const env = {
      CODEX_HOME: '/c',
      CODEX_API_KEY: 'k',
      OPENAI_API_KEY: 'o',
      CODEX_SANDBOX: 'seatbelt',
      CODEX_SANDBOX_NETWORK_DISABLED: '1',
      CODEX_THREAD_ID: 'x',
      AWS_SECRET_ACCESS_KEY: 'a',
      GITHUB_TOKEN: 'g',
      RUST_LOG: 'trace',
      UNSET: undefined,
    }
    expect(codex().command(aRequest({ env })).env).toEqual({
      CODEX_HOME: '/c',
      CODEX_API_KEY: 'k',
      OPENAI_API_KEY: 'o',
    })
  })

  const probed = (cwd: string, login: string, env?: Record<string, string>) =>
    probeIn(cwd, codex({ program: shim(cwd, 'unused', login) }), env)
  const loggedOut = 'echo "Not logged in" >&2; exit 1'

  it('tells the version and whether it is logged in', async () => {
    const cwd = folder()
    const found = { ok: true, version: '0.166.0', problem: null, fix: null }
    expect(await probed(cwd, 'echo "API key configured - ***"')).toEqual({ ...found, login: 'yes' })
    expect(await probed(cwd, loggedOut, { CODEX_API_KEY: 'k' })).toEqual({ ...found, login: 'yes' })
    expect(await probed(cwd, loggedOut, { OPENAI_API_KEY: 'k' })).toEqual({
      ...found,
      login: 'no',
      problem: 'not logged in',
      fix: expect.stringContaining('codex login'),
    })
  })

  it('does not call a provider of its own not logged in', async () => {
    const cwd = folder()
    mkdirSync(path.join(cwd, '.codex'))
    writeFileSync(path.join(cwd, '.codex', 'config.toml'), 'model = "m"\nmodel_provider = "mine"\n')
    expect(await probed(cwd, loggedOut)).toMatchObject({ ok: true, login: 'unknown', problem: null })
  })

  it('says what is wrong with a broken configuration', async () => {
    const cwd = folder()
    expect(
      await probed(cwd, 'echo "Error loading configuration: config.toml:1:21: invalid" >&2; exit 1'),
    ).toMatchObject({
      ok: false,
      problem: expect.stringContaining('config.toml:1:21'),
      fix: expect.stringContaining('config.toml'),
    })
  })

  itRefusesBrokenPrograms(codex, { product: 'Codex', install: 'npm install -g @openai/codex' })
})
