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
import { codexNeeds } from './codex-needs.ts'
import { codexReader } from './codex-reader.ts'
import { pick, probeEnvironment } from './environment.ts'
import { install, logIn } from './fixes.ts'
import { type Guard, guardLine, guardPatience } from './guard.ts'
import { madeUpKey } from './headless.ts'
import { startProbe } from './probe.ts'
import { probeVersion } from './probe-version.ts'
import { readText } from './read-text.ts'

export function codex(settings: AgentSettings = {}): Agent {
  return cliAgent('codex', settings, {
    can: { readOnly: true, reportsCost: false, structured: true, guard: true },
    command,
    reader: codexReader,
    probe,
    needs: codexNeeds,
    headless,
  })
}

function command(program: string, request: AgentRequest): AgentCommand {
  return {
    argv: [
      program,
      'exec',
      '--json',
      ...(request.readOnly && !request.boxed ? readOnly : ['--dangerously-bypass-approvals-and-sandbox']),
      ...settled,
      ...(request.guard ? guardSettings(request.guard) : []),
      ...modelOption(request),
      // The prompt is on stdin. Said aloud: a stray word among the extra arguments is then an error, not a prompt.
      '-',
      ...request.extraArgs,
    ],
    env: pick(request.env, own),
    stdin: 'prompt',
  }
}

/** A reviewer: the CLI's own sandbox, which lets commands read everywhere and write nowhere. `exec` never asks. */
const readOnly = ['--sandbox', 'read-only', '--skip-git-repo-check']

/** As settings and not as `--disable`: a version that does not know one of them only says so, and goes on. */
const settled = [
  '-c',
  'analytics.enabled=false',
  '-c',
  'check_for_update_on_startup=false',
  // Without this it waits for the network for ever, with a sign of life now and then: an outage would never be seen.
  '-c',
  'features.unbounded_connection_retries=false',
]

/**
 * The guard, besides hooks of the user's own. Hooks that he has not looked through yet would be left out without a word,
 * ours too, unless all are trusted.
 */
function guardSettings(guard: Guard): string[] {
  const hook = `{type="command",command=${JSON.stringify(guardLine(guard))},timeout=${guardPatience}}`
  return ['--dangerously-bypass-hook-trust', '-c', `hooks.PreToolUse=[{hooks=[${hook}]}]`]
}

/** Login and places of the CLI. Left out on purpose: marks of a Codex session that Ralph itself runs in. */
const own = [
  'CODEX_HOME',
  'CODEX_SQLITE_HOME',
  'CODEX_API_KEY',
  'CODEX_ACCESS_TOKEN',
  'CODEX_CA_CERTIFICATE',
  'CODEX_OSS_BASE_URL',
  'CODEX_OSS_PORT',
  'OPENAI_API_KEY',
  'OPENAI_ORGANIZATION',
  'OPENAI_PROJECT',
]

async function probe(program: string, { env, cwd }: ProbeContext): Promise<AgentProbe> {
  const safe = { ...probeEnvironment(env), ...pick(env, ['CODEX_HOME', 'CODEX_SQLITE_HOME']) }
  const found = await probeVersion({ program, product: 'Codex', cwd, env: safe, fix: install.codex })
  if (!found.ok) return found
  if (env.CODEX_API_KEY || env.CODEX_ACCESS_TOKEN) return { ...found, login: 'yes' }

  const status = await startProbe({ argv: [program, 'login', 'status'], cwd, env: safe })
  if (status.type === 'ok') return { ...found, login: 'yes' }
  const detail = status.type === 'failed' ? status.detail : ''
  if (/loading configuration|CODEX_HOME points/iu.test(detail)) {
    return {
      ...found,
      ok: false,
      problem: `\`${program} login status\` failed: ${detail}`,
      fix: 'Correct the config.toml of Codex or CODEX_HOME.',
    }
  }
  // Another provider has a key of its own, of which `login status` knows nothing.
  if (!/not logged in/iu.test(detail) || (await namesProvider(env))) return { ...found, login: 'unknown' }
  return { ...found, login: 'no', problem: 'not logged in', fix: logIn.codex }
}

async function namesProvider(env: Record<string, string | undefined>): Promise<boolean> {
  const home = env.CODEX_HOME || path.join(env.HOME ?? '', '.codex')
  // No configuration: the provider is the usual one.
  return /^\s*(?:model|oss)_provider\s*=/mu.test(await readText(path.join(home, 'config.toml')))
}

function headless(url: string): HeadlessStart {
  const provider = [
    'name="check"',
    `base_url="${url}/v1"`,
    'env_key="CODEX_API_KEY"',
    'wire_api="responses"',
    'request_max_retries=0',
    'stream_max_retries=0',
    'supports_websockets=false',
  ].join(',')
  return {
    env: { CODEX_API_KEY: madeUpKey },
    args: [
      // Its plugins look for updates outside.
      ...['-c', 'features.plugins=false'],
      ...['-c', 'model_provider="check"', '-c', `model_providers.check={${provider}}`],
    ],
  }
}
