/** The arguments of a program, taken apart as getopt would. */
export type Options = {
  /** `-f`, `--force`, as given; bundles are split. */
  flags: string[]
  values: Map<string, string[]>
  words: string[]
}

/** `valued`: the options that take a value, e.g. '-o --output'. */
export function parseOptions(args: readonly string[], valued = ''): Options {
  const takes = new Set(valued.split(' '))
  const options: Options = { flags: [], values: new Map(), words: [] }
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (arg === '--') {
      options.words.push(...args.slice(at + 1))
      break
    }
    if (arg.startsWith('--')) {
      const equals = arg.indexOf('=')
      const flag = equals === -1 ? arg : arg.slice(0, equals)
      options.flags.push(flag)
      if (equals !== -1) add(options, flag, arg.slice(equals + 1))
      else if (takes.has(flag)) add(options, flag, args[++at] ?? '')
    } else if (/^-[^\d]/u.test(arg)) {
      for (let char = 1; char < arg.length; char++) {
        const flag = `-${arg[char]}`
        options.flags.push(flag)
        if (!takes.has(flag)) continue
        add(options, flag, char + 1 < arg.length ? arg.slice(char + 1) : (args[++at] ?? ''))
        break
      }
    } else options.words.push(arg)
  }
  return options
}

function add(options: Options, flag: string, value: string): void {
  const values = options.values.get(flag)
  if (values) values.push(value)
  else options.values.set(flag, [value])
}

/** Long options may be cut short (`--forc`), as long as they are plain enough to be meant. */
export function has(options: Options, ...wanted: string[]): boolean {
  return options.flags.some(flag =>
    wanted.some(
      want => flag === want || (flag.length >= 4 && flag.startsWith('--') && want.startsWith(flag)),
    ),
  )
}

export function valuesOf(options: Options, ...wanted: string[]): string[] {
  return [...options.values].flatMap(([flag, values]) =>
    wanted.some(want => flag === want || (flag.length >= 4 && flag.startsWith('--') && want.startsWith(flag)))
      ? values
      : [],
  )
}
