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
import { pick, probeEnvironment } from './environment.ts'
import { install, logIn } from './fixes.ts'
import { canGuardGemini, geminiGuard } from './gemini-guard.ts'
import { geminiNeeds } from './gemini-needs.ts'
import { geminiReader } from './gemini-reader.ts'
import { madeUpKey } from './headless.ts'
import { asRecord, asText, parseRecord } from './json.ts'
import { probeVersion } from './probe-version.ts'
import { readText } from './read-text.ts'

export function gemini(settings: AgentSettings = {}): Agent {
  return cliAgent('gemini', settings, {
    // Not read-only: a reviewer that enters plan mode and leaves it again may edit files (measured with 0.61.0).
    can: { readOnly: false, reportsCost: false, structured: true, guard: canGuardGemini() },
    command,
    reader: geminiReader,
    probe,
    needs: geminiNeeds,
    headless,
  })
}

function command(program: string, request: AgentRequest): AgentCommand {
  return {
    argv: [
      program,
      ...(request.readOnly ? reviewer : ['--approval-mode', 'yolo']),
      // After the list of allowed tools, which swallows every word up to the next option.
      '--output-format',
      'stream-json',
      ...modelOption(request),
      ...request.extraArgs,
    ],
    env: { ...environment(request.env), ...(request.guard ? geminiGuard(request.guard, request.env) : {}) },
    stdin: 'prompt',
  }
}

/**
 * A reviewer has no editing tools, and of the shell only what shows the change. Not `plan`: its `exit_plan_mode` turns
 * the headless CLI to yolo.
 */
const reviewer = [
  '--approval-mode',
  'default',
  '--allowed-tools',
  ['diff', 'log', 'show', 'status'].map(name => `run_shell_command(git ${name})`).join(','),
]

/** Login, endpoint and places of the CLI. Left out on purpose: marks of an editor that Ralph itself runs in. */
const own = [
  'GEMINI_API_KEY',
  'GEMINI_API_KEY_AUTH_MECHANISM',
  'GEMINI_MODEL',
  'GEMINI_CLI_HOME',
  'GEMINI_CLI_SYSTEM_SETTINGS_PATH',
  'GEMINI_CLI_SYSTEM_DEFAULTS_PATH',
  'GEMINI_CLI_CUSTOM_HEADERS',
  'GEMINI_SYSTEM_MD',
  'GOOGLE_GEMINI_BASE_URL',
  'GOOGLE_GENAI_API_VERSION',
  'GOOGLE_GENAI_USE_GCA',
  'GOOGLE_GENAI_USE_VERTEXAI',
  'GOOGLE_CLOUD_PROJECT',
  'GOOGLE_CLOUD_PROJECT_ID',
  'GOOGLE_CLOUD_LOCATION',
  'CODE_ASSIST_ENDPOINT',
  // Its shell hides the user's git configuration, and with it who commits.
  'GIT_AUTHOR_NAME',
  'GIT_AUTHOR_EMAIL',
  'GIT_COMMITTER_NAME',
  'GIT_COMMITTER_EMAIL',
]
const vertex = ['GOOGLE_API_KEY', 'GOOGLE_APPLICATION_CREDENTIALS', 'GOOGLE_VERTEX_BASE_URL']

function environment(env: AgentRequest['env']): Record<string, string> {
  return {
    ...pick(env, own),
    // The keys of a cloud are shown only to who uses that cloud.
    ...(env.GOOGLE_GENAI_USE_VERTEXAI ? pick(env, vertex) : {}),
    ...(env.GOOGLE_GENAI_USE_GCA ? pick(env, ['GOOGLE_CLOUD_ACCESS_TOKEN']) : {}),
    // It would ask whether the folder is trusted, and end, for there is nobody to answer.
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    // It starts itself a second time for more memory; the first process then does not pass on SIGTERM.
    GEMINI_CLI_NO_RELAUNCH: 'true',
    GEMINI_TELEMETRY_ENABLED: 'false',
  }
}

async function probe(program: string, { env, cwd }: ProbeContext): Promise<AgentProbe> {
  const found = await probeVersion({
    program,
    product: 'Gemini CLI',
    cwd,
    env: {
      ...probeEnvironment(env),
      ...pick(env, ['GEMINI_CLI_HOME']),
      GEMINI_CLI_NO_RELAUNCH: 'true',
      GEMINI_TELEMETRY_ENABLED: 'false',
    },
    fix: install.gemini,
    // Two seconds on an idle machine.
    timeout: 20_000,
  })
  if (!found.ok) return found
  const login = await loginOf(env, cwd)
  return login === 'no'
    ? { ...found, login, problem: 'not logged in', fix: logIn.gemini }
    : { ...found, login }
}

/** The CLI has no command that tells, so this looks where it looks itself. */
async function loginOf(env: ProbeContext['env'], cwd: string): Promise<'yes' | 'no' | 'unknown'> {
  const home = path.join(env.GEMINI_CLI_HOME || env.HOME || '', '.gemini')
  const settings = await readText(path.join(home, 'settings.json'))
  const chosen = asText(asRecord(asRecord(parseRecord(settings)?.security)?.auth)?.selectedType)
  // A base URL of its own means a gateway unless the settings choose something else.
  if (env.GOOGLE_GEMINI_BASE_URL && !chosen) return 'no'
  if (env.GEMINI_API_KEY && (chosen === '' || chosen === 'gemini-api-key')) return 'yes'
  if (chosen === 'oauth-personal' && (await readText(path.join(home, 'oauth_creds.json')))) return 'yes'
  // The key may be in an .env file, the system's keychain or the cloud's own place.
  const elsewhere = [path.join(cwd, '.env'), path.join(cwd, '.gemini/.env'), path.join(home, '.env')]
  const files = await Promise.all([...elsewhere, path.join(env.HOME ?? '', '.env')].map(readText))
  const cloud = env.GOOGLE_GENAI_USE_VERTEXAI || env.GOOGLE_GENAI_USE_GCA || env.GOOGLE_API_KEY
  return chosen || cloud || files.some(text => text !== '') ? 'unknown' : 'no'
}

function headless(url: string): HeadlessStart {
  const settings = {
    privacy: { usageStatisticsEnabled: false },
    general: { maxAttempts: 1, enableAutoUpdate: false, enableAutoUpdateNotification: false },
    security: { auth: { selectedType: 'gemini-api-key' } },
  }
  return {
    env: { GEMINI_API_KEY: madeUpKey, GOOGLE_GEMINI_BASE_URL: url },
    files: { '.gemini/settings.json': JSON.stringify(settings) },
    // Without a model it first asks one which to take.
    model: 'gemini-2.5-pro',
  }
}
