import { type Call, interpreters, shells, shown } from './call.ts'
import { codeOf, judgeCode } from './code.ts'
import { hole, isUnknown, net, show } from './marks.ts'
import { parseOptions, valuesOf } from './options.ts'
import { contentsOf } from './redirect.ts'
import { copyOf, deeper, deny, type Scope, subshell } from './scope.ts'
import { startFind } from './starters-find.ts'
import { startParallel, startXargs } from './starters-xargs.ts'
import { refuse } from './verdict.ts'

/** Programs that run text or other programs which stand in their arguments or input. null: nothing is known to be printed. */
export function startOthers(call: Call): string | null {
  if (shells.includes(call.program)) return startShell(call)
  if (interpreters.includes(call.program)) return startInterpreter(call)
  const start = Object.hasOwn(starters, call.program) ? starters[call.program] : undefined
  return start ? start(call) : null
}

const starters: Record<string, (call: Call) => string | null> = {
  eval: call => runText(call.args.join(' '), call.scope),
  source: startSource,
  '.': startSource,
  trap: call => {
    const [code = ''] = call.args.filter(arg => arg !== '--')
    if (!code.startsWith('-') && code !== '') runText(code, subshell(call.scope))
    return ''
  },
  xargs: startXargs,
  parallel: startParallel,
  sem: startParallel,
  find: startFind,
  watch: call => runText(parseOptions(call.args, '-n --interval').words.join(' '), call.scope),
  script: call =>
    texts(call, valuesOf(parseOptions(call.args, '-c --command -E -I -O -B'), '-c', '--command')),
  flock: call => {
    const { words, values } = parseOptions(call.args, '-c --command -w --timeout -E --conflict-exit-code')
    const code = values.get('-c') ?? values.get('--command')
    return code ? texts(call, code) : call.scope.session.run.call(words.slice(1), deeper(call.scope))
  },
  entr: call => call.scope.session.run.call(parseOptions(call.args).words, deeper(call.scope)),
  tar: call => {
    const { values } = parseOptions(call.args, '-I --use-compress-program')
    const actions = (values.get('--checkpoint-action') ?? []).map(text => text.replace(/^exec=/u, ''))
    const others = ['--to-command', '-I', '--use-compress-program', '--rsh-command', '--info-script', '-F']
    return texts(call, [
      ...actions.filter(text => !/^(?:dot|echo|bell|ttyout|sleep)/u.test(text)),
      ...others.flatMap(flag => values.get(flag) ?? []),
    ])
  },
  split: call => texts(call, valuesOf(parseOptions(call.args), '--filter')),
  sort: call => texts(call, valuesOf(parseOptions(call.args), '--compress-program')),
  rsync: call => texts(call, valuesOf(parseOptions(call.args, '-e --rsh'), '-e', '--rsh', '--rsync-path')),
  ssh: startSsh,
  tmux: startTerminal,
  expect: call => (call.args.some(arg => arg.startsWith('-c')) ? hidden(call) : null),
  gdb: call => {
    const codes = valuesOf(
      parseOptions(
        call.args.map(arg => arg.replace(/^-(?=ex$)/u, '--')),
        '--ex',
      ),
      '--ex',
    )
    return texts(
      call,
      codes.flatMap(code => /^\s*(?:shell|!)\s*(.*)$/su.exec(code)?.[1] ?? []),
    )
  },
  make: startMake,
  gmake: startMake,
  vim: startEditor,
  vi: startEditor,
  nvim: startEditor,
  ex: startEditor,
  ed: startEditor,
  emacs: call => (/shell-command|call-process|delete-/u.test(call.args.join(' ')) ? hidden(call) : null),
  sqlite3: call => {
    const code = [...call.args, call.scope.stdin ?? ''].join('\n')
    for (const [, command = ''] of code.matchAll(/^\s*\.(?:shell|system)\s+(.*)$/gmu))
      runText(command, call.scope)
    return null
  },
  awk: startAwk,
  gawk: startAwk,
  mawk: startAwk,
  nawk: startAwk,
  sed: call => {
    const { values, words } = parseOptions(call.args, '-e --expression -f --file -l --line-length')
    const codes = [...(values.get('-e') ?? []), ...(values.get('--expression') ?? [])]
    for (const code of codes.length > 0 ? codes : words.slice(0, 1)) if (startsProgram(code)) hidden(call)
    return null
  },
}

export function runText(text: string, scope: Scope): string {
  return scope.session.run.text(text, deeper(scope))
}

function texts(call: Call, codes: readonly string[]): null {
  for (const code of codes) runText(code, subshell(call.scope))
  return null
}

function hidden(call: Call): never {
  deny(refuse('obfuscation', `${call.program} would run commands that cannot be judged`), shown(call))
}

function startShell(call: Call): string | null {
  const { scope, args } = call
  let at = 0
  let isCode = false
  let isInput = false
  for (; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (arg === '--' || arg === '-') {
      at++
      break
    }
    if (!/^[-+]/u.test(arg)) break
    if (/^--(?:rcfile|init-file)$/u.test(arg)) at++
    if (arg.startsWith('--')) continue
    if (arg.includes('c')) isCode = true
    if (arg.includes('s')) isInput = true
    at += arg.replace(/[^oO]/gu, '').length
  }
  const rest = args.slice(at)
  const state = { ...copyOf(scope.state), positional: rest.slice(isCode ? 2 : 1) }
  if (isCode && rest[1] !== undefined) state.vars.set('0', [[rest[1]]])
  const within = { ...scope, state, forks: scope.forks + 1 }
  if (isCode) return rest.length === 0 ? '' : runText(rest[0] ?? '', within)
  const [script] = rest
  if (isInput || script === undefined) {
    if (scope.stdin === null) return hole
    return runText(scope.stdin, { ...within, stdin: null, state: { ...state, positional: rest } })
  }
  if (isUnknown(script)) hidden(call)
  const texts = contentsOf(script, scope)
  if (texts.length === 0 && script.startsWith('/dev/')) hidden(call)
  for (const text of texts) runText(text, { ...within, state: copyOf(state) })
  return hole
}

function startSource(call: Call): string {
  const { scope, args } = call
  const [path = ''] = args
  const texts = contentsOf(path, scope)
  if (texts.length === 0 && (path.startsWith(hole) || path.startsWith('/dev/'))) hidden(call)
  return texts.map(text => runText(text, scope)).join('')
}

function startInterpreter(call: Call): string {
  const { scope, program } = call
  const { codes, script, readsInput } = codeOf(call)
  for (const code of codes) judgeCode(program, code, scope)
  if (script !== null) {
    if (/^(?:https?|data):/u.test(script))
      deny(refuse('pipe-to-shell', `${program} would run ${show(script)} from the network`), shown(call))
    const texts = contentsOf(script, scope)
    if (texts.length === 0 && script.startsWith('/dev/')) hidden(call)
    for (const text of texts) judgeCode(program, text, scope)
  }
  if (readsInput && scope.stdin !== null) judgeCode(program, scope.stdin, scope)
  return (scope.stdin ?? '').includes(net) ? net : hole
}

/** On another machine other things are dangerous, but these are as well. */
function startSsh(call: Call): null {
  const { values, words } = parseOptions(
    call.args,
    '-o -i -p -l -F -J -L -R -D -b -c -E -I -m -O -Q -S -w -W',
  )
  for (const option of values.get('-o') ?? []) {
    const [, command] =
      /^(?:ProxyCommand|LocalCommand|KnownHostsCommand)\s*[= ]\s*(.*)$/isu.exec(option) ?? []
    if (command) runText(command, call.scope)
  }
  if (words.length > 1) runText(words.slice(1).join(' '), subshell({ ...call.scope, stdin: null }))
  return null
}

/** Commands for a terminal of its own, or keys for one. */
function startTerminal(call: Call): null {
  const { words } = parseOptions(call.args, '-L -S -f -t -s -n -c -x -y -F -e -T -p -l')
  if (!/^(?:new|split|run|send|if|pipe|respawn)/u.test(words[0] ?? '')) return null
  return texts(call, [words.slice(1).join(' ')])
}

/** Only what comes on the input or was just written can be seen; the project's own Makefile is the project's. */
function startMake(call: Call): null {
  const { values, words } = parseOptions(call.args, '-f --file --makefile -C --directory -j -l -o -W -I')
  for (const word of [...words, ...valuesOf({ flags: [], values, words }, '--eval')])
    if (/^(?:SHELL|MAKESHELL|\.SHELLFLAGS)\s*[:?]?=/u.test(word)) hidden(call)
  for (const path of [
    ...(values.get('-f') ?? []),
    ...(values.get('--file') ?? []),
    ...(values.get('--makefile') ?? []),
  ]) {
    const texts = contentsOf(path, call.scope)
    if (texts.length === 0 && path.startsWith('/dev/')) hidden(call)
    if (texts.some(isUnknown)) hidden(call)
    for (const line of texts.join('\n').split('\n')) {
      if (line.length > 4000) hidden(call)
      const [, recipe] = /^(?:\t|[^\s#=]+:[^=]*;)[@+-]*\s*(.*)$/u.exec(line) ?? []
      if (recipe) runText(recipe.replaceAll('$$', '$'), subshell(call.scope))
      for (const [, inner = ''] of line.matchAll(/\$\(shell\s+([^)]*)\)/gu))
        runText(inner, subshell(call.scope))
    }
  }
  return null
}

function startEditor(call: Call): null {
  const { values } = parseOptions(call.args, '-c -S -u --cmd -t')
  const codes = [
    ...(values.get('-c') ?? []),
    ...(values.get('--cmd') ?? []),
    ...call.args.filter(arg => arg.startsWith('+')),
  ]
  for (const code of [
    ...codes,
    ...(call.program === 'ed' || call.program === 'ex' ? [call.scope.stdin ?? ''] : []),
  ]) {
    for (const [, command = ''] of code.matchAll(/(?:^|[|:+\s\d%$.])!\s*([^\n]+)/gu))
      runText(command, call.scope)
    if (/\bsystem\s*\(|os\.execute|delete\s*\(/u.test(code)) hidden(call)
  }
  return null
}

/** GNU sed runs the command after `e`, or what a substitution with that flag has made. */
function startsProgram(code: string): boolean {
  let isFlagged = false
  const rest = code.replace(
    /(^|[;{}\n\d$/!\s])[sy]([^\w\s;])(?:\\.|(?!\2)[^\\])*\2(?:\\.|(?!\2)[^\\])*\2(\w*)/gsu,
    (_, before: string, __, flags: string) => {
      isFlagged ||= flags.includes('e')
      return before
    },
  )
  return isFlagged || /(?:^|[;{}\n\d$/!])\s*e(?:\s+\S|\s*$)/u.test(rest)
}

function startAwk(call: Call): string {
  const { values, words } = parseOptions(call.args, '-F -v -f -e --source --file --assign --field-separator')
  const codes = [...(values.get('-e') ?? []), ...(values.get('--source') ?? [])]
  const files = [...(values.get('-f') ?? []), ...(values.get('--file') ?? [])]
  if (files.length === 0 && codes.length === 0) codes.push(words[0] ?? '')
  for (const code of [...codes, ...files.flatMap(path => contentsOf(path, call.scope))])
    judgeCode('awk', code, call.scope)
  return (call.scope.stdin ?? '').includes(net) ? net : hole
}
