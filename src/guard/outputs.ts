import type { Call } from './call.ts'
import { file, hole, isPlain, isUnknown, name, net, secret, star, taint } from './marks.ts'
import { parseOptions } from './options.ts'
import { decodeEscapes, formatted, readHex, translated } from './outputs-text.ts'
import { baseName, dirName, placesOf } from './paths.ts'
import { contentOf } from './redirect.ts'
import { copied } from './rules/files.ts'
import { remember } from './scope.ts'

/** What a program prints, as far as its arguments and input say. Only what is exact counts; all else may be anything. */
export function outputOf(call: Call): string {
  const print = Object.hasOwn(printers, call.program) ? printers[call.program] : undefined
  const stdin = call.scope.stdin ?? ''
  return print ? print(call, stdin) : taint(stdin)
}

const silent = () => ''
const something = () => name
const fromNetwork = () => net

const printers: Record<string, (call: Call, stdin: string) => string> = {
  ':': silent,
  true: silent,
  false: silent,
  test: silent,
  '[': silent,
  mkdir: silent,
  touch: silent,
  rm: silent,
  cp: follow,
  mv: follow,
  chmod: silent,
  sleep: silent,
  wait: silent,
  kill: silent,
  echo: ({ args }) => {
    const first = args.findIndex(arg => !/^-[neE]+$/u.test(arg))
    const flags = args.slice(0, first === -1 ? undefined : first).join('')
    const text = first === -1 ? '' : args.slice(first).join(' ')
    return (flags.includes('e') ? decodeEscapes(text) : text) + (flags.includes('n') ? '' : '\n')
  },
  printf: ({ args, scope }) => {
    if (args[0] !== '-v') return formatted(args[0] === '--' ? args.slice(1) : args)
    scope.state.vars.set(args[1] ?? '', [[formatted(args.slice(2))]])
    return ''
  },
  yes: ({ args }) => `${args.join(' ') || 'y'}\n`,
  cat: ({ args, scope }, stdin) => {
    const files = args.filter(arg => arg === '-' || !arg.startsWith('-'))
    if (files.length === 0) return stdin
    if (files.every(path => /\.pid$/u.test(path) && contentOf(path, scope) === hole)) return name
    return files.map(path => contentOf(path, scope)).join('')
  },
  tee: ({ args, scope }, stdin) => {
    const files = args.filter(arg => !arg.startsWith('-'))
    for (const place of files.flatMap(text => placesOf(text, scope.state.cwd, scope.session.context)))
      remember(scope, place.path, stdin)
    return stdin
  },
  base64: ({ args }, stdin) => {
    const { words, flags } = parseOptions(args, '-w --wrap -b -i -o')
    if (words.length > 0 && words[0] !== '-') return hole
    if (!isPlain(stdin)) return taint(stdin)
    if (!flags.some(flag => /^-[dD]$|^--d/u.test(flag))) return `${Buffer.from(stdin).toString('base64')}\n`
    return Buffer.from(stdin, 'base64').toString('utf8')
  },
  xxd: ({ args }, stdin) => (/r/u.test(args.join('')) && isPlain(stdin) ? readHex(stdin) : taint(stdin)),
  rev: (_, stdin) => {
    if (!isPlain(stdin)) return taint(stdin)
    return stdin
      .split('\n')
      .map(line => [...line].reverse().join(''))
      .join('\n')
  },
  tr: ({ args }, stdin) =>
    isPlain(stdin + args.join('')) ? (translated(args, stdin) ?? taint(stdin)) : taint(stdin),
  which: ({ args }) => lastWord(args),
  command: ({ args }) => lastWord(args),
  type: ({ args }) => lastWord(args),
  pwd: ({ scope }) => (scope.state.cwd.length === 1 ? `${scope.state.cwd[0]}\n` : hole),
  mktemp: ({ scope, args }) => {
    const { words } = parseOptions(args, '-p --tmpdir --suffix')
    const [template] = words
    const temp = scope.session.context.temp[0] ?? '/tmp'
    if (!template || args.some(arg => /^-t$|^-[pt]|^--tmpdir/u.test(arg))) return `${temp}/tmp.${name}\n`
    return isUnknown(template) ? hole : `${template.replace(/X{3,}/u, name)}\n`
  },
  dirname: ({ args }) => each(args, dirName),
  basename: ({ args }) => {
    const [path = '', suffix = ''] = args.filter(arg => !arg.startsWith('-'))
    return isUnknown(path)
      ? name
      : `${baseName(path).slice(0, suffix && path.endsWith(suffix) ? -suffix.length : undefined)}\n`
  },
  realpath: ({ args }) => each(args, path => path),
  readlink: ({ args }) => each(args, path => path),
  date: something,
  uname: something,
  whoami: something,
  hostname: something,
  id: something,
  nproc: something,
  wc: something,
  expr: something,
  seq: something,
  tty: something,
  sha256sum: something,
  md5sum: something,
  shasum: something,
  stat: something,
  arch: something,
  jobs: something,
  ls: ({ args }) => {
    const words = args.filter(arg => !arg.startsWith('-'))
    return words.length === 0
      ? star
      : words.map(word => (/[\uE001\uE002]/u.test(word) ? word : star)).join('\n')
  },
  git: ({ args, scope }) => {
    const text = args.join(' ')
    if (/\brev-parse\b.*--show-toplevel/u.test(text)) return `${scope.session.context.workspace}\n`
    if (/\b(?:ls-files|--name-only|ls-tree|grep\s.*-l)\b/u.test(text)) return `${file}\n`
    if (/\b(?:rev-parse|describe|rev-list|--show-current|merge-base|symbolic-ref|hash-object)\b/u.test(text))
      return name
    return hole
  },
  grep: ({ args }, stdin) =>
    args.some(arg => /^-[a-zA-Z]*[lL]|^--files-with/u.test(arg)) ? `${file}\n` : taint(stdin),
  rg: ({ args }, stdin) =>
    args.some(arg => /^-[a-zA-Z]*l|^--files/u.test(arg)) ? `${file}\n` : taint(stdin),
  fd: () => `${file}\n`,
  npm: ({ args, scope }) => (args[0] === 'root' ? `${scope.session.context.workspace}/node_modules\n` : hole),
  curl: fromNetwork,
  wget: fromNetwork,
  fetch: fromNetwork,
  aria2c: fromNetwork,
  http: fromNetwork,
  https: fromNetwork,
  xh: fromNetwork,
  lynx: fromNetwork,
  w3m: fromNetwork,
  nc: fromNetwork,
  ncat: fromNetwork,
  netcat: fromNetwork,
  socat: fromNetwork,
  telnet: fromNetwork,
  ftp: fromNetwork,
  ssh: fromNetwork,
  dig: fromNetwork,
  gh: () => hole,
  printenv: ({ args }) => (args.length === 1 ? name : secret),
}

/** A copy holds what the original holds. */
function follow(call: Call): string {
  const copy = copied(call)
  const texts = (copy?.from ?? []).flatMap(path => call.scope.session.files.get(path) ?? [])
  for (const path of copy?.to ?? []) for (const text of texts) remember(call.scope, path, text)
  return ''
}

function each(args: readonly string[], change: (path: string) => string): string {
  return args
    .filter(arg => !arg.startsWith('-'))
    .map(path => (isUnknown(path) ? hole : `${change(path)}\n`))
    .join('')
}

function lastWord(args: readonly string[]): string {
  return `${args.filter(arg => !arg.startsWith('-')).at(-1) ?? ''}\n`
}
