import { UserError } from '../core/errors.ts'
import type { FaultPattern } from '../core/fault.ts'
import type { AgentStage, Workflow } from '../core/workflow.ts'
import type { Overrides } from './overrides.ts'
import type { Config } from './schema.ts'
import { resolveWorkflow } from './workflow.ts'

export type { Overrides } from './overrides.ts'

/** Everything a run is decided by: flag > environment > `ralph.config.yaml` > preset, merged once. */
export type Settings = {
  workflow: Workflow
  agents: Agents
  /** null: nothing was said, so it is detected. */
  verify: string[] | 'none' | null
  protect: string[]
  sandbox: SandboxSettings
  rules: string[]
  context: string | false | null
  strictDependencies: boolean
  /** Gates run in a checkout that holds only what would be committed. */
  cleanGates: boolean
  branch: string | null
  log: string
  env: string[]
  secrets: string[]
  lease: number
  leash: number
  extraArgs: string[]
  /** Folder of prompt templates that stand for the built-in ones. */
  prompts: string
  /** What the layout of the preset wants to know. */
  layout: Record<string, unknown>
}

export type SandboxSettings = {
  /** `auto`, `required`, `none` or the name of a provider. */
  use: string
  hosts: string[]
  reads: string[]
  writes: string[]
  gates: 'inside' | 'outside'
}

/** In order of fallback; other roles than these two have their own, or that of who writes or who only reads. */
export type Agents = {
  implementer: AgentChoice[]
  reviewer: AgentChoice[]
  roles: Record<string, AgentChoice[]>
}

export function agentsFor(agents: Agents, stage: AgentStage): AgentChoice[] {
  const own = Object.hasOwn(agents.roles, stage.role) ? agents.roles[stage.role] : undefined
  return own ?? (stage.may === 'read' ? agents.reviewer : agents.implementer)
}

/** An entry of a list of agents, as the journal and people call it: `claude`, `claude (opus)`. */
export function choiceKey({ name, model, command, script }: AgentChoice): string {
  const program = command === undefined ? '' : `: ${[command].flat().join(' ').slice(0, 60)}`
  const play = script === undefined ? '' : `: ${script}`
  return `${name}${program}${play}${model === undefined ? '' : ` (${model})`}`
}

/** Every agent that a run may start, each once. */
export function allAgents({ implementer, reviewer, roles }: Agents): AgentChoice[] {
  const all = [...implementer, ...reviewer, ...Object.values(roles).flat()]
  return [...new Map(all.map(choice => [JSON.stringify(choice), choice])).values()]
}

export type AgentChoice = {
  name: string
  command?: string | string[]
  script?: string
  /** What the scripted agent plays without a script: the preset's own rehearsal. */
  rehearsal?: string
  model?: string
  args: string[]
  env: string[]
  program?: string
  patterns?: FaultPattern[]
}

export function resolveSettings(config: Config, given: Overrides): Settings {
  const workflow = resolveWorkflow(config, given)
  const lease = config.lease ?? 30_000
  const leash = config.leash ?? 15_000
  if (leash >= lease) {
    throw new UserError(
      'leash must be shorter than lease',
      'Set e.g. lease: 30s and leash: 15s in ralph.config.yaml.',
      2,
    )
  }
  return {
    workflow,
    agents: resolveAgents(config, given),
    verify: given.verify ?? verifyOf(config),
    protect: config.protect ?? workflow.protect ?? [],
    sandbox: sandboxOf(config.sandbox, given.sandbox),
    rules: config.rules ?? [],
    context: config.context ?? null,
    strictDependencies: config.strictDependencies ?? workflow.strictNeeds ?? false,
    cleanGates: given.cleanGates ?? config.cleanGates ?? false,
    branch: given.branch ?? config.branch ?? null,
    log: given.log ?? config.log ?? 'ralph.log',
    env: config.env ?? [],
    secrets: config.secrets ?? [],
    lease,
    leash,
    extraArgs: given.extraArgs ?? [],
    prompts: config.prompts ?? 'ralph/prompts',
    layout: { ...config.layout, ...given.layout, ...(config.stages ? { stages: config.stages } : {}) },
  }
}

function sandboxOf(configured: Config['sandbox'], given: string | undefined): SandboxSettings {
  const { use, hosts, reads, writes, gates } = configured ?? {}
  return {
    use: given ?? use ?? 'auto',
    hosts: hosts ?? [],
    reads: reads ?? [],
    writes: writes ?? [],
    gates: gates ?? 'inside',
  }
}

function verifyOf(config: Config): string[] | 'none' | null {
  if (config.verify === undefined) return null
  if (config.verify === 'none') return 'none'
  return typeof config.verify === 'string' ? [config.verify] : config.verify
}

function resolveAgents(config: Config, given: Overrides): Agents {
  const named = given.agent !== undefined ? [sameAgent(config.agent, given.agent)] : null
  const byRole = named ? null : rolesOf(config.agent)
  const implementer = named ?? (byRole ? list(byRole.implementer) : list(config.agent ?? 'claude'))
  const reviewer = byRole?.reviewer === undefined ? implementer : list(byRole.reviewer)
  const model = given.model ?? config.model
  const apply = (choice: AgentChoice): AgentChoice => ({
    ...choice,
    ...(model && (given.model || !choice.model) ? { model } : {}),
    ...(given.script && choice.name === 'scripted' ? { script: given.script } : {}),
  })
  const others = Object.entries(byRole ?? {}).filter(
    ([role]) => role !== 'implementer' && role !== 'reviewer',
  )
  return {
    implementer: implementer.map(apply),
    reviewer: reviewer.map(apply),
    roles: Object.fromEntries(others.map(([role, value]) => [role, list(value).map(apply)])),
  }
}

/** `{ implementer: …, reviewer: … }`, as against one agent or a list of them. */
function rolesOf(agent: Config['agent']): Record<string, OneAgent | OneAgent[]> | null {
  if (typeof agent !== 'object' || Array.isArray(agent) || !('implementer' in agent)) return null
  return agent as Record<string, OneAgent | OneAgent[]>
}

function list(value: unknown): AgentChoice[] {
  return (Array.isArray(value) ? value : [value]).map(one => toChoice(one as OneAgent))
}

type OneAgent =
  | string
  | {
      name?: string | undefined
      command?: string | string[] | undefined
      script?: string | undefined
      model?: string | undefined
      args?: string[] | undefined
      env?: string[] | undefined
      program?: string | undefined
      patterns?: FaultPattern[] | undefined
    }

/** `--agent scripted` keeps what the configuration says of the agent of that name. */
function sameAgent(configured: Config['agent'], name: string): AgentChoice {
  const roles = rolesOf(configured)
  const all = roles ? Object.values(roles).flat() : configured === undefined ? [] : [configured].flat()
  const found = (all as OneAgent[]).map(toChoice).find(choice => choice.name === name)
  return found ?? toChoice(name)
}

function toChoice(one: OneAgent): AgentChoice {
  if (typeof one === 'string') return { name: one, args: [], env: [] }
  return {
    name:
      one.name ?? (one.command !== undefined ? 'command' : one.script !== undefined ? 'scripted' : 'claude'),
    ...(one.command !== undefined ? { command: one.command } : {}),
    ...(one.script !== undefined ? { script: one.script } : {}),
    ...(one.model !== undefined ? { model: one.model } : {}),
    args: one.args ?? [],
    env: one.env ?? [],
    ...(one.program !== undefined ? { program: one.program } : {}),
    ...(one.patterns !== undefined ? { patterns: one.patterns } : {}),
  }
}
