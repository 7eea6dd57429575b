import type { Call } from './call.ts'
import { hole, isUnknown } from './marks.ts'
import { isSecretName } from './parameters.ts'
import { normal } from './paths.ts'
import { deny, limited } from './scope.ts'
import { type Refusal, refuse } from './verdict.ts'

/** Commands of the shell that change its own state. Each answers what it prints. */
export const builtins: Record<string, (call: Call) => string> = {
  cd: call => goTo(call, call.args.filter(arg => !/^-[LPe@]+$|^--$/u.test(arg))[0] ?? '~'),
  pushd: call => goTo(call, call.args[0] ?? '-'),
  popd: call => goTo(call, '-'),
  export: declare,
  declare,
  typeset: declare,
  local: declare,
  readonly: declare,
  unset: call => {
    for (const variable of call.args) {
      if (/^HIST/u.test(variable) || keepers.test(variable))
        deny(refuse('guard-tamper', `unset ${variable} would hide what is done here`), `unset ${variable}`)
      call.scope.state.vars.set(variable, [['']])
    }
    return ''
  },
  read: readVariables,
  mapfile: readVariables,
  readarray: readVariables,
  getopts: call => {
    for (const variable of [call.args[1], 'OPTARG'])
      if (variable) call.scope.state.vars.set(variable, [[hole]])
    return ''
  },
  set: call => {
    const end = call.args.indexOf('--')
    const first = call.args.findIndex(arg => !/^[-+]/u.test(arg))
    if (end !== -1) call.scope.state.positional = call.args.slice(end + 1)
    else if (first !== -1 && !/^[-+][a-z]*o$/u.test(call.args[first - 1] ?? ''))
      call.scope.state.positional = call.args.slice(first)
    return ''
  },
  shift: call => {
    call.scope.state.positional = call.scope.state.positional.slice(Number(call.args[0] ?? 1) || 1)
    return ''
  },
  exit: ended,
  return: ended,
  alias: call => {
    for (const arg of call.args) {
      const [, name, value = ''] = /^([^=]+)=(.*)$/su.exec(arg) ?? []
      if (name === undefined) continue
      call.scope.state.aliases.set(name, value)
      call.scope.session.run.text(value, { ...call.scope, stdin: null, stdout: 'shown' })
    }
    return ''
  },
}

function ended(call: Call): string {
  call.scope.state.ended = true
  return ''
}

function goTo({ scope }: Call, target: string): string {
  const { state, session } = scope
  const to = target === '~' ? (state.vars.get('HOME')?.[0]?.[0] ?? session.context.home) : target
  if (to === '-' || /^[-+]\d+$/u.test(to)) state.cwd = [hole]
  else state.cwd = [...new Set(state.cwd.map(from => joined(from, to)))]
  return ''
}

function joined(from: string, to: string): string {
  const path = /^[/\uE000\uE003\uE004\uE007]/u.test(to) ? to : `${from}/${to}`
  // What follows `..` after an unknown part cannot be told, so it stays as it is.
  return isUnknown(path) ? path : normal(path)
}

function declare(call: Call): string {
  const flags = call.args.filter(arg => /^[-+]/u.test(arg)).join('')
  for (const arg of call.args) {
    const [, variable, plus, value = ''] = /^(\w+)(?:\[[^\]]*\])?(\+?)=(.*)$/su.exec(arg) ?? []
    if (variable === undefined) continue
    const refusal = judgeAssignment(variable, value, call)
    if (refusal) deny(refusal, arg)
    const before = plus ? (call.scope.state.vars.get(variable) ?? [['']]) : [['']]
    call.scope.state.vars.set(variable, limited(before.map(([old = '']) => [old + value])))
  }
  const names = call.args.filter(arg => /^\w+$/u.test(arg))
  const prints =
    call.args.every(arg => /^[-+]/u.test(arg)) || (flags.includes('p') && names.some(isSecretName))
  if (prints && !/[fF]/u.test(flags))
    deny(
      refuse('env-dump', `${call.program} would print every variable`),
      `${call.program} ${call.args.join(' ')}`,
    )
  return ''
}

function readVariables(call: Call): string {
  const names = call.args.filter(
    (arg, index) => /^\w+$/u.test(arg) && !/^-[adinNptu]$/u.test(call.args[index - 1] ?? ''),
  )
  const text = call.scope.stdin
  const isKnown = text !== null && !isUnknown(text)
  const lines = isKnown ? text.split('\n').filter(line => line !== '') : []
  const values =
    lines.length > 0 && names.length <= 1
      ? limited(lines.map(line => [line]))
      : [[text === '' ? '' : (text ?? hole)]]
  const fallback = names.length > 1 && isKnown ? limited(text.split(/\s+/u).map(word => [word])) : values
  for (const variable of names.length > 0 ? names : ['REPLY', 'MAPFILE'])
    call.scope.state.vars.set(variable, fallback)
  return ''
}

const keepers =
  /^(?:CLAUDE_(?:CONFIG_DIR|PROJECT_DIR|PLUGIN_\w+|CODE_\w+)|CLAUDECODE|CODEX_HOME|GEMINI_CLI_\w+|COPILOT_(?:HOME|PLUGIN_ROOT)|OPENCODE_CONFIG\w*|RALPH_(?:WORKSPACE|GUARD_\w+|PID))$/u
const loaders =
  /^(?:LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PROMPT_COMMAND|PERL5OPT|RUBYOPT|PYTHONSTARTUP)$/u
const commands =
  /^(?:GIT_(?:SSH|SSH_COMMAND|EXTERNAL_DIFF|PAGER|EDITOR|SEQUENCE_EDITOR|ASKPASS|PROXY_COMMAND)|EDITOR|VISUAL|PAGER|MANPAGER|LESSOPEN|SUDO_ASKPASS|SSH_ASKPASS|RSYNC_RSH|PS4)$/u

/** Variables that change which programs run, or who watches them. */
export function judgeAssignment(
  variable: string,
  value: string,
  { scope }: Pick<Call, 'scope'>,
): Refusal | null {
  if (keepers.test(variable))
    return refuse('guard-tamper', `${variable} says where Ralph and the agent find their settings`)
  if (loaders.test(variable) && value !== '')
    return refuse('guard-tamper', `${variable} would load code into every program`)
  if (/^HIST(?:FILE|SIZE|CONTROL)$/u.test(variable) && /^(?:\/dev\/null|0|)$/u.test(value))
    return refuse('guard-tamper', `${variable} would hide what is done here`)
  if (/^GIT_CONFIG/u.test(variable) && !/^(?:\/dev\/null|1)$/u.test(value))
    return refuse('guard-tamper', `${variable} would change how git works`)
  if (
    variable === 'NODE_OPTIONS' &&
    /(?:^|\s)(?:-r|--require|--import|--loader|--experimental-loader)/u.test(value)
  )
    return refuse('guard-tamper', 'NODE_OPTIONS would load code into every Node program')
  if (variable === 'PATH') {
    const temp = scope.session.context.temp
    const bad = value
      .split(':')
      .find(part => part === '.' || temp.some(folder => `${part}/`.startsWith(`${folder}/`)))
    if (bad) return refuse('guard-tamper', `PATH would find programs in ${bad} first`)
  }
  if (commands.test(variable) && value !== '') scope.session.run.text(value, { ...scope, stdin: null })
  return null
}
