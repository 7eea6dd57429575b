import path from 'node:path'
import type { AgentNeeds } from './agent.ts'
import { parseRecord } from './json.ts'
import { addressed, addressesIn, atHome, copied, settingsText } from './needs.ts'
import { providersWithKeys } from './opencode-environment.ts'

type Env = Record<string, string | undefined>

export function opencodeNeeds(env: Env): AgentNeeds {
  const data = path.join(env.XDG_DATA_HOME || atHome(env, '.local/share'), 'opencode')
  const config = path.join(env.XDG_CONFIG_HOME || atHome(env, '.config'), 'opencode')
  const settings = [
    ...copied(config, [...configFiles, 'AGENTS.md']),
    ...(env.OPENCODE_CONFIG ? [{ path: env.OPENCODE_CONFIG, back: false }] : []),
    ...(env.OPENCODE_CONFIG_DIR ? copied(env.OPENCODE_CONFIG_DIR, configFiles) : []),
  ]
  const login = path.join(data, 'auth.json')
  const loggedIn = Object.keys(parseRecord(settingsText(login)) ?? {})
  const providers = new Set([...providersWithKeys(env), ...loggedIn])
  const texts = [env.OPENCODE_CONFIG_CONTENT ?? '', ...settings.map(file => settingsText(file.path))]
  return {
    hosts: [
      // Its list of models, and its own models.
      ...(env.OPENCODE_MODELS_URL ? addressed(env, ['OPENCODE_MODELS_URL']) : ['models.opencode.ai']),
      'opencode.ai',
      ...[...providers].flatMap(name => (Object.hasOwn(hosts, name) ? (hosts[name] ?? []) : [])),
      ...texts.flatMap(text => addressesIn(text, /baseURL/u)),
    ],
    copies: [...settings, { path: login, back: true }],
  }
}

const configFiles = ['opencode.json', 'opencode.jsonc', 'config.json']

/** Where the providers are, and where their logins are renewed. Others are named under `sandbox.hosts`. */
const hosts: Record<string, readonly string[]> = {
  anthropic: ['api.anthropic.com', 'platform.claude.com', 'console.anthropic.com'],
  openai: ['api.openai.com', 'chatgpt.com', 'auth.openai.com'],
  google: ['generativelanguage.googleapis.com'],
  'github-copilot': ['api.github.com', '*.githubcopilot.com'],
  openrouter: ['openrouter.ai'],
  deepseek: ['api.deepseek.com'],
  groq: ['api.groq.com'],
  mistral: ['api.mistral.ai'],
  xai: ['api.x.ai'],
  moonshotai: ['api.moonshot.ai'],
  zai: ['api.z.ai'],
  cerebras: ['api.cerebras.ai'],
  togetherai: ['api.together.xyz'],
  'fireworks-ai': ['api.fireworks.ai'],
  vercel: ['ai-gateway.vercel.sh'],
}
