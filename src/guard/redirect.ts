import type { Redirection } from 'unbash'
import { capped, expandText, textOfParts } from './expand.ts'
import { hole, net, show } from './marks.ts'
import { placesOf } from './paths.ts'
import { judgeRead } from './reads.ts'
import { deny, remember, type Scope, spend } from './scope.ts'
import { refuse } from './verdict.ts'
import { judgeWrite } from './writes.ts'

/** A scope with its redirections done, and where its output goes. */
export type Opened = { scope: Scope; files: string[]; appends: boolean }

/** Judges what redirections open, and puts what they bring on standard input. */
export function redirect(redirects: readonly Redirection[], scope: Scope): Opened {
  const opened: Opened = { scope: { ...scope }, files: [], appends: false }
  for (const one of redirects) {
    spend(scope, 5)
    if (one.type === 'HereDoc') opened.scope.stdin = documentText(one, scope)
    else if (one.type === 'HereString') {
      const texts = one.target ? expandText(one.target, scope) : ['']
      opened.scope.stdin = `${joined(texts)}\n`
    } else open(one, scope, opened)
  }
  return opened
}

/** What is left of the output: nothing, when it went into a file. */
export function written(opened: Opened, output: string, scope: Scope): string {
  if (opened.files.length === 0) return output
  for (const path of opened.files) {
    if (!opened.appends) remember(scope, path, output)
    else
      for (const before of scope.session.files.get(path) ?? [''])
        remember(scope, path, capped(before + output))
  }
  return ''
}

function documentText(one: Extract<Redirection, { type: 'HereDoc' }>, scope: Scope): string {
  const { body, delimiter } = one
  const text = one.operator === '<<-' ? body.text.replace(/^\t+/gmu, '') : body.text
  if (delimiter?.quoted || !body.parts) return text
  return joined(textOfParts(body.parts, scope))
}

function joined(texts: string[]): string {
  return texts.length === 1 ? (texts[0] ?? '') : texts.join('\n')
}

function open(one: Extract<Redirection, { type: 'Redirect' }>, scope: Scope, opened: Opened): void {
  const descriptor = one.descriptor?.type === 'FileDescriptor' ? one.descriptor.value : undefined
  const isOtherDescriptor = one.descriptor !== undefined && (descriptor ?? 9) > 2
  for (const target of one.target ? expandText(one.target, scope) : [hole]) {
    if (/^\/dev\/(?:tcp|udp)\//u.test(target))
      deny(
        refuse('reverse-shell', `${show(target)} would open a connection to another machine`),
        one.operator,
      )
    if (one.operator.endsWith('&') && /^(?:\d+-?|-)$/u.test(target)) {
      if (one.operator === '<&' && target !== '-') opened.scope.stdin = hole
      continue
    }
    if (one.operator.startsWith('<')) {
      const refusal = judgeRead({ program: '<', text: target, scope, isReader: true })
      if (refusal) deny(refusal, `${one.operator} ${show(target)}`)
      if (!isOtherDescriptor) opened.scope.stdin = contentOf(target, scope)
      if (one.operator === '<') continue
    }
    if (/^\d$/u.test(target) && one.operator === '>&') continue
    const refusal = judgeWrite({ program: one.operator, text: target, scope })
    if (refusal) deny(refusal, `${one.operator} ${show(target)}`)
    if (descriptor === undefined || descriptor === 1 || one.operator.startsWith('&')) {
      opened.scope.stdout = 'file'
      opened.appends = one.operator.endsWith('>>')
      opened.files.push(...placesOf(target, scope.state.cwd, scope.session.context).map(place => place.path))
      if (/^\/dev\/(?:stdout|stderr|tty)$/u.test(target)) opened.scope.stdout = 'shown'
    }
  }
}

/** What is in a file: known only when this command wrote it, and then only once. */
export function contentOf(path: string, scope: Scope): string {
  const texts = contentsOf(path, scope)
  if (texts.length === 1) return texts[0] ?? hole
  return texts.some(text => text.includes(net)) ? net : hole
}

/** All that this command has written to a file: what is run may be any of it. None: the file is not its work. */
export function contentsOf(path: string, scope: Scope): readonly string[] {
  if (path === '/dev/null') return ['']
  if (path === '/dev/stdin' || path === '-') return [scope.stdin ?? hole]
  return placesOf(path, scope.state.cwd, scope.session.context).flatMap(
    place => scope.session.files.get(place.path) ?? [],
  )
}
