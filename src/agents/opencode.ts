import type { Agent, AgentCommand, AgentProbe, AgentRequest, AgentSettings, ProbeContext } from './agent.ts'
import { pick, probeEnvironment } from './environment.ts'
import { hasKey, opencodeEnvironment, reviewerEnvironment, reviewerName } from './opencode-environment.ts'
import { opencodeReader } from './opencode-reader.ts'
import { patternsFor } from './patterns.ts'
import { startProbe } from './probe.ts'
import { probeVersion } from './probe-version.ts'

export function opencode(settings: AgentSettings = {}): Agent {
  const program = settings.program ?? 'opencode'
  return {
    name: 'opencode',
    can: { readOnly: true, reportsCost: true, structured: true },
    patterns: patternsFor('opencode', settings.patterns),
    command: request => command(program, request),
    reader: opencodeReader,
    probe: context => probe(program, context),
  }
}

function command(program: string, request: AgentRequest): AgentCommand {
  const model = request.model === undefined ? [] : ['--model', request.model]
  return {
    argv: [
      program,
      'run',
      ...headless,
      // `--auto` answers yes to every question and respects what the user forbade. A reviewer is asked nothing.
      ...(request.readOnly ? ['--agent', reviewerName] : ['--auto']),
      ...model,
      ...request.extraArgs,
    ],
    env: { ...opencodeEnvironment(request), ...(request.readOnly ? reviewerEnvironment(request.env) : {}) },
    stdin: 'prompt',
  }
}

const headless = [
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

const install = 'Install it with `npm install -g opencode-ai`, then run `opencode auth login`.'
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
    fix: install,
    timeout: patience,
  })
  if (!found.ok) return found
  if (hasKey(env)) return { ...found, login: 'yes' }
  const listed = await startProbe({ argv: [program, 'auth', 'list'], cwd, env: safe, timeout: patience })
  const credentials = listed.type === 'ok' ? /(\d+) credentials?/u.exec(listed.output)?.[1] : undefined
  // None is no proof: there are models without a login, and keys in the configuration.
  return { ...found, login: Number(credentials ?? 0) > 0 ? 'yes' : 'unknown' }
}
