import type { ParameterExpansionPart, Word } from 'unbash'
import { env, globbed, hole, isPlain, name, secret, taint } from './marks.ts'
import { globPattern } from './paths.ts'
import type { Scope, Value } from './scope.ts'

const secretName =
  /(?:^|_)(?:api_?key|key|token|secret|password|passwd|pwd|credentials?|pat|auth)s?(?:$|_)|apikey$/iu
const harmless = /^(?:PWD|OLDPWD|SSH_AUTH_SOCK|.*_PUBLIC_KEY|KEY_?FILE)$/u
const numbers =
  /^(?:RANDOM|SRANDOM|SECONDS|UID|EUID|LINENO|BASHPID|EPOCHSECONDS|HOSTNAME|HOSTTYPE|OSTYPE|SHLVL|COLUMNS|LINES|OPTIND)$/u

export function isSecretName(variable: string): boolean {
  return secretName.test(variable) && !harmless.test(variable)
}

/** What a variable holds, as far as this command says. */
export function lookUp(variable: string, { state, session }: Scope): Value {
  if (variable === '0') return state.vars.get('0') ?? [['bash']]
  if (/^\d+$/u.test(variable)) return [[state.positional[Number(variable) - 1] ?? '']]
  if (variable === '@' || variable === '*') return [state.positional]
  if (/^[#?$!]$/u.test(variable)) return [[name]]
  if (variable === '-') return [['']]
  const set = state.vars.get(variable)
  if (set) return set
  if (variable === 'HOME') return [[session.context.home]]
  if (variable === 'PWD') return state.cwd.map(folder => [folder])
  if (variable === 'TMPDIR') return [[session.context.temp[0] ?? '/tmp']]
  if (variable === 'USER' || variable === 'LOGNAME') return [[session.context.user ?? name]]
  if (variable === 'IFS') return [[' \t\n']]
  if (variable === 'SHELL' || variable === 'BASH') return [['/bin/bash']]
  if (variable === 'PPID') return [[hole]]
  if (numbers.test(variable)) return [[name]]
  return [[isSecretName(variable) ? secret : env]]
}

/** `${…}`. `text` expands a word without splitting it. */
export function expandParameter(
  part: ParameterExpansionPart,
  scope: Scope,
  text: (word: Word) => string[],
): Value {
  if (part.operation?.type === 'Names') return [[name]]
  const looked = part.prefix === '!' ? indirect(part.parameter, scope) : lookUp(part.parameter, scope)
  if (part.prefix === '#') return [[name]]
  const chosen = part.index ? looked.map(list => element(list, text(part.index as Word)[0] ?? '')) : looked
  const isList = part.parameter === '@' || part.parameter === '*' || /^[@*]$/u.test(part.index?.text ?? '')
  const value = isList ? chosen : chosen.map(list => [list[0] ?? ''])
  return operate(part, value, scope, text)
}

function indirect(variable: string, scope: Scope): Value {
  return lookUp(variable, scope).flatMap(([target = '']) =>
    isPlain(target) && /^\w+$/u.test(target) ? lookUp(target, scope) : [[secret]],
  )
}

function element(list: readonly string[], index: string): readonly string[] {
  if (index === '@' || index === '*') return list
  if (/^-?\d+$/u.test(index)) return [list.at(Number(index)) ?? '']
  return list.length === 1 && isPlain(list[0] ?? '') ? list : [taint(...list)]
}

function operate(
  part: ParameterExpansionPart,
  value: Value,
  scope: Scope,
  text: (word: Word) => string[],
): Value {
  const { operation } = part
  if (!operation) return value
  const each = (change: (element: string) => string): Value =>
    value.map(list => list.map(element => (isPlain(element) ? change(element) : element)))
  switch (operation.type) {
    case 'Default': {
      const others = text(operation.operand).map(word => [word])
      const isSet = scope.state.vars.has(part.parameter)
      const filled = value.filter(list => list.join('') !== '')
      const kind = operation.operator.replace(':', '')
      if (kind === '?') return value
      if (kind === '+') return [...others, ['']]
      const result = isSet && filled.length === value.length ? value : [...filled, ...others]
      if (kind === '=') scope.state.vars.set(part.parameter, result)
      return result
    }
    case 'Remove': {
      const patterns = text(operation.operand)
      return patterns.flatMap(pattern => each(element => without(element, pattern, operation.operator)))
    }
    case 'Replace': {
      const [pattern = '', replacement = ''] = [text(operation.pattern)[0], text(operation.replacement)[0]]
      return each(element => replaced(element, { pattern, replacement, operator: operation.operator }))
    }
    case 'Slice': {
      const [from = '', length] = [text(operation.offset)[0], operation.length && text(operation.length)[0]]
      const isNumber = /^\s*-?\d+\s*$/u
      if (!isNumber.test(from) || (length !== undefined && !isNumber.test(length)))
        return [[taint(...value.flat())]]
      const end = (all: number) =>
        length === undefined ? all : Number(length) < 0 ? all + Number(length) : Number(from) + Number(length)
      return part.parameter === '@' || part.parameter === '*'
        ? value.map(list => list.slice(Math.max(0, Number(from) - 1), end(list.length)))
        : each(element => element.slice(Number(from), end(element.length)))
    }
    case 'CaseModification': {
      const upper = operation.operator.startsWith('^')
      const change = (letters: string) => (upper ? letters.toUpperCase() : letters.toLowerCase())
      return each(element =>
        operation.operator.length === 2 ? change(element) : change(element.slice(0, 1)) + element.slice(1),
      )
    }
    default:
      return [[taint(...value.flat())]]
  }
}

function without(element: string, pattern: string, operator: string): string {
  if (element.length > 500 || pattern.split('*').length > 4) return hole
  const matcher = globPattern(globbed(pattern), 'text')
  const fromStart = operator.startsWith('#')
  const lengths = Array.from({ length: element.length + 1 }, (_, length) => length)
  if (operator.length === 2) lengths.reverse()
  for (const length of lengths) {
    const piece = fromStart ? element.slice(0, length) : element.slice(element.length - length)
    if (matcher.test(piece))
      return fromStart ? element.slice(length) : element.slice(0, element.length - length)
  }
  return element
}

function replaced(element: string, how: { pattern: string; replacement: string; operator: string }): string {
  if (how.pattern === '') return element
  if (!isPlain(how.pattern) || /[*?[\]]/u.test(how.pattern)) return hole
  if (how.operator === '//') return element.replaceAll(how.pattern, () => how.replacement)
  if (how.operator === '/#')
    return element.startsWith(how.pattern) ? how.replacement + element.slice(how.pattern.length) : element
  if (how.operator === '/%')
    return element.endsWith(how.pattern) ? element.slice(0, -how.pattern.length) + how.replacement : element
  return element.replace(how.pattern, () => how.replacement)
}
