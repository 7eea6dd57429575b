import path from 'node:path'
import type { AgentNeeds } from './agent.ts'
import { addressed, atHome, copied, googleCredentials } from './needs.ts'

export function geminiNeeds(env: Record<string, string | undefined>): AgentNeeds {
  const folder = env.GEMINI_CLI_HOME ? path.join(env.GEMINI_CLI_HOME, '.gemini') : atHome(env, '.gemini')
  const own = addressed(env, ['GOOGLE_GEMINI_BASE_URL'])
  const vertex = Boolean(env.GOOGLE_GENAI_USE_VERTEXAI)
  const region = env.GOOGLE_CLOUD_LOCATION
  const regional =
    region && region !== 'global' ? `${region}-aiplatform.googleapis.com` : 'aiplatform.googleapis.com'
  return {
    hosts: [
      ...(own.length > 0 ? own : ['generativelanguage.googleapis.com']),
      ...addressed(env, ['CODE_ASSIST_ENDPOINT', 'GOOGLE_VERTEX_BASE_URL']),
      // The login with a Google account has a model behind another door.
      'cloudcode-pa.googleapis.com',
      'oauth2.googleapis.com',
      ...(vertex ? [regional] : []),
    ],
    copies: [
      ...copied(folder, [
        'settings.json',
        'GEMINI.md',
        '.env',
        'google_accounts.json',
        'installation_id',
        // Encrypted with the names of machine and user: inside, it may be taken for a broken one and written anew.
        'gemini-credentials.json',
      ]),
      { path: path.join(folder, 'oauth_creds.json'), back: true },
      ...(vertex ? [googleCredentials(env)] : []),
    ],
  }
}
