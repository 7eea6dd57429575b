import path from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { Agent, AgentProbe, AgentSettings, ProbeContext } from '../agent.ts'
import { builtProgram } from '../built-program.ts'
import { probeEnvironment } from '../environment.ts'
import { patternsFor } from '../patterns.ts'
import { plainReader } from '../plain-reader.ts'
import { startProbe } from '../probe.ts'
import { readUsageLine } from './usage-line.ts'

/** Plays a script instead of asking a model: the demo and the tests drive a real process with it. */
export function scripted(settings: AgentSettings): Agent {
  if (!settings.script && !settings.rehearsal) {
    throw new UserError(
      `agent 'scripted' has no script`,
      'Write `agent: { name: scripted, script: path/to/script.yaml }` in ralph.config.yaml.',
      2,
    )
  }
  const script = path.resolve(settings.base ?? '', settings.script ?? '')
  const played = settings.script || !settings.rehearsal ? [script] : ['--play', settings.rehearsal]
  const program = settings.program ?? builtProgram('scripted-agent.js', "the scripted agent's program")
  return {
    name: 'scripted',
    can: { readOnly: false, reportsCost: true, structured: false, guard: false },
    patterns: patternsFor('scripted', settings.patterns),
    command: ({ extraArgs }) => ({
      argv: [process.execPath, program, ...played, ...extraArgs],
      env: {},
      stdin: 'prompt',
      // The program is built of several files.
      reads: [path.dirname(program), ...(settings.script ? [script] : [])],
    }),
    reader: () => plainReader(readUsageLine),
    probe: context => probe(program, settings.script ? script : null, context),
    headless: () => ({ notChecked: 'it calls no model' }),
  }
}

async function probe(
  program: string,
  script: string | null,
  { env, cwd }: ProbeContext,
): Promise<AgentProbe> {
  const start = (...args: string[]) =>
    startProbe({ argv: [process.execPath, program, ...args], cwd, env: probeEnvironment(env) })
  const version = await start('--version')
  if (version.type !== 'ok') {
    return {
      ok: false,
      version: null,
      problem: `the scripted agent does not start (${detail(version)})`,
      fix: 'Install Ralph again.',
    }
  }
  const name = /\d+\.\d+\.\d+\S*/u.exec(version.output)?.[0] ?? null
  if (script === null) return { ok: true, version: name, problem: null, fix: null }
  const check = await start('--check', script)
  if (check.type === 'ok') return { ok: true, version: name, problem: null, fix: null }
  return {
    ok: false,
    version: name,
    problem: detail(check),
    fix: 'Correct the script, or `agent.script` in ralph.config.yaml.',
  }
}

function detail(end: { type: string; detail?: string }): string {
  return end.detail ?? end.type
}
