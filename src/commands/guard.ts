import { createRequire } from 'node:module'
import { builtProgram } from '../agents/built-program.ts'
import { UserError } from '../core/errors.ts'

export type GuardOptions = {
  command?: string
  list?: boolean
  hook?: boolean
  json?: boolean
  projectDir?: string
}

/**
 * `ralph guard`: the hook of agents, for people. The guard is one file of its own, so that it starts quickly and can be
 * copied anywhere; that very file is run here, in this process.
 */
export function guard(options: GuardOptions): void {
  const { command, list, hook } = options
  if ([command !== undefined, list, hook].filter(Boolean).length !== 1)
    throw new UserError(
      'say what to judge',
      "Try: ralph guard 'rm -rf dist', ralph guard --list or ralph guard --hook.",
      2,
    )
  if (options.projectDir !== undefined) process.chdir(options.projectDir)
  const program = builtProgram('guard-hook.js', 'the command guard')
  const args = hook ? [] : list ? ['--list'] : ['--check', command ?? '']
  process.argv.splice(1, Number.POSITIVE_INFINITY, program, ...args, ...(options.json ? ['--json'] : []))
  createRequire(program)(program)
}
