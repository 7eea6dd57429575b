import type { Agent, AgentCommand, AgentProbe, AgentRequest, AgentSettings, ProbeContext } from './agent.ts'
import { patternsFor } from './patterns.ts'

/** What is particular about a CLI; `program` is its own name, or another place of it that the configuration names. */
export type CliParts = Omit<Agent, 'name' | 'patterns' | 'command' | 'probe'> & {
  command(program: string, request: AgentRequest): AgentCommand
  probe(program: string, context: ProbeContext): Promise<AgentProbe>
}

/** An agent that is a program of its own, called by its own name. */
export function cliAgent(name: string, settings: AgentSettings, parts: CliParts): Agent {
  const program = settings.program ?? name
  return {
    ...parts,
    name,
    patterns: patternsFor(name, settings.patterns),
    command: request => parts.command(program, request),
    probe: context => parts.probe(program, context),
  }
}

/** All of them spell it the same. */
export function modelOption({ model }: AgentRequest): string[] {
  return model === undefined ? [] : ['--model', model]
}
