/** What a shell must know of the command line. */
export type Grammar = {
  name: string
  options: OptionWord[]
  commands: { name: string; description: string; options: OptionWord[]; words: string[] }[]
}

export type OptionWord = {
  long: string
  short: string
  description: string /** It is followed by a value. */
  takes: boolean
}

/** After an option with a value the shell's own file names are offered. */
export function bashScript({ name, options, commands }: Grammar): string {
  const flags = (list: OptionWord[]) => list.flatMap(({ long, short }) => [long, short]).filter(Boolean)
  const cases = commands.map(
    command =>
      `    ${command.name}) words=${quote([...command.words, ...flags(command.options)].join(' '))} ;;`,
  )
  return `# ${name} completion for bash: source <(${name} completion bash)
_${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      ${valueFlags(options)}) ((i++)) ;;
      -*) ;;
      *) command=\${COMP_WORDS[i]}; break ;;
    esac
  done
  case $previous in
    ${valueFlags([...options, ...commands.flatMap(command => command.options)])}) COMPREPLY=(); return ;;
  esac
  case $command in
    '') words=${quote([...commands.map(command => command.name), ...flags(options)].join(' '))} ;;
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _${name} ${name}
`
}

function valueFlags(options: OptionWord[]): string {
  const flags = options.filter(option => option.takes).flatMap(({ long, short }) => [long, short])
  return [...new Set(flags)].filter(Boolean).join('|')
}

export function zshScript({ name, options, commands }: Grammar): string {
  const spec = ({ long, short, description, takes }: OptionWord) => {
    const value = takes ? ':value:_files' : ''
    const text = `[${plain(description)}]${value}`
    if (!short || !long) return `    ${quote(`${long || short}${text}`)}`
    return `    ${quote(`(${short} ${long})`)}{${short},${long}}${quote(text)}`
  }
  const cases = commands.map(command => {
    const words =
      command.words.length > 0 ? `    ${quote(`1:word:(${command.words.join(' ')})`)}` : `    '*:file:_files'`
    return `      ${command.name})
        _arguments \\
${[...command.options.map(spec), words].map(line => `      ${line}`).join(' \\\n')}
        ;;`
  })
  return `#compdef ${name}
# ${name} completion for zsh: source <(${name} completion zsh)
_${name}() {
  local context state state_descr line
  typeset -A opt_args
  local -a commands
  commands=(
${commands.map(command => `    ${quote(`${command.name}:${plain(command.description)}`)}`).join('\n')}
  )
  _arguments -C \\
${options.map(spec).join(' \\\n')} \\
    '1:command:->command' \\
    '*::argument:->argument'
  case $state in
    command) _describe 'command' commands ;;
    argument)
      case $line[1] in
${cases.join('\n')}
      esac
      ;;
  esac
}
if [ "$funcstack[1]" = "_${name}" ]; then _${name} "$@"; else compdef _${name} ${name}; fi
`
}

export function fishScript({ name, options, commands }: Grammar): string {
  const option = (when: string, { long, short, description, takes }: OptionWord) =>
    [
      `complete -c ${name} -n ${quote(when)}`,
      long ? `-l ${long.replace(/^--/u, '')}` : '',
      short ? `-s ${short.replace(/^-/u, '')}` : '',
      takes ? '-r' : '',
      `-d ${fishQuote(description)}`,
    ]
      .filter(Boolean)
      .join(' ')
  const lines = [
    `# ${name} completion for fish: ${name} completion fish | source`,
    ...options.map(one => option('__fish_use_subcommand', one)),
  ]
  for (const command of commands) {
    const seen = `__fish_seen_subcommand_from ${command.name}`
    lines.push(
      `complete -c ${name} -f -n '__fish_use_subcommand' -a ${command.name} -d ${fishQuote(command.description)}`,
    )
    lines.push(...command.options.map(one => option(seen, one)))
    if (command.words.length > 0)
      lines.push(`complete -c ${name} -f -n ${quote(seen)} -a ${quote(command.words.join(' '))}`)
  }
  return `${lines.join('\n')}\n`
}

/** For sh-like shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Fish knows a backslash inside quotes. */
function fishQuote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

/** Colons and brackets mean something in zsh's own lists. */
function plain(text: string): string {
  return text.replace(/[[\]:]/gu, ' ').replace(/\s+/gu, ' ')
}
