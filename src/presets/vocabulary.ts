import type { AgentStage, CommandsStage, Edge, EngineStage, Target, Workflow } from '../core/workflow.ts'

/** The few words a preset is written in. They only name the kind of a stage; the data stays plain. */
export const preset = (workflow: Workflow): Workflow => workflow
export const agent = (stage: Omit<AgentStage, 'kind'>): AgentStage => ({ kind: 'agent', ...stage })
export const commands = (stage: Omit<CommandsStage, 'kind'>): CommandsStage => ({
  kind: 'commands',
  ...stage,
})
export const engine = (stage: Omit<EngineStage, 'kind'>): EngineStage => ({ kind: 'engine', ...stage })

/** An edge that is taken at most `max` times per pass; after that, `then`. */
export const bounded = (to: Target, max: number, then: Target): Edge => ({ to, max, then })

export const minutes = (count: number): number => count * 60_000
