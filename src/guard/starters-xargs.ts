import type { Call } from './call.ts'
import { hole, isUnknown } from './marks.ts'
import { contentOf } from './redirect.ts'
import { deeper, type Scope } from './scope.ts'

const most = 64

/** `xargs`: the arguments come from the input. What is not known of them may be anything. */
export function startXargs(call: Call): string {
  const { scope, args } = call
  const takes = new Set(
    '-a --arg-file -d --delimiter -E -I -J -L --max-lines -n --max-args -P --max-procs -R -s --max-chars -S --process-slot-var'.split(
      ' ',
    ),
  )
  let at = 0
  let replace: string | null = null
  let delimiter: string | RegExp = /\s+/u
  let input = scope.stdin ?? ''
  for (; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (arg === '--') {
      at++
      break
    }
    if (!arg.startsWith('-')) break
    const flag = arg.startsWith('--')
      ? (arg.split('=')[0] ?? arg)
      : takes.has(arg.slice(0, 2))
        ? arg.slice(0, 2)
        : arg
    const value = takes.has(arg) ? (args[++at] ?? '') : arg.slice(flag.length).replace(/^=/u, '')
    if (flag === '-I' || flag === '-J') replace = value
    if (/^-i/u.test(arg) || flag === '--replace') replace = arg.replace(/^-i|^--replace=?/u, '') || '{}'
    if (/^-[a-zA-Z]*0/u.test(arg) || arg === '--null') delimiter = '\0'
    if (flag === '-d' || flag === '--delimiter') delimiter = value === '\\n' ? '\n' : value || ' '
    if (flag === '-a' || flag === '--arg-file') input = contentOf(value, scope)
  }
  if (replace !== null && delimiter !== '\0') delimiter = '\n'
  const items = itemsOf(input, delimiter)
  const command = args.slice(at).length > 0 ? args.slice(at) : ['echo']
  return runItems({ command, items, replace, scope })
}

function itemsOf(input: string, delimiter: string | RegExp): string[] {
  const items = input.split(delimiter).map(item => item.replace(/^\s*(["'])(.*)\1\s*$/su, '$2'))
  const some = [...new Set(items.map(item => item.trim()).filter(item => item !== ''))]
  return some.length > most ? [...some.slice(0, most), hole] : some
}

function runItems(run: {
  command: readonly string[]
  items: string[]
  replace: string | null
  scope: Scope
}): string {
  const { command, items, replace } = run
  const scope = deeper({ ...run.scope, stdin: null })
  if (replace === null) return scope.session.run.call([...command, ...items], scope)
  for (const item of items)
    scope.session.run.call(
      command.map(word => (replace === '' ? word : word.replaceAll(replace, () => item))),
      scope,
    )
  return hole
}

/** `parallel`: a shell text with places for the arguments, or the arguments themselves as commands. */
export function startParallel(call: Call): string {
  const { scope, args } = call
  const takes =
    /^(?:-j|--jobs|-P|-a|--arg-file|--colsep|-C|-I|-N|-n|--max-args|-L|--delay|--timeout|--retries|--joblog|--results|-S|--sshlogin|--tmpdir|--workdir|--wd|--env|-d|--delimiter|--load|--memfree)$/u
  let at = 0
  let place = '{}'
  let input = scope.stdin
  for (; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (!/^-/u.test(arg)) break
    if (!takes.test(arg)) continue
    const value = args[++at] ?? ''
    if (arg === '-I') place = value
    if (arg === '-a' || arg === '--arg-file') input = contentOf(value, scope)
  }
  const marker = args.findIndex((arg, index) => index >= at && /^:::/u.test(arg))
  const command = args.slice(at, marker === -1 ? undefined : marker)
  const given = marker === -1 ? [] : args.slice(marker + 1).filter(arg => !/^:::/u.test(arg))
  const isFiles = marker !== -1 && /^::::/u.test(args[marker] ?? '')
  const items = isFiles
    ? given.flatMap(path => itemsOf(contentOf(path, scope), '\n'))
    : marker === -1
      ? itemsOf(input ?? '', '\n')
      : given
  const within = deeper({ ...scope, stdin: null })
  for (const item of items.slice(0, most)) {
    const text = command.join(' ')
    const filled = text.replaceAll(place, () => item).replace(/\{[./+\d]*\}/gu, () => item)
    within.session.run.text(filled === text ? `${text} ${item}`.trim() : filled, within)
  }
  if (items.length > most || items.some(isUnknown)) within.session.run.text(hole, within)
  return hole
}
