import { UserError } from '../core/errors.ts'
import type { Agent, AgentSettings } from './agent.ts'
import { nearest } from './nearest.ts'

type Make = (settings: AgentSettings) => Agent

/** One import per agent, made when it is asked for: a run pays only for the agent it uses. */
const agents: Record<string, () => Promise<Make>> = {
  acp: async () => (await import('./acp/index.ts')).acp,
  claude: async () => (await import('./claude.ts')).claude,
  codex: async () => (await import('./codex.ts')).codex,
  command: async () => (await import('./command.ts')).command,
  copilot: async () => (await import('./copilot.ts')).copilot,
  gemini: async () => (await import('./gemini.ts')).gemini,
  opencode: async () => (await import('./opencode.ts')).opencode,
  scripted: async () => (await import('./scripted/index.ts')).scripted,
}

export const agentNames: readonly string[] = Object.keys(agents)

/** Those that are a program of their own; the others must be told which program or script they stand for. */
export const cliNames: readonly string[] = agentNames.filter(
  name => !['acp', 'command', 'scripted'].includes(name),
)

export async function findAgent(name: string, settings: AgentSettings = {}): Promise<Agent> {
  const load = Object.hasOwn(agents, name) ? agents[name] : undefined
  if (!load) throw unknownAgent(name)
  const make = await load()
  return make(settings)
}

function unknownAgent(name: string): UserError {
  const meant = nearest(name, agentNames)
  return new UserError(
    `there is no agent named '${name}'${meant ? `; did you mean '${meant}'?` : ''}`,
    `Choose one of ${agentNames.join(', ')}; any other program can be used with \`agent: { command: "…" }\`.`,
    2,
  )
}
