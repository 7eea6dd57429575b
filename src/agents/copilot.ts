import path from 'node:path'
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
import { copilotNeeds } from './copilot-needs.ts'
import { copilotReader } from './copilot-reader.ts'
import { pick, probeEnvironment } from './environment.ts'
import { install, logIn } from './fixes.ts'
import { guardEnvironment, guardFile } from './guard.ts'
import { madeUpKey } from './headless.ts'
import { probeVersion } from './probe-version.ts'
import { readText } from './read-text.ts'

export function copilot(settings: AgentSettings = {}): Agent {
  return cliAgent('copilot', settings, {
    // Not quite read-only: `git diff --output=FILE` passes for a command that only reads (measured with 1.0.102).
    can: { readOnly: false, reportsCost: false, structured: true, guard: true },
    command,
    reader: copilotReader,
    probe,
    needs: copilotNeeds,
    headless,
  })
}

function command(program: string, request: AgentRequest): AgentCommand {
  return {
    argv: [
      program,
      ...always,
      // Without leave for all tools it still reads files and runs commands that only read, and refuses the rest.
      request.readOnly ? '--deny-tool=write' : '--allow-all',
      ...(request.guard ? ['--plugin-dir', guardFile()] : []),
      ...modelOption(request),
      ...request.extraArgs,
    ],
    env: {
      ...pick(request.env, own),
      COPILOT_AUTO_UPDATE: 'false',
      ...(request.guard ? guardEnvironment(request.guard) : {}),
    },
    stdin: 'prompt',
  }
}

/** No `-p`: with it, stdin is not read. */
const always = [
  '--output-format',
  'json',
  '--no-ask-user',
  '--no-color',
  '--no-auto-update',
  '--disable-client-telemetry',
]

/**
 * Login, endpoint and places of the CLI. Left out on purpose: GH_TOKEN and GITHUB_TOKEN, which the CLI would take too,
 * but which open more than Copilot to every command the agent runs. Who wants that names them under `env:`.
 */
const own = [
  'COPILOT_GITHUB_TOKEN',
  'COPILOT_GH_HOST',
  'GH_HOST',
  'COPILOT_HOME',
  'COPILOT_MODEL',
  'COPILOT_OFFLINE',
  'COPILOT_PROVIDER_*',
  'COPILOT_CUSTOM_INSTRUCTIONS_DIRS',
]

async function probe(program: string, { env, cwd }: ProbeContext): Promise<AgentProbe> {
  const found = await probeVersion({
    program,
    product: 'GitHub Copilot CLI',
    cwd,
    env: { ...probeEnvironment(env), ...pick(env, ['COPILOT_HOME']), COPILOT_AUTO_UPDATE: 'false' },
    fix: install.copilot,
    // The first start of a version unpacks itself.
    timeout: 30_000,
  })
  if (!found.ok) return found
  // `GitHub Copilot CLI 1.0.102.`
  const version = found.version?.replace(/\.$/u, '') ?? null
  const login = await loginOf(env)
  return login === 'no'
    ? { ...found, version, login, problem: 'not logged in', fix: logIn.copilot }
    : { ...found, version, login }
}

/** The CLI has no command that tells; its tokens may be in the system's keychain, or those of `gh`. */
async function loginOf(env: ProbeContext['env']): Promise<'yes' | 'no' | 'unknown'> {
  if (env.COPILOT_GITHUB_TOKEN || env.COPILOT_PROVIDER_BASE_URL) return 'yes'
  const home = env.HOME ?? ''
  const places = [
    path.join(env.COPILOT_HOME || path.join(home, '.copilot'), 'config.json'),
    path.join(env.XDG_CONFIG_HOME || path.join(home, '.config'), 'gh/hosts.yml'),
  ]
  const files = await Promise.all(places.map(readText))
  return files.some(text => text.trim() !== '') ? 'unknown' : 'no'
}

/** With a model of the user's own, no login is asked for. */
function headless(url: string): HeadlessStart {
  return {
    env: {
      COPILOT_OFFLINE: 'true',
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_TYPE: 'openai',
      COPILOT_PROVIDER_WIRE_API: 'completions',
      COPILOT_PROVIDER_API_KEY: madeUpKey,
      COPILOT_MODEL: 'check',
    },
  }
}
