import { UserError } from '../core/errors.ts'
import type { Agent, AgentProbe, AgentSettings, ProbeContext } from './agent.ts'
import { patternsFor } from './patterns.ts'
import { plainReader } from './plain-reader.ts'
import { findProgram } from './probe.ts'
import { splitCommand } from './split-command.ts'

/** Any program that reads a prompt on stdin and answers on stdout. It is told the model and the rights in variables. */
export function command(settings: AgentSettings): Agent {
  const [program, ...args] = words(settings.command)
  if (program === undefined || program === '') {
    throw new UserError(
      `agent 'command' has no command`,
      'Write `agent: { command: "my-agent --flag" }` in ralph.config.yaml; it gets the prompt on stdin.',
      2,
    )
  }
  return {
    name: 'command',
    can: { readOnly: false, reportsCost: false, structured: false, guard: false },
    patterns: patternsFor('command', settings.patterns),
    command: ({ model, readOnly, extraArgs }) => ({
      argv: [program, ...args, ...extraArgs],
      env: {
        ...(model === undefined ? {} : { RALPH_MODEL: model }),
        ...(readOnly ? { RALPH_READ_ONLY: '1' } : {}),
      },
      stdin: 'prompt',
    }),
    reader: () => plainReader(),
    probe: context => probe(program, context),
    headless: () => ({ notChecked: 'an unknown program might begin to work' }),
  }
}

function words(given: string | string[] | undefined): string[] {
  return typeof given === 'string' ? splitCommand(given) : (given ?? [])
}

/** Only looks the program up: an unknown program that is started to see its version might begin to work. */
async function probe(program: string, { env, cwd }: ProbeContext): Promise<AgentProbe> {
  if (await findProgram(program, env, cwd)) return { ok: true, version: null, problem: null, fix: null }
  const problem = `'${program}' was not found${program.includes('/') ? '' : ' on the PATH'}, or may not be executed`
  return {
    ok: false,
    version: null,
    problem,
    fix: 'Install it, or correct `agent.command` in ralph.config.yaml.',
  }
}
