import path from 'node:path'
import type { Agent, AgentCommand, AgentProbe, AgentRequest, AgentSettings, ProbeContext } from './agent.ts'
import { codexReader } from './codex-reader.ts'
import { pick, probeEnvironment } from './environment.ts'
import { patternsFor } from './patterns.ts'
import { startProbe } from './probe.ts'
import { probeVersion } from './probe-version.ts'
import { readText } from './read-text.ts'

export function codex(settings: AgentSettings = {}): Agent {
  const program = settings.program ?? 'codex'
  return {
    name: 'codex',
    can: { readOnly: true, reportsCost: false, structured: true },
    patterns: patternsFor('codex', settings.patterns),
    command: request => command(program, request),
    reader: codexReader,
    probe: context => probe(program, context),
  }
}

function command(program: string, request: AgentRequest): AgentCommand {
  const model = request.model === undefined ? [] : ['--model', request.model]
  return {
    argv: [
      program,
      'exec',
      '--json',
      ...(request.readOnly ? readOnly : ['--dangerously-bypass-approvals-and-sandbox']),
      ...settled,
      ...model,
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

const install = 'Install it with `npm install -g @openai/codex`, then run `codex login`.'
const logIn =
  'Run `codex login`, or `printenv OPENAI_API_KEY | codex login --with-api-key`, or set CODEX_API_KEY (OPENAI_API_KEY alone is not read).'

async function probe(program: string, { env, cwd }: ProbeContext): Promise<AgentProbe> {
  const safe = { ...probeEnvironment(env), ...pick(env, ['CODEX_HOME', 'CODEX_SQLITE_HOME']) }
  const found = await probeVersion({ program, product: 'Codex', cwd, env: safe, fix: install })
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
  return { ...found, login: 'no', problem: 'not logged in', fix: logIn }
}

async function namesProvider(env: Record<string, string | undefined>): Promise<boolean> {
  const home = env.CODEX_HOME || path.join(env.HOME ?? '', '.codex')
  // No configuration: the provider is the usual one.
  return /^\s*(?:model|oss)_provider\s*=/mu.test(await readText(path.join(home, 'config.toml')))
}
