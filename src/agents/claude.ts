import type {
  Agent,
  AgentCommand,
  AgentProbe,
  AgentRequest,
  AgentSettings,
  HeadlessStart,
  ProbeContext,
} from './agent.ts'
import { claudeNeeds } from './claude-needs.ts'
import { claudeReader } from './claude-reader.ts'
import { cliAgent, modelOption } from './cli-agent.ts'
import { pick, probeEnvironment } from './environment.ts'
import { install } from './fixes.ts'
import { guardEnvironment, guardFile, guardLine, guardPatience } from './guard.ts'
import { madeUpKey } from './headless.ts'
import { probeVersion } from './probe-version.ts'

export function claude(settings: AgentSettings = {}): Agent {
  return cliAgent('claude', settings, {
    can: { readOnly: true, reportsCost: true, structured: true, guard: true },
    command,
    reader: claudeReader,
    probe,
    needs: claudeNeeds,
    headless,
  })
}

function command(program: string, request: AgentRequest): AgentCommand {
  return {
    argv: [
      program,
      ...always,
      ...(request.readOnly ? readOnly : ['--dangerously-skip-permissions']),
      ...guardOptions(request),
      ...modelOption(request),
      ...request.extraArgs,
    ],
    env: { ...environment(request), ...(request.guard ? guardEnvironment(request.guard) : {}) },
    stdin: 'prompt',
  }
}

/** Without `--verbose` the CLI refuses `stream-json`. */
const always = ['-p', '--output-format', 'stream-json', '--verbose']

/**
 * A reviewer. `dontAsk` refuses whatever is not allowed and still lets the shell commands through that only read (`git
 * diff`, `ls`, `cat`); `plan` would put its own instructions before ours, and next to --dangerously-skip-permissions it
 * is ignored. The names stand in one word each, because these options swallow every word that follows them.
 */
const readOnly = [
  '--permission-mode',
  'dontAsk',
  '--disallowedTools',
  'Edit,Write,NotebookEdit',
  '--allowedTools',
  'Read,Grep,Glob',
]

/**
 * As settings, so that no settings of the project can switch it off. The CLI takes them once only: next to settings of
 * the user's own it is a plugin.
 */
function guardOptions({ guard, extraArgs }: AgentRequest): string[] {
  if (!guard) return []
  if (extraArgs.some(word => word === '--settings' || word.startsWith('--settings=')))
    return ['--plugin-dir', guardFile()]
  const hook = { type: 'command', command: guardLine(guard), timeout: guardPatience }
  const hooks = { PreToolUse: [{ matcher: allButHarmless, hooks: [hook] }] }
  return ['--settings', JSON.stringify({ disableAllHooks: false, hooks })]
}

/** A guard takes a moment; these tools can do no harm, not even read a secret. */
const allButHarmless = '^(?!(?:Glob|LS|TodoWrite|ToolSearch|WebSearch)$)'

/** Login, endpoint and behaviour of the CLI. Left out on purpose: marks of a Claude session that Ralph itself runs in. */
const own = [
  'ANTHROPIC_*',
  'CLAUDE_CONFIG_DIR',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_*',
  'CLAUDE_CODE_API_KEY_HELPER_TTL_MS',
  'CLAUDE_CODE_CLIENT_CERT',
  'CLAUDE_CODE_CLIENT_KEY',
  'CLAUDE_CODE_CLIENT_KEY_PASSPHRASE',
  'CLAUDE_CODE_EFFORT_LEVEL',
  'CLAUDE_CODE_MAX_OUTPUT_TOKENS',
  'CLAUDE_CODE_MAX_RETRIES',
  'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP',
  'CLAUDE_CODE_SUBAGENT_MODEL',
  'MAX_THINKING_TOKENS',
  'API_TIMEOUT_MS',
  'BASH_DEFAULT_TIMEOUT_MS',
  'BASH_MAX_TIMEOUT_MS',
]
const bedrock = ['AWS_*', 'CLAUDE_CODE_SKIP_BEDROCK_AUTH']
const vertex = [
  'CLOUD_ML_REGION',
  'VERTEX_REGION_*',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'GOOGLE_CLOUD_PROJECT',
  'GCLOUD_PROJECT',
  'CLAUDE_CODE_SKIP_VERTEX_AUTH',
]

function environment({ env, root }: AgentRequest): Record<string, string> {
  return {
    // Few retries of its own: ten would hide an outage for minutes, and the engine waits and retries better.
    CLAUDE_CODE_MAX_RETRIES: '2',
    ...pick(env, own),
    // The keys of a cloud are shown only to who uses that cloud.
    ...(env.CLAUDE_CODE_USE_BEDROCK ? pick(env, bedrock) : {}),
    ...(env.CLAUDE_CODE_USE_VERTEX ? pick(env, vertex) : {}),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_AUTOUPDATER: '1',
    // As root the CLI refuses to skip permissions unless it is told that it is in a sandbox. Said only where it must
    // be, because it is the user's choice of sandbox, not this variable, that protects the machine.
    ...(root ? { IS_SANDBOX: '1' } : {}),
  }
}

function probe(program: string, { env, cwd }: ProbeContext): Promise<AgentProbe> {
  return probeVersion({
    program,
    product: 'Claude Code',
    cwd,
    env: {
      ...probeEnvironment(env),
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
    fix: install.claude,
  })
}

/** A made-up key, and no second try. */
function headless(url: string): HeadlessStart {
  return {
    env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: madeUpKey, CLAUDE_CODE_MAX_RETRIES: '0' },
  }
}
