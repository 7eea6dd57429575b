import type { CommandNode, Function as FunctionNode, ParsedScript } from 'unbash'
import { env, hole } from './marks.ts'
import { Denied, type GuardContext, type Refusal, refuse } from './verdict.ts'

/** What a variable may hold: alternatives, each a list (an array has more than one element). */
export type Value = readonly (readonly string[])[]

export type State = {
  /** Folders the shell may be in. */
  cwd: string[]
  vars: Map<string, Value>
  functions: Map<string, FunctionNode>
  aliases: Map<string, string>
  positional: readonly string[]
  /** `exit` or `return` was reached: what follows a branch does not come from here. */
  ended: boolean
}

/** What holds for the whole of one judgement. */
export type Session = {
  context: GuardContext
  /** Work that is left. When it is used up, the command is too complex to be judged. */
  fuel: number
  /** Texts that were written to files by this command. */
  files: Map<string, string[]>
  gitAliases: Map<string, string>
  remotes: Set<string>
  run: Runners
}

/** The walker, for whoever lies below it: what stands in a substitution, a text or a list of arguments is run in thought. Each answers what it would print. */
export type Runners = {
  script(script: ParsedScript, scope: Scope): string
  text(text: string, scope: Scope): string
  call(argv: readonly string[], scope: Scope): string
  node(node: CommandNode, scope: Scope): string
}

export type Scope = {
  session: Session
  state: State
  /** What stands on standard input; null when nothing was put there. */
  stdin: string | null
  stdout: 'shown' | 'file' | 'pipe' | 'captured'
  /** How many shells deep. */
  depth: number
  /** How many subshells deep, and for every function that is being called how many it was at its start. */
  forks: number
  calls: readonly { body: object; forks: number }[]
}

const alternatives = 16
const deepest = 24

export function newScope(context: GuardContext, fuel: number, run: Runners): Scope {
  const state: State = {
    cwd: [context.cwd],
    vars: new Map(),
    functions: new Map(),
    aliases: new Map(),
    positional: [],
    ended: false,
  }
  const session: Session = { context, fuel, files: new Map(), gitAliases: new Map(), remotes: new Set(), run }
  return { session, state, stdin: null, stdout: 'shown', depth: 0, forks: 0, calls: [] }
}

/** Every step of the work pays, so that no input takes long. */
export function spend(scope: Scope, amount: number): void {
  scope.session.fuel -= amount
  if (scope.session.fuel < 0) deny(refuse('unreadable', 'the command is too complex to be judged'), '')
}

export function deeper(scope: Scope): Scope {
  if (scope.depth >= deepest) deny(refuse('unreadable', 'commands are nested too deeply to be judged'), '')
  return { ...scope, depth: scope.depth + 1 }
}

export function deny(refusal: Refusal, part: string): never {
  throw new Denied(refusal, part)
}

export function copyOf(state: State): State {
  return {
    ...state,
    cwd: [...state.cwd],
    vars: new Map(state.vars),
    functions: new Map(state.functions),
    aliases: new Map(state.aliases),
  }
}

/** A shell of its own: what it sets is lost with it. */
export function subshell(scope: Scope): Scope {
  return { ...scope, state: copyOf(scope.state), forks: scope.forks + 1 }
}

/** The state is one of these from now on, nobody can say which. */
export function become(state: State, branches: readonly State[]): void {
  const open = branches.filter(branch => !branch.ended)
  const [first, ...others] = open.length > 0 ? open : branches
  if (!first) return
  const merged = others.reduce(mergedStates, first)
  Object.assign(state, copyOf(merged))
}

function mergedStates(one: State, other: State): State {
  if (one === other) return one
  const vars = new Map(one.vars)
  for (const key of new Set([...one.vars.keys(), ...other.vars.keys()])) {
    const [a, b] = [one.vars.get(key), other.vars.get(key)]
    if (a !== b) vars.set(key, limited([...(a ?? [[env]]), ...(b ?? [[env]])]))
  }
  const cwd = [...new Set([...one.cwd, ...other.cwd])]
  return {
    ...one,
    cwd: cwd.length > alternatives ? [hole] : cwd,
    vars,
    functions: new Map([...one.functions, ...other.functions]),
    aliases: new Map([...one.aliases, ...other.aliases]),
  }
}

/** Equal ones once; too many are not told apart any more. */
export function limited(value: Value): Value {
  const unique = [...new Map(value.map(list => [list.join('\0'), list])).values()]
  return unique.length > alternatives ? [...unique.slice(0, alternatives - 1), [hole]] : unique
}

/** Every choice of one of each, as long as there are few. */
export function product<T>(lists: readonly (readonly T[])[], join: (parts: T[]) => T): T[] {
  let all: T[][] = [[]]
  for (const list of lists) {
    const [only, more] = list
    // Almost always: without a copy, so that many words stay cheap.
    if (only !== undefined && more === undefined) {
      for (const parts of all) parts.push(only)
      continue
    }
    if (all.length * list.length > alternatives * 4) {
      // Each one is still seen once, beside the first of the others.
      const [base = []] = all
      all = [...all.map(parts => [...parts, list[0] as T]), ...list.slice(1).map(item => [...base, item])]
    } else all = all.flatMap(parts => list.map(item => [...parts, item]))
  }
  return all.map(join)
}

/** A content that was written to a file by this very command. */
export function remember(scope: Scope, path: string, text: string): void {
  const { files } = scope.session
  const all = [...new Set([...(files.get(path) ?? []), text])]
  files.set(path, all.length > alternatives ? [hole] : all)
}
