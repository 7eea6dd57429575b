import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { opencode } from '../../../src/agents/opencode.ts'
import { type Act, agentContract } from './agent-contract.ts'
import { useShim } from './bundle-scripted.ts'
import { useFolder } from './play.ts'
import { spokenSteps, writeScript } from './scripted-acts.ts'
import { aRequest, itRefusesBrokenPrograms, probeIn } from './starting.ts'

const bareShim = useShim('opencode', '1.18.18')
const shim = (folder: string, script: string, credentials = '1 credentials') =>
  bareShim(folder, script, [`[ "$1" = auth ] && exec echo '└  ${credentials}'`])

agentContract({
  name: 'opencode',
  acting: async (act, folder) => opencode({ program: shim(folder, writeScript(folder, steps(act))) }),
  missing: async folder => opencode({ program: path.join(folder, 'no-such-opencode') }),
  reportsUsage: true,
})

const failures = {
  limit: { name: 'APIError', data: { message: 'Quota is used up, resets 3am (UTC)', statusCode: 429 } },
  outage: { name: 'APIError', data: { message: 'Overloaded', statusCode: 529 } },
  login: { name: 'APIError', data: { message: 'invalid x-api-key', statusCode: 401 } },
}

function steps(act: Act): unknown[] {
  const event = (type: string, fields: object) => ({ json: { ...fields, type, sessionID: 's' } })
  let messages = 0
  const said = (text: string) => {
    messages += 1
    return event('text', { part: { type: 'text', text, messageID: `m${messages}` } })
  }
  return [
    ...spokenSteps(act, said),
    ...(act.usage ? [event('step_finish', { part: finished(act.usage) })] : []),
    ...(act.after ?? []),
    ...(act.fails ? [event('error', { error: failures[act.fails] })] : []),
    ...(act.exit === undefined ? [] : [{ exit: act.exit }]),
  ]
}

function finished({ costUsd, inputTokens, outputTokens }: NonNullable<Act['usage']>): object {
  return {
    reason: 'stop',
    cost: costUsd,
    tokens: {
      input: inputTokens - 200,
      output: outputTokens - 4,
      reasoning: 4,
      cache: { read: 150, write: 50 },
    },
  }
}

describe('opencode: starting', () => {
  const folder = useFolder()
  const headless = ['--format', 'json', '--title', 'ralph', '--print-logs', '--log-level', 'ERROR']
  const settled = {
    OPENCODE_DISABLE_AUTOCOMPACT: '1',
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  }

  it('runs headless, without questions, with the prompt on stdin', () => {
    const { argv, stdin } = opencode().command(
      aRequest({ model: 'anthropic/opus', extraArgs: ['--variant', 'high'] }),
    )
    expect(argv).toEqual([
      'opencode',
      'run',
      ...headless,
      '--auto',
      '--model',
      'anthropic/opus',
      '--variant',
      'high',
    ])
    expect(stdin).toBe('prompt')
  })

  it('makes a reviewer an agent that can read and nothing else, whatever the user allows his own', () => {
    const given = { model: 'a/b', agent: { build: { permission: { bash: 'allow' } } } }
    const { argv, env } = opencode().command(
      aRequest({ readOnly: true, env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(given) } }),
    )
    expect(argv).toEqual(['opencode', 'run', ...headless, '--agent', 'ralph-reviewer'])
    const may = JSON.parse(env.OPENCODE_PERMISSION ?? '')
    expect(may).toMatchObject({ '*': 'deny', bash: 'deny', edit: 'deny', task: 'deny', read: 'allow' })
    expect(JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '')).toEqual({
      model: 'a/b',
      agent: { ...given.agent, 'ralph-reviewer': { mode: 'primary', permission: may } },
    })
  })

  it('refuses a reviewer that it could not keep from writing', () => {
    const env = { OPENCODE_CONFIG_CONTENT: '{ /* mine */ "model": "a/b" }' }
    expect(() => opencode().command(aRequest({ readOnly: true, env }))).toThrow(/not plain JSON/u)
    expect(opencode().command(aRequest({ env })).env).toMatchObject(env)
  })

  const keys = {
    ANTHROPIC_API_KEY: 'a',
    OPENAI_API_KEY: 'o',
    AWS_SECRET_ACCESS_KEY: 's',
    GITHUB_TOKEN: 'g',
  }

  it('passes on its own variables and no others', () => {
    const env = {
      ...keys,
      OPENCODE_CONFIG: '/c.json',
      OPENCODE_CONFIG_DIR: '/d',
      OPENCODE: '1',
      OPENCODE_SERVER_PASSWORD: 'p',
      OPENCODE_CLIENT: 'cli',
      UNSET: undefined,
    }
    expect(opencode().command(aRequest({ env })).env).toEqual({
      ANTHROPIC_API_KEY: 'a',
      OPENAI_API_KEY: 'o',
      OPENCODE_CONFIG: '/c.json',
      OPENCODE_CONFIG_DIR: '/d',
      ...settled,
    })
  })

  it('shows only the key of the provider that the model names, and the keys of a cloud only there', () => {
    const env = (model: string) => opencode().command(aRequest({ env: keys, model })).env
    expect(env('openai/gpt-5.5')).toEqual({ OPENAI_API_KEY: 'o', ...settled })
    expect(env('amazon-bedrock/opus')).toEqual({ AWS_SECRET_ACCESS_KEY: 's', ...settled })
    expect(env('constructor/x')).toEqual({ ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o', ...settled })
  })

  it('keeps compaction for who asks for it', () => {
    const { env } = opencode().command(aRequest({ env: { OPENCODE_DISABLE_AUTOCOMPACT: '0' } }))
    expect(env.OPENCODE_DISABLE_AUTOCOMPACT).toBe('0')
  })

  it('tells the version and whether it is logged in, as far as that can be known', async () => {
    const cwd = folder()
    const probed = (credentials: string, env?: Record<string, string>) =>
      probeIn(cwd, opencode({ program: shim(cwd, 'unused', credentials) }), env)
    const found = { ok: true, version: '1.18.18', problem: null, fix: null }
    expect(await probed('2 credentials')).toEqual({ ...found, login: 'yes' })
    expect(await probed('0 credentials', { OPENROUTER_API_KEY: 'k' })).toEqual({ ...found, login: 'yes' })
    expect(await probed('0 credentials')).toEqual({ ...found, login: 'unknown' })
  })

  itRefusesBrokenPrograms(opencode, { product: 'opencode', install: 'npm install -g opencode-ai' })
})
