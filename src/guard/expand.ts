import { forEachChild, parse, type SyntaxNode, type Word, type WordPart } from 'unbash'
import { expandBraces } from './braces.ts'
import { any, globbed, hole, name, star, taint } from './marks.ts'
import { expandParameter, lookUp } from './parameters.ts'
import { deny, product, remember, type Scope, spend, subshell } from './scope.ts'
import { refuse } from './verdict.ts'

/** A piece of a word: fixed as it stands, to be split at blanks, or a list of its own (`"$@"`). */
type Piece =
  | { kind: 'fixed'; text: string }
  | { kind: 'split'; text: string }
  | { kind: 'list'; list: readonly string[]; split: boolean }

const longest = 65_536

/** The fields a word becomes, one list for each value its variables may have. */
export function expandWord(word: Word, scope: Scope): string[][] {
  if (!word.parts) return [[tilde(word.text, word.value, scope)]]
  if (word.parts.some(part => part.type === 'BraceExpansion')) {
    const texts = expandBraces(word.text)
    if (!texts) return [[hole]]
    // The parser takes some braces for one that the shell would not expand.
    if (!(texts.length === 1 && texts[0] === word.text)) return bracedFields(texts, scope)
  }
  return sequences(word.parts, scope, 'fields').map(pieces => fieldsOf(pieces, scope))
}

/** The text of a word where no fields are made of it: an assignment, a redirection, a here-document. */
export function expandText(word: Word, scope: Scope): string[] {
  if (!word.parts) return [tilde(word.text, word.value, scope)]
  return textOfParts(word.parts, scope)
}

export function textOfParts(parts: readonly WordPart[], scope: Scope): string[] {
  const texts = sequences(parts, scope, 'text').map(pieces => capped(pieces.map(textOf).join('')))
  return [...new Set(texts)]
}

/** All commands in substitutions anywhere below a node. */
export function runSubstitutions(node: SyntaxNode, scope: Scope): void {
  spend(scope, 1)
  if (node.type === 'CommandExpansion' || node.type === 'ProcessSubstitution') {
    substituted(node.script, scope)
    return
  }
  if (node.type === 'ArithmeticCommandExpansion') {
    substituted(node.script, scope)
    return
  }
  forEachChild(node, child => runSubstitutions(child, scope))
}

export function capped(text: string): string {
  return text.length > longest ? taint(text) : text
}

function bracedFields(texts: string[], scope: Scope): string[][] {
  const lists = texts.map(text => {
    spend(scope, 5 + text.length / 50)
    const [statement, more] = parse(`: ${text}`).commands
    const command = statement?.command
    if (more || command?.type !== 'Command') return [[hole]]
    const words = command.args.flatMap(arg => (arg.type === 'Word' ? [arg] : []))
    if (words.length !== command.args.length) return [[text]]
    return product(
      words.map(word => expandPlain(word, scope)),
      parts => parts.flat(),
    )
  })
  return product(lists, parts => parts.flat())
}

function expandPlain(word: Word, scope: Scope): string[][] {
  if (!word.parts) return [[tilde(word.text, word.value, scope)]]
  return sequences(word.parts, scope, 'fields').map(pieces => fieldsOf(pieces, scope))
}

function sequences(parts: readonly WordPart[], scope: Scope, mode: 'fields' | 'text'): Piece[][] {
  spend(scope, parts.length)
  const each = parts.map((part, index) => {
    if (index === 0 && part.type === 'Literal') return [[fixed(tilde(part.text, part.value, scope))]]
    return piecesOf(part, scope, mode).map(piece => [piece])
  })
  return product(each, chosen => chosen.flat())
}

const fixed = (text: string): Piece => ({ kind: 'fixed', text })

/** What a part may be: alternatives. */
function piecesOf(part: WordPart, scope: Scope, mode: 'fields' | 'text'): Piece[] {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return [fixed(part.value)]
    case 'Glob':
      if (mode === 'text') return [fixed(part.text)]
      if (part.kind === 'bracket') runSubstitutions(part, scope)
      return [fixed(part.kind === 'star' ? star : any)]
    case 'ExtendedGlob':
      runSubstitutions(part, scope)
      return [fixed(mode === 'text' ? part.text : star)]
    case 'BraceExpansion':
      runSubstitutions(part, scope)
      return [fixed(part.text)]
    case 'DoubleQuoted':
    case 'LocaleString':
      return product(
        part.parts.map(child => piecesOf(child, scope, 'text').map(piece => [piece])),
        chosen => chosen.flat(),
      ).map(quoted)
    case 'SimpleExpansion':
      return lookUp(part.text.slice(1), scope).map(list => listPiece(part.text.slice(1), list))
    case 'ParameterExpansion': {
      const values = expandParameter(part, scope, word => expandText(word, scope))
      const isAll = /^[@*]$/u.test(part.index?.text ?? '') ? '@' : part.parameter
      return values.map(list => listPiece(isAll, list))
    }
    case 'CommandExpansion':
      return [{ kind: 'split', text: substituted(part.script, scope).replace(/\n+$/u, '') }]
    case 'ArithmeticExpansion':
      runSubstitutions(part, scope)
      return [fixed(name)]
    case 'ProcessSubstitution': {
      const path = `/dev/fd/${part.pos + 100}`
      if (part.operator === '<') remember(scope, path, substituted(part.script, scope))
      else substituted(part.script, { ...scope, stdin: hole })
      return [fixed(path)]
    }
  }
}

function listPiece(variable: string, list: readonly string[]): Piece {
  if (variable === '@' || variable === '*') return { kind: 'list', list, split: true }
  return { kind: 'split', text: list[0] ?? '' }
}

function quoted(pieces: Piece[]): Piece {
  if (!pieces.some(piece => piece.kind === 'list')) return fixed(capped(pieces.map(textOf).join('')))
  const list: string[] = []
  for (const piece of pieces) {
    const [first, ...others] = piece.kind === 'list' ? piece.list : [piece.text]
    if (first === undefined) continue
    list.push(`${list.pop() ?? ''}${first}`, ...others)
  }
  return { kind: 'list', list, split: false }
}

function textOf(piece: Piece): string {
  return piece.kind === 'list' ? piece.list.join(' ') : piece.text
}

function substituted(
  script: Parameters<Scope['session']['run']['script']>[0] | undefined,
  scope: Scope,
): string {
  if (!script) deny(refuse('unreadable', 'a command substitution cannot be read'), '')
  const inner = subshell({ ...scope, stdout: 'captured' })
  return scope.session.run.script(script, inner)
}

function fieldsOf(pieces: Piece[], scope: Scope): string[] {
  const fields: string[] = []
  let open: string | undefined
  const close = () => {
    if (open !== undefined) fields.push(capped(open))
    open = undefined
  }
  const split = (text: string) => {
    const words = globbed(text).split(separators(scope))
    words.forEach((word, index) => {
      if (index > 0) close()
      if (word !== '') open = (open ?? '') + word
    })
  }
  for (const piece of pieces) {
    if (piece.kind === 'fixed') open = (open ?? '') + piece.text
    else if (piece.kind === 'split') split(piece.text)
    else
      piece.list.forEach((element, index) => {
        if (index > 0) close()
        if (piece.split) split(element)
        else open = (open ?? '') + element
      })
  }
  close()
  return fields
}

function separators(scope: Scope): RegExp {
  const chars = (lookUp('IFS', scope)[0]?.[0] ?? '').replace(/[^\s\w,;:|/.=+-]/gu, '')
  return chars === '' ? /(?!)/u : new RegExp(`[${chars.replace(/[-\]\\^/]/gu, '\\$&')}]+`, 'u')
}

/** `~` and `~name` at the start of a word that is not quoted. */
function tilde(text: string, value: string, scope: Scope): string {
  if (!text.startsWith('~')) return value
  const [, who = ''] = /^~([^/:]*)/u.exec(value) ?? []
  const rest = value.slice(1 + who.length)
  const { context } = scope.session
  if (who === '' || who === context.user)
    return `${who ? context.home : (lookUp('HOME', scope)[0]?.[0] ?? hole)}${rest}`
  if (who === '+') return `${scope.state.cwd[0] ?? hole}${rest}`
  if (who === '-') return `${hole}${rest}`
  return /^[\w.-]+$/u.test(who) ? `/home/${who}${rest}` : value
}
