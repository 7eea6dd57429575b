import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Failure } from '../model-server/scenario.ts'

/** A real CLI: how it is led to the scripted model, and how it differs from the others. */
export type RealCli = {
  /** The test's own name for it. */
  name: string
  /** `agent:` in ralph.config.yaml, with the model behind `url`. */
  agent(url: string): AgentConfig
  /** Variables of the user's shell: a made-up key, the way to the model, few retries. */
  env(url: string): Record<string, string>
  /** What the user would have in his home. */
  prepare?(home: string): void
  /** What it tells of its use. */
  tells: 'cost' | 'tokens' | 'nothing'
  /** How its provider says that a limit ends. */
  limit: {
    failure(resetAt: number): Failure
    /** How exactly the CLI passes that on. */
    grain: number
    /** A moment must be far enough away for the CLI to start before; a span begins when it is told. */
    lead: number
  }
  /** Makes its own retries quick, where it has no setting for them. */
  hurry?: Record<string, string>
  /** What is told of an answer that was cut at the limit of output tokens: a fault of its own, or nothing at all. */
  cut: 'told' | 'untold'
  /** A stream without an end: our clock ends it, or it ends itself, as it takes the repetition for a loop. */
  endless: 'timeout' | 'own'
  /** A reviewer's fence: whatever he tries, nothing changes; or a way around it is known, and the engine catches it. */
  fence: 'holds' | 'hole'
  /** Arguments that open the fence, where that can be done. */
  openFence?: string[]
}

export type AgentConfig = { name: string; args?: string[]; [key: string]: unknown }

/** Long enough to be taken for a key and blotted out, made up all the same. */
export const madeUpKey = 'sk-made-up-key-for-tests-0000'

export const claude: RealCli = {
  name: 'claude',
  agent: () => ({ name: 'claude' }),
  env: url => ({
    ANTHROPIC_BASE_URL: url,
    // The login of a subscription: with a bare key, the CLI does not tell when a limit ends.
    CLAUDE_CODE_OAUTH_TOKEN: madeUpKey,
    CLAUDE_CODE_MAX_RETRIES: '0',
  }),
  tells: 'cost',
  limit: {
    failure: resetAt => ({
      status: 429,
      headers: {
        'anthropic-ratelimit-unified-status': 'rejected',
        'anthropic-ratelimit-unified-representative-claim': 'five_hour',
        'anthropic-ratelimit-unified-reset': String(Math.ceil(resetAt / 1000)),
      },
    }),
    grain: 1000,
    lead: 12_000,
  },
  cut: 'told',
  endless: 'timeout',
  fence: 'holds',
  openFence: ['--dangerously-skip-permissions'],
}

export const codex: RealCli = {
  name: 'codex',
  agent: url => {
    const provider = [
      'name="scripted"',
      `base_url="${url}/v1"`,
      'env_key="CODEX_API_KEY"',
      'wire_api="responses"',
      'request_max_retries=0',
      'stream_max_retries=0',
      'supports_websockets=false',
    ].join(',')
    return {
      name: 'codex',
      model: 'gpt-5.4',
      args: [
        // Its plugins look for updates outside.
        ...['-c', 'features.plugins=false'],
        ...['-c', 'model_provider="scripted"', '-c', `model_providers.scripted={${provider}}`],
      ],
    }
  },
  env: () => ({ CODEX_API_KEY: madeUpKey }),
  tells: 'tokens',
  limit: {
    failure: resetAt => ({
      status: 429,
      type: 'usage_limit_reached',
      message: 'The usage limit has been reached',
      fields: { plan_type: 'plus', resets_at: Math.ceil(resetAt / 1000) },
    }),
    // It says "try again at 7:01 AM".
    grain: 60_000,
    lead: 12_000,
  },
  cut: 'told',
  endless: 'timeout',
  fence: 'holds',
  openFence: ['--dangerously-bypass-approvals-and-sandbox'],
}

export const gemini: RealCli = {
  name: 'gemini',
  agent: () => ({ name: 'gemini', model: 'gemini-2.5-pro' }),
  env: url => ({ GEMINI_API_KEY: madeUpKey, GOOGLE_GEMINI_BASE_URL: url }),
  prepare: geminiSettings,
  tells: 'tokens',
  limit: {
    failure: resetAt => ({ status: 429, resetAfter: secondsUntil(resetAt) }),
    grain: 1000,
    lead: 4000,
  },
  cut: 'untold',
  endless: 'own',
  fence: 'hole',
}

/** Without these it would send statistics to the outside and try ten times. */
function geminiSettings(home: string): void {
  mkdirSync(path.join(home, '.gemini'), { recursive: true })
  const settings = {
    privacy: { usageStatisticsEnabled: false },
    general: { maxAttempts: 1, enableAutoUpdate: false, enableAutoUpdateNotification: false },
    security: { auth: { selectedType: 'gemini-api-key' } },
  }
  writeFileSync(path.join(home, '.gemini', 'settings.json'), JSON.stringify(settings))
}

/** Two of the CLIs try six times whatever they are told; this is how long they wait in between. */
const quick = { 'retry-after': '0', 'retry-after-ms': '10' }

export const copilot: RealCli = {
  name: 'copilot',
  agent: () => ({ name: 'copilot' }),
  env: url => ({
    COPILOT_OFFLINE: 'true',
    COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
    COPILOT_PROVIDER_TYPE: 'openai',
    COPILOT_PROVIDER_WIRE_API: 'completions',
    COPILOT_PROVIDER_API_KEY: madeUpKey,
    COPILOT_MODEL: 'gpt-5.4',
  }),
  tells: 'nothing',
  // It passes on what is said, not the headers.
  limit: {
    failure: resetAt => ({
      status: 429,
      message: `Rate limit reached for requests. Please try again in ${secondsUntil(resetAt)}s.`,
      headers: quick,
    }),
    grain: 1000,
    lead: 4000,
  },
  hurry: quick,
  cut: 'untold',
  endless: 'timeout',
  fence: 'hole',
}

export const opencode: RealCli = {
  name: 'opencode',
  agent: () => ({ name: 'opencode', model: 'scripted/scripted-model' }),
  env: url => ({
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      provider: {
        scripted: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: `${url}/v1`, apiKey: madeUpKey },
          models: {
            'scripted-model': {
              tool_call: true,
              limit: { context: 2_000_000, output: 8192 },
              cost: { input: 3, output: 15 },
            },
          },
        },
      },
      enabled_providers: ['scripted'],
      autoupdate: false,
      share: 'disabled',
    }),
  }),
  prepare: opencodePackages,
  tells: 'cost',
  limit: {
    failure: resetAt => ({
      status: 429,
      headers: { ...quick, 'retry-after': String(secondsUntil(resetAt)) },
    }),
    grain: 1000,
    lead: 4000,
  },
  hurry: quick,
  cut: 'told',
  endless: 'timeout',
  fence: 'holds',
}

/** What it would fetch from npm as soon as there is a plugin, and wait for in vain. */
function opencodePackages(home: string): void {
  const folder = path.join(home, '.config', 'opencode')
  mkdirSync(path.join(folder, 'node_modules'), { recursive: true })
  const needed = { dependencies: { '@opencode-ai/plugin': '1.18.18' } }
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify(needed))
  writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify({ packages: { '': needed } }))
}

/** Gemini once more, by the Agent Client Protocol. */
export const acp: RealCli = {
  name: 'acp',
  agent: () => ({
    name: 'acp',
    command: 'gemini --acp',
    model: 'gemini-2.5-pro',
    env: ['GEMINI_*', 'GOOGLE_GEMINI_BASE_URL'],
  }),
  env: url => ({
    GEMINI_API_KEY: madeUpKey,
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    GEMINI_CLI_NO_RELAUNCH: 'true',
  }),
  prepare: geminiSettings,
  tells: 'tokens',
  limit: {
    failure: resetAt => ({ status: 429, resetAfter: secondsUntil(resetAt) }),
    grain: 1000,
    lead: 4000,
  },
  cut: 'untold',
  endless: 'own',
  // Whoever writes has to ask, and the answer is no.
  fence: 'holds',
}

function secondsUntil(time: number): number {
  return Math.max(1, Math.ceil((time - Date.now()) / 1000))
}
