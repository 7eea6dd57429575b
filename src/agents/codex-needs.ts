import type { AgentNeeds } from './agent.ts'
import { addressed, addressesIn, atHome, copied, settingsText } from './needs.ts'

export function codexNeeds(env: Record<string, string | undefined>): AgentNeeds {
  const folder = env.CODEX_HOME || atHome(env, '.codex')
  // A provider of the user's own is known by its address in the configuration.
  const others = addressesIn(settingsText(`${folder}/config.toml`), /(?:openai_|chatgpt_)?base_url/u)
  return {
    hosts: [
      'api.openai.com',
      ...(env.CODEX_API_KEY ? [] : ['chatgpt.com', 'auth.openai.com']),
      ...addressed(env, ['CODEX_OSS_BASE_URL']),
      ...(env.CODEX_OSS_PORT ? [`localhost:${env.CODEX_OSS_PORT}`] : []),
      ...others,
    ],
    copies: [
      ...copied(folder, ['config.toml', 'AGENTS.md', '.env']),
      ...(env.CODEX_API_KEY ? [] : [{ path: `${folder}/auth.json`, back: true }]),
    ],
  }
}
