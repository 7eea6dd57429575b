import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { UserError } from '../core/errors.ts'
import type { Agent, AgentRequest } from './agent.ts'
import { builtProgram } from './built-program.ts'

export type Guard = NonNullable<AgentRequest['guard']>

/** S1-14: with the user's own rights, the command guard looks at every tool call, where the agent lets it. */
export function guardFor({ can }: Pick<Agent, 'can'>): Pick<AgentRequest, 'guard'> {
  if (!can.guard) return {}
  return { guard: { node: process.execPath, hook: builtProgram('guard-start.js', 'the command guard') } }
}

/** The guard as a line of shell. Most CLIs go on when a hook fails, but not when it fails with 2. */
export function guardLine({ node, hook }: Guard): string {
  return `${quoted(node)} ${quoted(hook)} || exit 2`
}

/** How the files below `plugin/guard` find the guard. Without these variables they refuse every call. */
export function guardEnvironment({ node, hook }: Guard): Record<string, string> {
  return { RALPH_GUARD_NODE: node, RALPH_GUARD_HOOK: hook }
}

/** A file or folder below `plugin/guard`. This code is in the bundle, in a chunk of it, or not built at all. */
export function guardFile(name = ''): string {
  const places = ['../plugin/guard/', '../../plugin/guard/'].map(place =>
    fileURLToPath(new URL(`${place}${name}`, import.meta.url)),
  )
  const found = places.find(place => existsSync(place))
  if (found !== undefined) return found
  throw new UserError('the command guard was not found', 'Install Ralph again.')
}

/** Seconds. Long, because a call goes through when its hook is late: the guard itself is quick, a busy machine is not. */
export const guardPatience = 60

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
