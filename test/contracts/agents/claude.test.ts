import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { claude } from '../../../src/agents/claude.ts'
import { type Act, agentContract } from './agent-contract.ts'
import { useShim } from './bundle-scripted.ts'
import { useFolder } from './play.ts'
import { spokenSteps, writeScript } from './scripted-acts.ts'
import { aRequest, itRefusesBrokenPrograms, probeIn } from './starting.ts'

const shim = useShim('claude', '2.1.325 (Claude Code)')

agentContract({
  name: 'claude',
  acting: async (act, folder) => claude({ program: shim(folder, writeScript(folder, claudeSteps(act))) }),
  missing: async folder => claude({ program: path.join(folder, 'no-such-claude') }),
  reportsUsage: true,
})

const failures = {
  limit: {
    is_error: true,
    api_error_status: 429,
    terminal_reason: 'api_error',
    result: "You've hit your limit · resets 3am (UTC)",
  },
  outage: {
    is_error: true,
    api_error_status: 529,
    terminal_reason: 'api_error',
    result: 'API Error: 529 Overloaded.',
  },
  login: {
    is_error: true,
    api_error_status: null,
    terminal_reason: 'api_error',
    result: 'Not logged in · Please run /login',
  },
}

function claudeSteps(act: Act): unknown[] {
  const said = (text: string) => ({
    json: { type: 'assistant', message: { model: 'm', content: [{ type: 'text', text }] } },
  })
  const ended = (fields: object) => ({
    json: {
      session_id: 's',
      ...usageFields(act),
      subtype: 'success',
      is_error: false,
      ...fields,
      type: 'result',
    },
  })
  return [
    {
      json: {
        type: 'system',
        subtype: 'init',
        permissionMode: 'bypassPermissions',
        model: 'm',
        session_id: 's',
      },
    },
    ...spokenSteps(act, said),
    ...(act.after ?? []),
    ...(act.fails
      ? [ended(failures[act.fails])]
      : act.message === undefined || act.exit
        ? []
        : [ended({ result: act.message })]),
    ...(act.exit === undefined ? [] : [{ exit: act.exit }]),
  ]
}

function usageFields({ usage }: Act): object {
  if (!usage) return {}
  const { costUsd, inputTokens, outputTokens } = usage
  return {
    total_cost_usd: costUsd,
    modelUsage: {
      m: {
        inputTokens: inputTokens - 200,
        cacheReadInputTokens: 150,
        cacheCreationInputTokens: 50,
        outputTokens,
        costBasis: 'list',
      },
    },
  }
}

describe('claude: starting', () => {
  const folder = useFolder()

  it('runs headless, without questions, with the prompt on stdin', () => {
    const { argv, stdin } = claude().command(aRequest({ model: 'opus', extraArgs: ['--max-turns', '9'] }))
    expect(argv).toEqual([
      'claude',
      '-p',
      '--output-format',
      'stream-json',
      '--verbose',
      '--dangerously-skip-permissions',
      '--model',
      'opus',
      '--max-turns',
      '9',
    ])
    expect(stdin).toBe('prompt')
  })

  it('gives a reviewer no tool to write with and no way round the refusal', () => {
    const { argv } = claude().command(aRequest({ readOnly: true }))
    expect(argv).not.toContain('--dangerously-skip-permissions')
    expect(argv.slice(5)).toEqual([
      '--permission-mode',
      'dontAsk',
      '--disallowedTools',
      'Edit,Write,NotebookEdit',
      '--allowedTools',
      'Read,Grep,Glob',
    ])
  })

  it('passes on its own variables and no others', () => {
    const env = {
      ANTHROPIC_API_KEY: 'k',
      ANTHROPIC_BASE_URL: 'http://gateway.example',
      CLAUDE_CONFIG_DIR: '/c',
      CLAUDE_CODE_OAUTH_TOKEN: 't',
      CLAUDECODE: '1',
      CLAUDE_CODE_ENTRYPOINT: 'cli',
      CLAUDE_CODE_SESSION_ID: 'x',
      AWS_SECRET_ACCESS_KEY: 'a',
      GITHUB_TOKEN: 'g',
      UNSET: undefined,
    }
    expect(claude().command(aRequest({ env })).env).toEqual({
      ANTHROPIC_API_KEY: 'k',
      ANTHROPIC_BASE_URL: 'http://gateway.example',
      CLAUDE_CONFIG_DIR: '/c',
      CLAUDE_CODE_OAUTH_TOKEN: 't',
      CLAUDE_CODE_MAX_RETRIES: '2',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
    })
  })

  it('shows the keys of a cloud only to who uses it', () => {
    const keys = { AWS_SECRET_ACCESS_KEY: 'a', GOOGLE_APPLICATION_CREDENTIALS: 'f' }
    expect(claude().command(aRequest({ env: { ...keys, CLAUDE_CODE_USE_BEDROCK: '1' } })).env).toMatchObject({
      AWS_SECRET_ACCESS_KEY: 'a',
    })
    const vertex = claude().command(aRequest({ env: { ...keys, CLAUDE_CODE_USE_VERTEX: '1' } })).env
    expect(vertex).toMatchObject({ GOOGLE_APPLICATION_CREDENTIALS: 'f' })
    expect(vertex).not.toHaveProperty('AWS_SECRET_ACCESS_KEY')
  })

  it('claims a sandbox only as root, where the CLI would refuse otherwise', () => {
    expect(claude().command(aRequest({ root: true })).env.IS_SANDBOX).toBe('1')
    expect(claude().command(aRequest()).env).not.toHaveProperty('IS_SANDBOX')
  })

  it('keeps a number of retries that the user chose', () => {
    expect(
      claude().command(aRequest({ env: { CLAUDE_CODE_MAX_RETRIES: '7' } })).env.CLAUDE_CODE_MAX_RETRIES,
    ).toBe('7')
  })

  it('tells the version', async () => {
    const cwd = folder()
    expect(await probeIn(cwd, claude({ program: shim(cwd) }))).toEqual({
      ok: true,
      version: '2.1.325',
      problem: null,
      fix: null,
    })
  })

  itRefusesBrokenPrograms(claude, {
    product: 'Claude Code',
    install: 'npm install -g @anthropic-ai/claude-code',
  })
})
