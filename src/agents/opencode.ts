import type {
  Agent,
  AgentCommand,
  AgentProbe,
  AgentRequest,
  AgentSettings,
  HeadlessStart,
  ProbeContext,
} from './agent.ts'
import { cliAgent, modelOption } from './cli-agent.ts'
import { pick, probeEnvironment } from './environment.ts'
import { install } from './fixes.ts'
import { madeUpKey } from './headless.ts'
import { hasKey, opencodeConfig, opencodeEnvironment, reviewerName } from './opencode-environment.ts'
import { opencodeNeeds } from './opencode-needs.ts'
import { opencodeReader } from './opencode-reader.ts'
import { startProbe } from './probe.ts'
import { probeVersion } from './probe-version.ts'

export function opencode(settings: AgentSettings = {}): Agent {
  return cliAgent('opencode', settings, {
    can: { readOnly: true, reportsCost: true, structured: true, guard: true },
    command,
    reader: opencodeReader,
    probe,
    needs: opencodeNeeds,
    headless,
  })
}

function command(program: string, request: AgentRequest): AgentCommand {
  return {
    argv: [
      program,
      'run',
      ...always,
      // `--auto` answers yes to every question and respects what the user forbade. A reviewer is asked nothing.
      ...(request.readOnly ? ['--agent', reviewerName] : ['--auto']),
      ...modelOption(request),
      ...request.extraArgs,
    ],
    env: { ...opencodeEnvironment(request), ...opencodeConfig(request) },
    stdin: 'prompt',
  }
}

const always = [
  '--format',
  'json',
  // Without a title it asks a model for one: a call per attempt, whose cost it does not tell.
  '--title',
  'ralph',
  // An unknown model is told in the log only.
  '--print-logs',
  '--log-level',
  'ERROR',
]

/** It starts slowly, and more slowly on a busy machine. */
const patience = 30_000

async function probe(program: string, { env, cwd }: ProbeContext): Promise<AgentProbe> {
  const safe = {
    ...probeEnvironment(env),
    ...pick(env, ['XDG_DATA_HOME', 'XDG_STATE_HOME']),
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
  }
  const found = await probeVersion({
    program,
    product: 'opencode',
    cwd,
    env: safe,
    fix: install.opencode,
    timeout: patience,
  })
  if (!found.ok) return found
  if (hasKey(env)) return { ...found, login: 'yes' }
  const listed = await startProbe({ argv: [program, 'auth', 'list'], cwd, env: safe, timeout: patience })
  const credentials = listed.type === 'ok' ? /(\d+) credentials?/u.exec(listed.output)?.[1] : undefined
  // None is no proof: there are models without a login, and keys in the configuration.
  return { ...found, login: Number(credentials ?? 0) > 0 ? 'yes' : 'unknown' }
}

function headless(url: string): HeadlessStart {
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    options: { baseURL: `${url}/v1`, apiKey: madeUpKey },
    models: { check: { tool_call: true, limit: { context: 200_000, output: 8192 } } },
  }
  const config = { provider: { check: provider }, enabled_providers: ['check'], share: 'disabled' }
  // What it would fetch for the plugin of the guard, which does not need it.
  const fetched = { dependencies: { '@opencode-ai/plugin': '*' } }
  return {
    env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(config), OPENCODE_DISABLE_MODELS_FETCH: '1' },
    files: {
      '.config/opencode/node_modules/.package-lock.json': '{}',
      '.config/opencode/package.json': JSON.stringify(fetched),
      '.config/opencode/package-lock.json': JSON.stringify({ packages: { '': fetched } }),
    },
    model: 'check/check',
  }
}
