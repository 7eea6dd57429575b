import type { Assignment, Command } from 'unbash'
import { builtins, judgeAssignment } from './builtins.ts'
import { type Call, callOf, shown } from './call.ts'
import { judgeCode } from './code.ts'
import { expandText, expandWord } from './expand.ts'
import { isUnknown, name, net, taint } from './marks.ts'
import { outputOf } from './outputs.ts'
import { baseName, placesOf } from './paths.ts'
import { redirect, written } from './redirect.ts'
import { rulesFor } from './rules.ts'
import { copyOf, deeper, deny, limited, product, type Scope, spend, type Value } from './scope.ts'
import { startOthers } from './starters.ts'
import { refuse } from './verdict.ts'
import { calledText, unwrapped } from './wrappers.ts'

/** A simple command: assignments, redirections, words. Answers what it would print. */
export function runCommand(node: Command, scope: Scope): string {
  const opened = redirect(node.redirects, scope)
  const words = node.name ? [node.name, ...node.args] : []
  const calls = product(
    words.map(word =>
      word.type === 'Word' ? expandWord(word, scope) : assigned(word, scope).map(text => [text]),
    ),
    parts => parts.flat(),
  )
  const assignments = node.prefix.flatMap(one => (one.type === 'Assignment' ? [one] : []))
  const before = new Map(assignments.map(one => [one.name, scope.state.vars.get(one.name)]))
  for (const one of assignments) assign(one, scope)
  if (words.length === 0) return written(opened, opened.scope.stdin ?? '', scope)
  const outputs = calls.map(argv => runCall(argv, opened.scope))
  // What stands before a command holds for that command only.
  for (const [variable, value] of before)
    if (value) scope.state.vars.set(variable, value)
    else scope.state.vars.delete(variable)
  const [first = ''] = outputs
  return written(opened, outputs.every(output => output === first) ? first : taint(...outputs), scope)
}

/** `export A=b`: the assignment as a word. */
function assigned(one: Assignment, scope: Scope): string[] {
  const values =
    one.value.type === 'Word' ? expandText(one.value, scope) : listOf(one, scope).map(list => list.join(' '))
  return values.map(value => `${one.name}${one.append ? '+' : ''}=${value}`)
}

function listOf(one: Assignment, scope: Scope): Value {
  if (one.value.type === 'Word') return expandText(one.value, scope).map(text => [text])
  const elements = one.value.elements.map(word => expandWord(word, scope))
  return product(elements, parts => parts.flat())
}

function assign(one: Assignment, scope: Scope): void {
  const values = listOf(one, scope)
  spend(scope, values.flat().join('').length / 100)
  for (const list of values) {
    const refusal = judgeAssignment(one.name, list.join(' '), { scope })
    if (refusal) deny(refusal, one.text)
  }
  const old = scope.state.vars.get(one.name) ?? [[]]
  const isArray = one.value.type === 'ArrayValue'
  const added = old.flatMap(before =>
    values.map(list => (isArray || one.index ? [...before, ...list] : [(before[0] ?? '') + (list[0] ?? '')])),
  )
  scope.state.vars.set(one.name, limited(one.append || one.index ? added : values))
}

/** A program with its arguments. */
export function runCall(argv: readonly string[], scope: Scope): string {
  spend(scope, 10 + 2 * argv.length + argv.join('').length / 100)
  if (argv.length === 0) return ''
  const call = callOf(argv, scope)
  const { program, args, path } = call
  forbidUnknownProgram(call)
  const called = callFunction(call)
  if (called !== null) return called
  if (args.length === 1 && /^(?:--help|--version|-help|-version|-V)$/u.test(args[0] ?? '')) return name
  for (const rule of rulesFor(program)) {
    const refusal = rule.judge(call)
    if (refusal) deny(refusal, shown(call))
  }
  if (path.includes('/')) runWritten(call)
  const builtin = Object.hasOwn(builtins, path) ? builtins[path] : undefined
  if (builtin) return builtin(call)
  return startInner(call) ?? startOthers(call) ?? outputOf(call)
}

function forbidUnknownProgram(call: Call): void {
  const base = baseName(call.path)
  const isShort = base.replaceAll(name, '').length < 4
  if (isUnknown(base) || /[\uE001\uE002\uE006]/u.test(base) || (base.includes(name) && isShort)) {
    const from = base.includes(net) ? 'pipe-to-shell' : 'obfuscation'
    deny(refuse(from, 'nobody can know which program this would start'), shown(call))
  }
}

const rounds = 2

/** Functions and aliases of the command itself; null when there is none of that name. */
function callFunction(call: Call): string | null {
  const { scope, args, path } = call
  const alias = scope.state.aliases.get(path)
  if (alias !== undefined) {
    const aliases = new Map(scope.state.aliases)
    aliases.delete(path)
    const state = { ...copyOf(scope.state), aliases }
    runCall([...alias.trim().split(/\s+/u), ...args], deeper({ ...scope, state }))
  }
  const body = scope.state.functions.get(path)?.body
  if (!body || body.type === 'CompoundList') return null
  const running = scope.calls.filter(one => one.body === body)
  if (running.some(one => scope.forks > one.forks))
    deny(refuse('fork-bomb', `${path} would start itself over and over in the background`), shown(call))
  // Further rounds bring nothing new.
  if (running.length >= rounds) return taint()
  const { positional } = scope.state
  scope.state.positional = args
  const calls = [...scope.calls, { body, forks: scope.forks }]
  const output = scope.session.run.node(body, deeper({ ...scope, calls }))
  scope.state.positional = positional
  scope.state.ended = false
  return output
}

/** A file that this very command has written is run: its text is judged. */
function runWritten(call: Call): void {
  const { scope, path, args } = call
  for (const place of placesOf(path, scope.state.cwd, scope.session.context)) {
    for (const text of scope.session.files.get(place.path) ?? []) {
      if (text.includes(net))
        deny(refuse('pipe-to-shell', `${path} was just fetched from the network`), shown(call))
      const shebang = /^#!.*?\b(python|node|perl|ruby|php)/u.exec(text)?.[1]
      if (shebang) judgeCode(shebang, text, scope)
      else {
        const state = { ...copyOf(scope.state), positional: args }
        scope.session.run.text(text, deeper({ ...scope, state }))
      }
    }
  }
}

/** A program whose only work is to start another one. */
function startInner(call: Call): string | null {
  const text = calledText(call)
  if (text !== null) return call.scope.session.run.text(text, deeper(call.scope))
  const inner = unwrapped(call)
  if (!inner) return null
  const { scope } = call
  const state = inner.chdir === null && inner.assigns.length === 0 ? scope.state : copyOf(scope.state)
  const within = { ...scope, state }
  for (const one of inner.assigns) {
    const [variable = '', value = ''] = [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]
    const refusal = judgeAssignment(variable, value, { scope: within })
    if (refusal) deny(refusal, one)
    state.vars.set(variable, [[value]])
  }
  if (inner.chdir !== null) runCall(['cd', inner.chdir], within)
  const [first = ''] = inner.argv
  if (/^(?:https?|git\+\w+):/u.test(first))
    deny(refuse('pipe-to-shell', `${call.program} would run ${first} from the network`), shown(call))
  return runCall(inner.argv, deeper(within))
}
