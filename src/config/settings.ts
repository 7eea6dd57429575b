import { UserError } from '../core/errors.ts'
import type { Workflow } from '../core/workflow.ts'
import { workflowProblems } from '../core/workflow.ts'
import { presets } from '../presets/registry.ts'
import type { Config } from './schema.ts'

/** Everything a run is decided by: flag > environment > `ralph.config.yaml` > preset, merged once. */
export type Settings = {
  workflow: Workflow
  agents: { implementer: AgentChoice[]; reviewer: AgentChoice[] }
  /** null: nothing was said, so it is detected. */
  verify: string[] | 'none' | null
  protect: string[]
  sandbox: string
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
}

export type AgentChoice = {
  name: string
  command?: string | string[]
  script?: string
  model?: string
  args: string[]
  env: string[]
}

/** What the command line and the environment may override. */
export type Overrides = {
  preset?: string
  agent?: string
  script?: string
  model?: string
  iterations?: number
  attempts?: number
  timeout?: number
  idle?: number
  cost?: number
  log?: string
  sandbox?: string
  branch?: string
  cleanGates?: boolean
  verify?: string[] | 'none'
  extraArgs?: string[]
}

export const defaultPreset = 'stories'

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
    protect: config.protect ?? ['specs/**'],
    sandbox: given.sandbox ?? config.sandbox ?? 'auto',
    rules: config.rules ?? [],
    context: config.context ?? null,
    strictDependencies: config.strictDependencies ?? false,
    cleanGates: given.cleanGates ?? config.cleanGates ?? false,
    branch: given.branch ?? config.branch ?? null,
    log: given.log ?? config.log ?? 'ralph.log',
    env: config.env ?? [],
    secrets: config.secrets ?? [],
    lease,
    leash,
    extraArgs: given.extraArgs ?? [],
  }
}

function verifyOf(config: Config): string[] | 'none' | null {
  if (config.verify === undefined) return null
  if (config.verify === 'none') return 'none'
  return typeof config.verify === 'string' ? [config.verify] : config.verify
}

/** Presets whose layout exists. The others are data already and get theirs one by one. */
const ready = ['stories']

function resolveWorkflow(config: Config, given: Overrides): Workflow {
  const name = given.preset ?? config.preset ?? defaultPreset
  const preset = Object.hasOwn(presets, name) ? presets[name] : undefined
  if (!preset)
    throw new UserError(`unknown preset '${name}'`, `Choose one of: ${Object.keys(presets).join(', ')}.`, 2)
  if (!ready.includes(name))
    throw new UserError(
      `preset '${name}' cannot run yet in this version`,
      `Choose one of: ${ready.join(', ')}.`,
      2,
    )
  const workflow = withLimits(preset, config, given)
  const problem = workflowProblems(workflow)[0]
  if (problem) throw new UserError(`preset '${name}': ${problem}`, 'Correct the workflow.', 2)
  return workflow
}

function withLimits(preset: Workflow, config: Config, given: Overrides): Workflow {
  const limits = config.limits ?? {}
  const iterations = given.iterations ?? limits.iterations
  const attempts = given.attempts ?? limits.attempts
  const cost = given.cost ?? limits.cost
  const timeout = given.timeout ?? limits.timeout
  const idle = given.idle ?? limits.idle
  const stages = Object.entries(preset.stages).map(([name, stage]): [string, typeof stage] => {
    const hard = stage.kind === 'agent' ? timeout : stage.kind === 'commands' ? limits.gate : undefined
    const quiet = stage.kind === 'agent' ? idle : undefined
    const time = {
      ...stage.time,
      ...(hard !== undefined ? { hard } : {}),
      ...(quiet !== undefined ? { idle: quiet } : {}),
    }
    const legacy =
      stage.kind === 'agent' && stage.signal.from === 'tags' && config.legacySignals !== undefined
        ? { signal: { ...stage.signal, legacy: config.legacySignals } }
        : {}
    return [name, { ...stage, ...legacy, time }]
  })
  return {
    ...preset,
    stages: Object.fromEntries(stages),
    limits: {
      ...preset.limits,
      ...(iterations !== undefined ? { iterations } : {}),
      ...(attempts !== undefined ? { attempts } : {}),
      ...(cost !== undefined ? { cost } : {}),
      ...(limits.tokens !== undefined ? { tokens: limits.tokens } : {}),
      ...(limits.time ? { run: { hard: limits.time } } : {}),
      ...(limits.faults !== undefined ? { faults: limits.faults } : {}),
    },
  }
}

function resolveAgents(config: Config, given: Overrides): Settings['agents'] {
  const chosen = given.agent ?? config.agent ?? 'claude'
  const byRole =
    typeof chosen === 'object' && !Array.isArray(chosen) && 'implementer' in chosen ? chosen : null
  const list = (value: unknown): AgentChoice[] =>
    (Array.isArray(value) ? value : [value]).map(one => toChoice(one as OneAgent))
  const named = given.agent !== undefined ? sameAgent(config.agent, given.agent) : null
  const implementer = named ? [named] : byRole ? list(byRole.implementer) : list(chosen)
  const reviewer = byRole && !named ? list(byRole.reviewer) : implementer
  const model = given.model ?? config.model
  const apply = (choice: AgentChoice): AgentChoice => ({
    ...choice,
    ...(model && (given.model || !choice.model) ? { model } : {}),
    ...(given.script && choice.name === 'scripted' ? { script: given.script } : {}),
  })
  return { implementer: implementer.map(apply), reviewer: reviewer.map(apply) }
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
    }

/** `--agent scripted` keeps what the configuration says of the agent of that name. */
function sameAgent(configured: Config['agent'], name: string): AgentChoice {
  const all = Array.isArray(configured)
    ? configured
    : typeof configured === 'object' && 'implementer' in configured
      ? [configured.implementer, configured.reviewer]
      : configured === undefined
        ? []
        : [configured]
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
  }
}
