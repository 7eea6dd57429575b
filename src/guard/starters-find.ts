import { type Call, shown } from './call.ts'
import { globbed, star } from './marks.ts'
import { deeper, deny } from './scope.ts'
import { refuse } from './verdict.ts'
import { judgeDelete, judgeWrite } from './writes.ts'

const tests =
  /^-(?:i?name|i?path|i?wholename|i?regex|empty|newer\w*|[acm]time|[acm]min|size|perm|user|inum|i?lname|samefile)$/u

/** `find`: what it deletes itself, and what it starts with the files it finds. Prints those files. */
export function startFind(call: Call): string {
  const { scope, args } = call
  const first = args.findIndex((arg, index) => index >= 0 && /^[-(!]/u.test(arg) && !/^-[HLPOD]/u.test(arg))
  const starts = args.slice(0, first === -1 ? undefined : first).filter(arg => !arg.startsWith('-'))
  const expression = first === -1 ? [] : args.slice(first)
  const roots = starts.length > 0 ? starts : ['.']
  const found = roots.flatMap(root => namesBelow(root, expression))
  for (let at = 0; at < expression.length; at++) {
    const action = expression[at] ?? ''
    if (action === '-delete') {
      for (const text of isNarrowed(expression, at) ? found : roots) {
        const refusal = judgeDelete({ program: 'find', text, scope })
        if (refusal) deny(refusal, shown(call))
      }
    }
    if (/^-f(?:print0?|printf|ls)$/u.test(action)) {
      const refusal = judgeWrite({ program: 'find', text: expression[at + 1] ?? '', scope })
      if (refusal) deny(refusal, shown(call))
    }
    if (/^-files0-from$/u.test(action))
      deny(refuse('obfuscation', 'nobody can know where find would begin'), shown(call))
    if (!/^-(?:exec|execdir|ok|okdir)$/u.test(action)) continue
    const end = expression.findIndex((arg, index) => index > at && (arg === ';' || arg === '+'))
    const command = expression.slice(at + 1, end === -1 ? undefined : end)
    for (const item of isNarrowed(expression, at) ? found : roots.map(root => rest(root, expression)))
      scope.session.run.call(
        command.map(word => word.replaceAll('{}', () => item)),
        deeper({ ...scope, stdin: null }),
      )
    at += command.length
  }
  return `${found.join(expression.includes('-print0') ? '\0' : '\n')}\n`
}

/** Something but the kind of file chooses what this action is done to. */
function isNarrowed(expression: readonly string[], action: number): boolean {
  const before = expression.slice(0, action)
  const or = Math.max(before.lastIndexOf('-o'), before.lastIndexOf('-or'), before.lastIndexOf(','))
  const branch = before.slice(or + 1)
  if (branch.some(arg => arg === '!' || arg === '-not')) return false
  return branch.some((arg, index) => tests.test(arg) && !/^[*.?]*$/u.test(branch[index + 1] ?? 'x'))
}

/** The names it prints: by pattern where there is one. */
function namesBelow(root: string, expression: readonly string[]): string[] {
  const isOpen = expression.some(arg => arg === '!' || arg === '-not')
  const names = expression.flatMap((arg, index) =>
    /^-(?:i?name|i?path|i?wholename)$/u.test(arg) ? [globbed(expression[index + 1] ?? '*')] : [],
  )
  if (isOpen || names.length === 0) {
    const isNarrow = !isOpen && expression.some(arg => tests.test(arg))
    return [isNarrow ? `${root}/some${star}` : rest(root, expression)]
  }
  return names.map(pattern => `${root}/${pattern.slice(pattern.lastIndexOf('/') + 1)}`)
}

/** Everything below, or the folder with it. */
function rest(root: string, expression: readonly string[]): string {
  const isBelow = expression.some(
    (arg, index) => arg === '-mindepth' || (arg === '-type' && expression[index + 1] === 'f'),
  )
  return isBelow ? `${root}/${star}` : root
}
