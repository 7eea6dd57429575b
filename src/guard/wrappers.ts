import type { Call } from './call.ts'
import { parseOptions } from './options.ts'

/** A program that starts another one: which of its options take a value, and how many words come before the command. */
type Wrapper = { valued?: string; words?: number; assigns?: boolean; sub?: readonly string[]; none?: string }

const table: Record<string, Wrapper> = {
  env: { valued: '-u --unset -C --chdir -S --split-string -a --argv0', assigns: true },
  command: { none: '-v -V' },
  builtin: {},
  exec: { valued: '-a' },
  nohup: {},
  setsid: {},
  time: { valued: '-f -o --format --output' },
  nice: { valued: '-n --adjustment' },
  ionice: { valued: '-c -n -t --class --classdata', none: '-p --pid' },
  timeout: { valued: '-s -k --signal --kill-after', words: 1 },
  stdbuf: { valued: '-i -o -e --input --output --error' },
  chrt: { words: 1, valued: '-T -P -D', none: '-p --pid' },
  taskset: { words: 1, none: '-p --pid' },
  setarch: { words: 1 },
  linux32: {},
  linux64: {},
  numactl: { valued: '-N -m -C -i --cpunodebind --membind --physcpubind --interleave' },
  prlimit: { valued: '-p --pid' },
  cpulimit: { valued: '-l -p -e -P --limit' },
  unbuffer: {},
  chronic: {},
  caffeinate: { valued: '-t -w' },
  fakeroot: { valued: '-l -s -i -b' },
  faketime: { words: 1 },
  proxychains: { valued: '-f' },
  proxychains4: { valued: '-f' },
  torsocks: {},
  rlwrap: { valued: '-a -b -c -f -H -p -s -S' },
  strace: { valued: '-a -b -e -E -I -o -O -p -P -s -S -u -X' },
  ltrace: { valued: '-a -e -l -n -o -p -s -u -x' },
  valgrind: {},
  'xvfb-run': { valued: '-e -f -n -p -s -w --error-file --auth-file --server-num --server-args --wait' },
  'dbus-run-session': {},
  'ssh-agent': { valued: '-a -t -E -O -P' },
  'systemd-inhibit': {},
  'cross-env': { assigns: true },
  'cross-env-shell': { assigns: true },
  dotenv: { valued: '-e -v -p -c' },
  dotenvx: { sub: ['run'], valued: '-f -e' },
  busybox: {},
  toybox: {},
  npx: { valued: '-p --package -w --workspace' },
  bunx: { valued: '-p --package' },
  pnpx: { valued: '--package' },
  uvx: { valued: '--from --with -p --python' },
  pipx: { sub: ['run'], valued: '--spec --python' },
  npm: { sub: ['exec', 'x'], valued: '-p --package -w --workspace' },
  pnpm: { sub: ['exec', 'dlx'], valued: '--package -C --dir -F --filter' },
  yarn: { sub: ['exec', 'dlx', 'run'], valued: '-p --package --cwd' },
  bun: { sub: ['x'] },
  bundle: { sub: ['exec'] },
  poetry: { sub: ['run'], valued: '-C --directory' },
  pipenv: { sub: ['run'] },
  pdm: { sub: ['run'] },
  hatch: { sub: ['run'] },
  rye: { sub: ['run'] },
  uv: { sub: ['run'], valued: '--with -p --python --directory --project --env-file' },
  mise: { sub: ['exec', 'x'] },
  asdf: { sub: ['exec'] },
  rbenv: { sub: ['exec'] },
  pyenv: { sub: ['exec'] },
  corepack: {},
  doppler: { sub: ['run'], valued: '-p -c --project --config' },
  direnv: { sub: ['exec'], words: 1 },
  perf: { sub: ['stat', 'record'], valued: '-e -o' },
  sudo: { valued: '-u -g -h -p -C -D -r -t -T -U --user --group', assigns: true },
  doas: { valued: '-u -C' },
  gosu: { words: 1 },
  screen: { valued: '-S -c -s -t -h -T -p -X -r -x' },
  retry: { valued: '-t -d -m --tries --delay' },
  eatmydata: {},
}

export type Inner = { argv: string[]; chdir: string | null; assigns: string[] }

/** The command inside a wrapper; null when the call is not one or starts nothing. */
export function unwrapped(call: Call): Inner | null {
  const wrapper = Object.hasOwn(table, call.program) ? table[call.program] : undefined
  if (!wrapper) return null
  const takes = new Set((wrapper.valued ?? '').split(' '))
  const stops = new Set((wrapper.none ?? '').split(' '))
  const assigns: string[] = []
  let chdir: string | null = null
  let words = (wrapper.words ?? 0) + (wrapper.sub ? 1 : 0)
  const { args } = call
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (arg === '--') continue
    if (stops.has(arg) || (stops.has('-v') && /^-[pvV]*[vV]/u.test(arg))) return null
    if (arg.startsWith('-') && arg !== '-') {
      const [, text] = call.program === 'env' ? (/^-[a-zA-Z0]*S(.*)$/su.exec(arg) ?? []) : []
      if (text !== undefined)
        return {
          argv: splitAgain([text || (args[at + 1] ?? ''), ...args.slice(text ? at + 1 : at + 2)]),
          chdir,
          assigns,
        }
      const flag = optionName(arg, takes)
      const isApart = takes.has(arg) || isCluster(arg, takes)
      const value = isApart ? (args[++at] ?? '') : arg.slice(flag.length).replace(/^=/u, '')
      if (flag === '--split-string')
        return { argv: splitAgain([value, ...args.slice(at + 1)]), chdir, assigns }
      if (call.program === 'env' && /^(?:-C|--chdir)$/u.test(flag)) chdir = value
      continue
    }
    if (arg === '-' && call.program === 'env') continue
    if (wrapper.assigns && /^\w+=/u.test(arg)) assigns.push(arg)
    else if (words > 0) {
      if (words === (wrapper.words ?? 0) + 1 && wrapper.sub && !wrapper.sub.includes(arg)) return null
      words--
    } else return { argv: args.slice(at), chdir, assigns }
  }
  return null
}

/** What `env -S` does with its first word; assignments may stand in it. */
function splitAgain([first = '', ...others]: string[]): string[] {
  return ['env', ...first.trim().split(/\s+/u), ...others]
}

/** `-dmS name`: the last letter takes the next word. */
function isCluster(arg: string, takes: Set<string>): boolean {
  return /^-[a-zA-Z]{2,}$/u.test(arg) && !takes.has(arg.slice(0, 2)) && takes.has(`-${arg.at(-1)}`)
}

/** `-n5` and `--kill-after=3` carry their value in the same word. */
function optionName(arg: string, takes: Set<string>): string {
  if (arg.startsWith('--')) return arg.split('=')[0] ?? arg
  return takes.has(arg.slice(0, 2)) ? arg.slice(0, 2) : arg
}

/** The command that npx and its like are given as text. */
export function calledText(call: Call): string | null {
  if (!/^(?:npx|npm|pnpm|bunx)$/u.test(call.program)) return null
  const { values, words } = parseOptions(call.args, '-c --call -p --package')
  if (call.program === 'npm' && !/^(?:exec|x)$/u.test(words[0] ?? '')) return null
  return values.get('-c')?.[0] ?? values.get('--call')?.[0] ?? null
}
