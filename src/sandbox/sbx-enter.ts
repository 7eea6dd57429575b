import { readFileSync } from 'node:fs'
import type { BoxedProgram, EnteredProgram } from './sandbox.ts'
import type { Cli } from './sbx-cli.ts'
import { carried, type EnvironmentFiles, isDispensable } from './sbx-environment.ts'
import type { Ready } from './sbx-ready.ts'
import { templateArgs } from './sbx-template.ts'

/**
 * How a program is started in there. Two ways:
 * - `docker sandbox run NAME -- -p PROMPT …` for an agent that writes, as the seed has it (S1-43): the template skips
 *   permissions itself. It carries no variables and no stdin.
 * - `exec -i NAME PROGRAM …` with the prompt on stdin for all else: gates, reviewers (the template's flags would let them
 *   write), agents whose headless form is a sub-command, long prompts, and an agent whose user gave it variables.
 * With `sbx` always the second. What `sbx run` makes of arguments has changed twice (they were added to the template's
 * flags, then took their place, now it depends on the first), it may ask for a login, and it takes variables only since
 * 0.39; `exec` has been `docker exec` throughout. The agent then brings its own flag.
 */
export function enterSandbox(options: {
  cli: Cli
  ready: Ready
  program: BoxedProgram
  files: EnvironmentFiles
}): EnteredProgram {
  const { cli, ready, program, files } = options
  const env = carried(program.env, ready.mounts)
  const template = cli.kind === 'docker' ? byTemplate(program, env) : null
  if (template)
    return {
      argv: [...cli.argv, 'run', ready.name, '--', ...template],
      cwd: program.cwd,
      env: cli.env,
      stdin: null,
    }

  const variables = files.write(env)
  const [first, ...rest] = program.argv
  return {
    argv: [
      ...cli.argv,
      'exec',
      ...(program.stdin === null ? [] : ['-i']),
      ...['-w', program.cwd],
      ...variables.args,
      ready.name,
      // Where an agent lies on this machine says nothing about in there.
      program.agent ?? first,
      ...rest,
    ],
    cwd: program.cwd,
    env: { ...cli.env, ...variables.client },
    stdin: program.stdin,
  }
}

function byTemplate(program: BoxedProgram, env: Record<string, string>): string[] | null {
  const { agent, readOnly, stdin, argv } = program
  if (agent === null || readOnly || stdin === null) return null
  if (!Object.keys(env).every(isDispensable)) return null
  return templateArgs(agent, argv, readFileSync(stdin))
}
