import {
  type AndOr,
  type CommandNode,
  type CompoundList,
  type ParsedScript,
  type Pipeline,
  parse,
  type Statement,
  type While,
  type Word,
} from 'unbash'
import { runCall, runCommand } from './command.ts'
import { capped, expandWord, runSubstitutions } from './expand.ts'
import { hole, net, secret } from './marks.ts'
import { redirect, written } from './redirect.ts'
import {
  become,
  copyOf,
  deeper,
  deny,
  type Runners,
  type Scope,
  type State,
  spend,
  subshell,
} from './scope.ts'
import { refuse } from './verdict.ts'

export const runners: Runners = { script: walkScript, text: walkText, call: runCall, node: walkNode }

/** Text that a shell would run. What is not known of it may be anything, so it must be known. */
function walkText(text: string, scope: Scope): string {
  spend(scope, 5 + text.length / 50)
  if (text.includes(net)) deny(refuse('pipe-to-shell', 'a shell would run what comes from the network'), text)
  if (text.includes(secret) || text.includes(hole))
    deny(refuse('obfuscation', 'a shell would run text that nobody can know before'), text)
  return walkScript(parse(text), scope)
}

function walkScript(script: ParsedScript, scope: Scope): string {
  const [error] = script.errors ?? []
  if (error)
    deny(refuse('unreadable', `the shell syntax cannot be read (${error.message})`), script.source ?? '')
  return walkStatements(script.commands, deeper(scope))
}

function walkStatements(statements: readonly Statement[], scope: Scope): string {
  return capped(statements.map(statement => walkStatement(statement, scope)).join(''))
}

function walkStatement({ command, background }: Statement, scope: Scope): string {
  spend(scope, 1)
  const at = background ? subshell(scope) : scope
  if (command.type === 'AndOr') return walkAndOr(command, at)
  return command.type === 'Pipeline' ? walkPipeline(command, at) : walkNode(command, at)
}

/** Whether a later part is reached nobody knows: after each the state may be as it was or as it is now. */
function walkAndOr({ commands }: AndOr, scope: Scope): string {
  const states: State[] = []
  const outputs = commands.map(command => {
    scope.state.ended = false
    const output = command.type === 'Pipeline' ? walkPipeline(command, scope) : walkNode(command, scope)
    states.push(copyOf(scope.state))
    return output
  })
  become(scope.state, states)
  return capped(outputs.join(''))
}

function walkPipeline({ commands }: Pipeline, scope: Scope): string {
  if (commands.length === 1 && commands[0]) return walkNode(commands[0], scope)
  let { stdin } = scope
  commands.forEach((command, index) => {
    const stdout = index < commands.length - 1 ? 'pipe' : scope.stdout
    stdin = walkNode(command, { ...subshell(scope), stdin, stdout })
  })
  return stdin ?? ''
}

function walkList(list: CompoundList, scope: Scope): string {
  return walkStatements(list.commands, scope)
}

function walkNode(node: CommandNode, scope: Scope): string {
  spend(scope, 1)
  switch (node.type) {
    case 'Command':
      return runCommand(node, scope)
    case 'Redirected': {
      const opened = redirect(node.redirects, scope)
      const output = walkNode(node.command, opened.scope)
      return written(opened, output, scope)
    }
    case 'BraceGroup':
      return walkList(node.body, scope)
    case 'Subshell':
      return walkList(node.body, subshell(scope))
    case 'Function':
      scope.state.functions.set(node.name.value, node)
      return ''
    case 'If': {
      const clauses = walkList(node.clause, scope)
      return (
        clauses +
        branches(scope, [node.then, ...node.elif.flatMap(elif => [elif.clause, elif.then]), node.else])
      )
    }
    case 'Case':
      runSubstitutions(node.word, scope)
      for (const item of node.items) for (const pattern of item.pattern) runSubstitutions(pattern, scope)
      return branches(scope, [...node.items.map(item => item.body), undefined])
    case 'While':
      forbidEndlessForks(node)
      return loop(scope, () => walkList(node.clause, scope) + walkList(node.body, scope))
    case 'For':
    case 'Select':
      return overWords(node.name, node.wordlist, scope, () => walkList(node.body, scope))
    case 'ArithmeticFor':
      for (const part of [node.initialize, node.test, node.update]) if (part) runSubstitutions(part, scope)
      if (!node.test) forbidForks(node.body)
      return loop(scope, () => walkList(node.body, scope))
    case 'Coproc':
      if (node.body.type === 'CompoundList') return walkList(node.body, subshell(scope))
      return walkNode(node.body, subshell(scope))
    case 'TestCommand':
    case 'ArithmeticCommand':
      runSubstitutions(node, scope)
      return ''
  }
}

function branches(scope: Scope, lists: readonly (CompoundList | undefined)[]): string {
  const states: State[] = []
  const outputs = lists.map(list => {
    const state = { ...copyOf(scope.state), ended: false }
    const output = list ? walkList(list, { ...scope, state }) : ''
    states.push(state)
    return output
  })
  become(scope.state, states)
  return capped(outputs.join(''))
}

/** Twice, because the second round begins with what the first has left behind. */
function loop(scope: Scope, round: () => string): string {
  const before = copyOf(scope.state)
  const first = round()
  if (isSame(before, scope.state)) return first
  const output = first + round()
  become(scope.state, [before, copyOf(scope.state)])
  return capped(output)
}

function isSame(one: State, other: State): boolean {
  if (one.vars.size !== other.vars.size || one.functions.size !== other.functions.size) return false
  if (one.cwd.join('\n') !== other.cwd.join('\n')) return false
  return [...one.vars].every(([key, value]) => JSON.stringify(other.vars.get(key)) === JSON.stringify(value))
}

const atOnce = 16

function overWords(
  variable: Word,
  words: readonly Word[] | undefined,
  scope: Scope,
  round: () => string,
): string {
  const fields = words ? words.flatMap(word => expandWord(word, scope).flat()) : [...scope.state.positional]
  const before = copyOf(scope.state)
  const outputs: string[] = []
  for (let at = 0; at < fields.length; at += atOnce) {
    outputs.push(
      loop(scope, () => {
        scope.state.vars.set(
          variable.value,
          fields.slice(at, at + atOnce).map(field => [field]),
        )
        return round()
      }),
    )
  }
  become(scope.state, [before, copyOf(scope.state)])
  return capped(outputs.join(''))
}

/** `while true` that only ever starts more in the background. */
function forbidEndlessForks({ clause, kind, body }: While): void {
  const [first, more] = clause.commands
  if (more || first?.command.type !== 'Command') return
  const condition = first.command.name?.value ?? ''
  if (kind === 'while' ? /^(?::|true)$/u.test(condition) : condition === 'false') forbidForks(body)
}

function forbidForks(body: CompoundList): void {
  const waits = /^(?:wait|sleep|read|break|exit|return)$/u
  const isHeld = body.commands.some(
    ({ command, background }) =>
      !background && command.type === 'Command' && waits.test(command.name?.value ?? ''),
  )
  if (!isHeld && body.commands.some(statement => statement.background))
    deny(
      refuse('fork-bomb', 'an endless loop would start processes in the background without waiting'),
      'while',
    )
}
