import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMap, isScalar, LineCounter, type Pair, parseDocument } from 'yaml'
import { UserError } from '../../core/errors.ts'
import type { AgentStage, Edge, PromiseChecks, SignalRule, Workflow } from '../../core/workflow.ts'

export const configFile = '.specflow/config.yaml'

/** `ralph` in `.specflow/config.yaml` (S2-18 to S2-25). All else in the file is SpecFlow's own. */
export type LoopConfig = {
  enabled: boolean
  defaultMaxIterations: number
  verifyPromises: boolean
  /** What is said of single agents; the rest comes from the defaults. */
  agents: Record<string, AgentConfig>
}

export type AgentConfig = { enabled?: boolean; maxIterations?: number; completionPromise?: string }

/** What an agent gets of which neither the file nor the preset says anything (S2-24). */
export const defaultPromise = 'STAGE_COMPLETE'

export function readLoopConfig(root: string, agents: readonly string[]): LoopConfig {
  let text: string
  try {
    text = readFileSync(join(root, configFile), 'utf8')
  } catch {
    text = ''
  }
  return parseLoopConfig(text, agents)
}

export function parseLoopConfig(text: string, agents: readonly string[]): LoopConfig {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const lineAt = (offset: number) => lines.linePos(offset).line
  const broken = document.errors[0]
  if (broken)
    throw new UserError(
      `${configFile}:${lineAt(broken.pos[0])}: not valid YAML: ${broken.message.split('\n')[0]}`,
      'Correct that line.',
      2,
    )
  const config: LoopConfig = {
    enabled: true,
    defaultMaxIterations: 10,
    verifyPromises: true,
    agents: {},
  }
  const problems: string[] = []
  const entries = (node: unknown, path: string, offset: number): Entry[] => {
    if (node === null || node === undefined || (isScalar(node) && node.value === null)) return []
    if (!isMap(node)) {
      problems.push(`${configFile}:${lineAt(offset)}: ${path}: expected settings below it`)
      return []
    }
    return node.items.map(pair => entryOf(pair as Pair, path, lineAt))
  }
  const read = <T>({ path, line, value }: Entry, reader: Reader<T>): T | undefined => {
    const result = reader.read(value)
    if (result === undefined)
      problems.push(`${configFile}:${line}: ${path}: expected ${reader.what}, found ${JSON.stringify(value)}`)
    return result
  }
  const unknown = ({ path, line, key }: Entry, known: readonly string[]) =>
    problems.push(`${configFile}:${line}: ${path}: unknown key '${key}'; known: ${known.join(', ')}`)

  const top = isMap(document.contents) ? document.contents : null
  if (document.contents !== null && !top) problems.push(`${configFile}:1: expected keys and values`)
  const ralph = top?.items.find(pair => isScalar(pair.key) && pair.key.value === 'ralph')
  const ralphEntry = ralph ? entryOf(ralph as Pair, '', lineAt) : null
  for (const entry of ralphEntry ? entries(ralphEntry.node, 'ralph', ralphEntry.offset) : []) {
    if (entry.key === 'enabled') config.enabled = read(entry, bool) ?? true
    else if (entry.key === 'default_max_iterations') config.defaultMaxIterations = read(entry, count) ?? 10
    else if (entry.key === 'verify_promises') config.verifyPromises = read(entry, bool) ?? true
    else if (agents.includes(entry.key)) {
      const agent: AgentConfig = {}
      for (const one of entries(entry.node, entry.path, entry.offset)) {
        if (one.key === 'enabled') agent.enabled = read(one, bool) ?? true
        else if (one.key === 'max_iterations') agent.maxIterations = read(one, count) ?? 1
        else if (one.key === 'completion_promise') agent.completionPromise = read(one, promiseText) ?? ''
        else unknown(one, ['enabled', 'max_iterations', 'completion_promise'])
      }
      config.agents[entry.key] = agent
    } else unknown(entry, ['enabled', 'default_max_iterations', 'verify_promises', ...agents])
  }
  if (problems.length > 0)
    throw new UserError(problems.join('\n'), 'Correct it; docs/presets/pipeline.md has every key.', 2)
  return config
}

type Entry = { key: string; path: string; line: number; offset: number; node: unknown; value: unknown }

function entryOf(pair: Pair, path: string, lineAt: (offset: number) => number): Entry {
  const key = isScalar(pair.key) ? String(pair.key.value) : String(pair.key)
  const offset = (pair.key as { range?: [number, number, number] }).range?.[0] ?? 0
  const node = pair.value
  const value = isScalar(node) ? node.value : node === null ? null : '…'
  return { key, path: path === '' ? key : `${path}.${key}`, line: lineAt(offset), offset, node, value }
}

type Reader<T> = { what: string; read(value: unknown): T | undefined }

const bool: Reader<boolean> = {
  what: 'true or false',
  read: value => (typeof value === 'boolean' ? value : undefined),
}
/** A limit of 0, or none that can be reached, would be no limit (S2-49). */
const most = 1000
const count: Reader<number> = {
  what: `a whole number from 1 to ${most}`,
  read: value =>
    typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most ? value : undefined,
}
/** What can stand between the tags on one line and be found there again. */
const promiseText: Reader<string> = {
  what: 'a text of one line without < and >',
  read: value =>
    typeof value === 'string' && value.trim() === value && /^[^<>\p{Cc}]{1,200}$/u.test(value)
      ? value
      : undefined,
}

/** What Ralph's own configuration says of a stage; where it says the same thing, it wins. */
export type OwnStages = Record<string, { limit?: unknown; signal?: unknown } | null>

/** The workflow as `.specflow/config.yaml` has it. */
export function configureLoops(workflow: Workflow, config: LoopConfig, own: OwnStages): Workflow {
  const stages = Object.entries(workflow.stages).map(([name, stage]) => {
    if (stage.kind !== 'agent') return [name, stage]
    const agent = Object.hasOwn(config.agents, name) ? (config.agents[name] ?? {}) : {}
    const said = Object.hasOwn(own, name) ? (own[name] ?? {}) : {}
    const limit = said.limit === undefined ? (agent.maxIterations ?? stage.limit) : stage.limit
    const looped: AgentStage = {
      ...stage,
      limit: limit ?? config.defaultMaxIterations,
      signal: said.signal === undefined ? promiseOf(stage.signal, agent, config) : stage.signal,
    }
    const enabled = config.enabled && (agent.enabled ?? true)
    return [name, enabled ? looped : once(name, looped)]
  })
  return { ...workflow, stages: Object.fromEntries(stages) }
}

function promiseOf(signal: SignalRule, agent: AgentConfig, config: LoopConfig): SignalRule {
  const preset = signal.from === 'promise' ? signal : null
  const checks: PromiseChecks = preset?.verify ?? { contradictions: true }
  return {
    from: 'promise',
    text: agent.completionPromise ?? preset?.text ?? defaultPromise,
    verify: config.verifyPromises ? checks : { contradictions: false },
  }
}

/** S2-14: one pass and no promise. Only what another stage finds can bring it back, as often as its limit allows. */
function once(name: string, stage: AgentStage): AgentStage {
  const leave = (edge: Edge): Edge => (edge === name ? 'exhausted' : edge)
  const on = { pass: leave(stage.on.pass), fail: leave(stage.on.fail), unclear: 'exhausted' }
  return { ...stage, signal: { from: 'exit' }, on }
}
