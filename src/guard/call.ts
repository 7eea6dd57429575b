import { show } from './marks.ts'
import { baseName } from './paths.ts'
import type { Scope } from './scope.ts'
import type { Refusal } from './verdict.ts'

/** One program with its arguments, as the shell would start it. */
export type Call = {
  /** Its name without folder and version, in small letters: `/usr/bin/Python3.11` → `python`. */
  program: string
  path: string
  args: readonly string[]
  scope: Scope
}

/** Objections to calls of some programs. */
export type Rule = { programs: readonly string[]; judge(call: Call): Refusal | null }

export const shells: readonly string[] =
  'bash sh zsh dash ksh ash mksh rbash fish csh tcsh yash oksh posh hush'.split(' ')

export const interpreters: readonly string[] =
  'python node perl ruby php deno bun lua osascript pwsh powershell tclsh julia r rscript irb groovy'.split(
    ' ',
  )

export function callOf(argv: readonly string[], scope: Scope): Call {
  const [path = '', ...args] = argv
  return { program: programName(path), path, args, scope }
}

export function programName(path: string): string {
  const plain = baseName(path)
    .toLowerCase()
    .replace(/\.exe$/u, '')
  if (plain === 'nodejs') return 'node'
  const versioned = /^(python|pypy|perl|ruby|php|lua|pip|node|bash|gem|awk)[\d.]+[a-z]?$/u.exec(plain)?.[1]
  if (versioned) return versioned === 'pypy' ? 'python' : versioned
  return gnu.has(plain) ? plain.slice(1) : plain
}

/** GNU programs beside those of the system, as on macOS. */
const gnu = new Set(
  'grm gcp gmv gdd gchmod gchown gfind gxargs gsed gtar gtimeout gnice genv gln gshred gtruncate gtee gcat ghead gtail ginstall gkill gstdbuf gecho gprintf gbase64 grealpath greadlink gmktemp gsplit gsort gchroot'.split(
    ' ',
  ),
)

/** The call in a line, for people. */
export function shown({ path, args }: Call): string {
  return show([path, ...args].join(' '))
}
