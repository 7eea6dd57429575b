import { nearest } from '../nearest.ts'
import { type Behaviour, behaviourNames, readBehaviour } from './behaviour.ts'
import { isRecord } from './values.ts'

/**
 * A script is a list of rules, or `{ rules, otherwise }`. A rule says for which calls it stands (`on`) and what is then
 * done (`do`); the first that fits is played. `otherwise` is played when none fits.
 */
export type Script = { name: string; rules: Rule[]; otherwise: Behaviour[] | null }

export type Rule = { on: Partial<Record<CallKey, string[]>>; steps: Behaviour[] }

/** What a rule may ask about; the engine tells each of them to every agent in a variable. */
export const callKeys = ['task', 'stage', 'role', 'attempt', 'call', 'step'] as const
export type CallKey = (typeof callKeys)[number]
export type Call = Record<CallKey, string>

export function callOf(env: Record<string, string | undefined>): Call {
  const of = (key: CallKey) => env[`RALPH_${key.toUpperCase()}`] ?? ''
  return {
    task: of('task'),
    stage: of('stage'),
    role: of('role'),
    attempt: of('attempt'),
    call: of('call'),
    step: of('step'),
  }
}

/** A mistake in a script; the message names the file and the entry. */
export class ScriptError extends Error {
  override name = 'ScriptError'
}

/** The whole script is checked before anything is played, so that a mistake in the last rule shows at once. */
export async function readScript(text: string, name: string): Promise<Script> {
  return checked(name, await parsed(text, name))
}

async function parsed(text: string, name: string): Promise<unknown> {
  try {
    if (/\.ya?ml$/iu.test(name)) return (await import('./yaml.ts')).parseYaml(text)
    return JSON.parse(text)
  } catch (error) {
    throw new ScriptError(`${name}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function checked(name: string, value: unknown): Script {
  if (Array.isArray(value))
    return {
      name,
      rules: value.map((rule, index) => readRule(rule, `${name}: rule ${index + 1}`)),
      otherwise: null,
    }
  if (!isRecord(value) || !Array.isArray(value.rules ?? [])) {
    throw new ScriptError(`${name}: a script is a list of rules, or { rules: […], otherwise: […] }`)
  }
  onlyKeys(value, ['rules', 'otherwise'], name)
  const rules = Array.isArray(value.rules) ? value.rules : []
  return {
    name,
    rules: rules.map((rule, index) => readRule(rule, `${name}: rule ${index + 1}`)),
    otherwise: value.otherwise === undefined ? null : readSteps(value.otherwise, `${name}: otherwise`),
  }
}

function readRule(rule: unknown, where: string): Rule {
  if (!isRecord(rule)) throw new ScriptError(`${where}: a rule is { on: {…}, do: […] }`)
  onlyKeys(rule, ['on', 'do'], where)
  if (rule.do === undefined) throw new ScriptError(`${where}: 'do' is missing`)
  return { on: readOn(rule.on ?? {}, `${where}, on`), steps: readSteps(rule.do, where) }
}

function readOn(on: unknown, where: string): Rule['on'] {
  if (!isRecord(on)) throw new ScriptError(`${where}: must be a map of ${callKeys.join(', ')}`)
  onlyKeys(on, callKeys, where)
  const wanted: Rule['on'] = {}
  for (const key of callKeys) {
    const value = on[key]
    if (value === undefined) continue
    const values = Array.isArray(value) ? value : [value]
    for (const one of values) {
      if (typeof one !== 'string' && typeof one !== 'number')
        throw new ScriptError(`${where}.${key}: must be a text, a number or a list of them`)
    }
    wanted[key] = values.map(String)
  }
  return wanted
}

function readSteps(steps: unknown, where: string): Behaviour[] {
  const list = Array.isArray(steps) ? steps : [steps]
  return list.map((step, index) => {
    const place = `${where}, step ${index + 1}`
    try {
      return readBehaviour(step)
    } catch (error) {
      throw new ScriptError(`${place}: ${error instanceof Error ? error.message : String(error)}`)
    }
  })
}

function onlyKeys(value: Record<string, unknown>, known: readonly string[], where: string): void {
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    const meant = nearest(key, known)
    const hint = behaviourNames.includes(key)
      ? ' (a step belongs under `do`)'
      : meant
        ? `; did you mean '${meant}'?`
        : ''
    throw new ScriptError(`${where}: '${key}' is not known here${hint}`)
  }
}

/** The steps for a call; null when the script says nothing about it. */
export function stepsFor(script: Script, call: Call): Behaviour[] | null {
  const rule = script.rules.find(({ on }) => callKeys.every(key => on[key]?.includes(call[key]) ?? true))
  return rule?.steps ?? script.otherwise
}
