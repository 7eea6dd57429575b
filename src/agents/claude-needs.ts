import type { AgentNeeds } from './agent.ts'
import { addressed, addressesIn, atHome, copied, googleCredentials, settingsText } from './needs.ts'

type Env = Record<string, string | undefined>

export function claudeNeeds(env: Env): AgentNeeds {
  const folder = env.CLAUDE_CONFIG_DIR || atHome(env, '.claude')
  const settings = settingsText(`${folder}/settings.json`)
  const own = [
    ...addressed(env, ['ANTHROPIC_BASE_URL', 'ANTHROPIC_BEDROCK_BASE_URL', 'ANTHROPIC_VERTEX_BASE_URL']),
    ...addressesIn(settings, /ANTHROPIC_(?:BEDROCK_|VERTEX_)?BASE_URL/u),
  ]
  const cloud = cloudNeeds(env)
  const hasKey = env.ANTHROPIC_API_KEY || env.ANTHROPIC_AUTH_TOKEN || env.CLAUDE_CODE_OAUTH_TOKEN || cloud
  return {
    hosts: [
      ...(own.length > 0 ? own : cloud ? cloud.hosts : ['api.anthropic.com']),
      ...(hasKey ? [] : ['platform.claude.com']),
    ],
    copies: [
      // With the configuration elsewhere, this file is there as well.
      { path: env.CLAUDE_CONFIG_DIR ? `${folder}/.claude.json` : atHome(env, '.claude.json'), back: false },
      ...copied(folder, ['settings.json', 'CLAUDE.md']),
      ...(hasKey ? [] : [{ path: `${folder}/.credentials.json`, back: true }]),
      ...(cloud?.copies ?? []),
    ],
  }
}

/** The keys of a cloud are shown only to who uses that cloud, and only when they are not in the environment. */
function cloudNeeds(env: Env): AgentNeeds | null {
  if (env.CLAUDE_CODE_USE_BEDROCK) {
    const hasKey = env.AWS_BEARER_TOKEN_BEDROCK || env.AWS_ACCESS_KEY_ID
    return {
      hosts: [`bedrock-runtime.${env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1'}.amazonaws.com`],
      copies: hasKey ? [] : copied(atHome(env, '.aws'), ['config', 'credentials']),
    }
  }
  if (env.CLAUDE_CODE_USE_VERTEX) {
    const region = env.CLOUD_ML_REGION || 'us-east5'
    return {
      hosts: [
        region === 'global' ? 'aiplatform.googleapis.com' : `${region}-aiplatform.googleapis.com`,
        'oauth2.googleapis.com',
      ],
      copies: [googleCredentials(env)],
    }
  }
  return null
}
