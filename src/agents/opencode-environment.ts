import { pathToFileURL } from 'node:url'
import { UserError } from '../core/errors.ts'
import type { AgentRequest } from './agent.ts'
import { pick } from './environment.ts'
import { guardEnvironment, guardFile } from './guard.ts'
import { asList, asRecord, parseRecord } from './json.ts'

/** What opencode gets of the user's variables. The keys of a cloud are shown only to who names a model of that cloud. */
export function opencodeEnvironment({ env, model }: AgentRequest): Record<string, string> {
  const provider = model?.split('/')[0] ?? ''
  const cloud = Object.hasOwn(clouds, provider) ? (clouds[provider] ?? []) : []
  const keys = Object.hasOwn(providerKeys, provider)
    ? (providerKeys[provider] ?? [])
    : Object.values(providerKeys).flat()
  return {
    // Compaction goes on for ever, at a price, when the prompt itself is too long; a fresh attempt is Ralph's own way.
    OPENCODE_DISABLE_AUTOCOMPACT: '1',
    // Nothing is to be downloaded in the middle of an attempt.
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    ...pick(env, [...own, ...(cloud.length > 0 ? cloud : keys)]),
    OPENCODE_DISABLE_AUTOUPDATE: '1',
  }
}

/** Login, places and behaviour of the CLI. Left out on purpose: marks of an opencode session that Ralph itself runs in. */
const own = [
  'OPENCODE_CONFIG',
  'OPENCODE_CONFIG_DIR',
  'OPENCODE_CONFIG_CONTENT',
  'OPENCODE_PERMISSION',
  'OPENCODE_AUTH_CONTENT',
  'OPENCODE_API_KEY',
  'OPENCODE_DB',
  'OPENCODE_PURE',
  'OPENCODE_MODELS_URL',
  'OPENCODE_MODELS_PATH',
  'OPENCODE_DISABLE_*',
  'OPENCODE_ENABLE_*',
  'OPENCODE_EXPERIMENTAL*',
]

const providerKeys: Record<string, readonly string[]> = {
  anthropic: ['ANTHROPIC_API_KEY'],
  openai: ['OPENAI_API_KEY'],
  google: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'],
  openrouter: ['OPENROUTER_API_KEY'],
  deepseek: ['DEEPSEEK_API_KEY'],
  groq: ['GROQ_API_KEY'],
  mistral: ['MISTRAL_API_KEY'],
  xai: ['XAI_API_KEY'],
  moonshotai: ['MOONSHOT_API_KEY'],
  zai: ['ZHIPU_API_KEY'],
  cerebras: ['CEREBRAS_API_KEY'],
  togetherai: ['TOGETHER_API_KEY'],
  'fireworks-ai': ['FIREWORKS_API_KEY'],
  vercel: ['AI_GATEWAY_API_KEY'],
}

const clouds: Record<string, readonly string[]> = {
  'amazon-bedrock': ['AWS_*'],
  azure: ['AZURE_*'],
  'google-vertex': ['GOOGLE_APPLICATION_CREDENTIALS', 'GOOGLE_CLOUD_PROJECT', 'GOOGLE_VERTEX_*', 'VERTEX_*'],
  'google-vertex-anthropic': [
    'GOOGLE_APPLICATION_CREDENTIALS',
    'GOOGLE_CLOUD_PROJECT',
    'GOOGLE_VERTEX_*',
    'VERTEX_*',
  ],
  'github-models': ['GITHUB_TOKEN'],
}

/** Whether a key that opencode takes from the environment is there. */
export function hasKey(env: Record<string, string | undefined>): boolean {
  return Boolean(env.OPENCODE_API_KEY) || providersWithKeys(env).length > 0
}

export function providersWithKeys(env: Record<string, string | undefined>): string[] {
  return Object.keys(providerKeys).filter(provider => providerKeys[provider]?.some(name => env[name]))
}

function isOn(value: string | undefined): boolean {
  return value === '1' || value?.toLowerCase() === 'true'
}

export const reviewerName = 'ralph-reviewer'

/**
 * A reviewer's tools. No shell at all: a rule for `git diff` would let `git diff > file` through. No subagents either,
 * they have rules of their own.
 */
const reviewerMay = {
  '*': 'deny',
  read: 'allow',
  grep: 'allow',
  glob: 'allow',
  list: 'allow',
  external_directory: 'allow',
  bash: 'deny',
  edit: 'deny',
  task: 'deny',
}

/**
 * The reviewer is an agent of its own, because what a user allows his agents outdoes OPENCODE_PERMISSION. The guard is a
 * plugin. The user's own configuration in the environment stays.
 */
export function opencodeConfig({ env, readOnly, guard }: AgentRequest): Record<string, string> {
  if (!readOnly && !guard) return {}
  if (guard && isOn(env.OPENCODE_PURE))
    throw new UserError(
      'opencode: OPENCODE_PURE keeps out every plugin, and with them the command guard',
      'Unset OPENCODE_PURE, or run in a sandbox.',
      2,
    )
  const given = env.OPENCODE_CONFIG_CONTENT
  const config = given ? parseRecord(given) : {}
  // opencode would fall back to an agent that may write, with no more than a warning.
  if (!config)
    throw new UserError(
      'opencode: OPENCODE_CONFIG_CONTENT is not plain JSON, so neither a read-only reviewer nor the guard can be added to it',
      'Remove its comments, or put it into a file and name that with OPENCODE_CONFIG.',
      2,
    )
  const agent = { ...asRecord(config.agent), [reviewerName]: { mode: 'primary', permission: reviewerMay } }
  const plugin = () => [...asList(config.plugin), pathToFileURL(guardFile('opencode.js')).href]
  return {
    ...(readOnly ? { OPENCODE_PERMISSION: JSON.stringify(reviewerMay) } : {}),
    ...(guard ? guardEnvironment(guard) : {}),
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      ...config,
      ...(readOnly ? { agent } : {}),
      ...(guard ? { plugin: plugin() } : {}),
    }),
  }
}
