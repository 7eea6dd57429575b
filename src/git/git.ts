import { spawn } from 'node:child_process'
import path from 'node:path'
import { UserError } from '../core/errors.ts'
import { decode, encode } from './bytes.ts'
import type { Runner } from './runner.ts'

/** Where a git process works: its folder and the variables that name its git directory, index and objects. */
export type Place = { cwd: string; env?: Record<string, string>; runner?: Runner }

export type GitOptions = {
  stdin?: string
  env?: Record<string, string>
  /** Read the user's own global and system configuration too. Only for finding the repository and reading settings. */
  userConfig?: boolean
  /** Bytes of output after which the process is ended. */
  limit?: number
  /** Milliseconds. A named pipe in place of `.gitignore` would block git for ever. */
  timeout?: number
}

/** Output is text in which every byte survives (see bytes.ts). */
export type GitResult = { code: number; stdout: string; stderr: string }

/** The only caller of git: no shell, no program named by anybody's configuration, no network, no questions. */
export async function git(place: Place, args: string[], options: GitOptions = {}): Promise<GitResult> {
  const limit = options.limit ?? 256 * 1024 * 1024
  const timeout = options.timeout ?? 600_000
  if (place.runner && !options.userConfig) {
    const stdin = options.stdin === undefined ? null : encode(options.stdin)
    const call = { cwd: place.cwd, env: { ...place.env, ...options.env }, args, stdin, timeout, limit }
    const result = await place.runner.run(call)
    if (result === 'timeout') throw didNotEnd(args)
    if (result === 'too-much') throw printedTooMuch(args, limit)
    if (result.code === 127) throw notFound()
    return { code: result.code, stdout: decode(result.stdout), stderr: decode(result.stderr) }
  }
  const env = { ...gitEnvironment(place.cwd, options.userConfig ?? false), ...place.env, ...options.env }
  return new Promise((resolve, reject) => {
    const child = spawn('git', args, {
      cwd: place.cwd,
      env,
      stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
    const stop = (problem: UserError) => {
      child.kill('SIGKILL')
      reject(problem)
    }
    const timer = setTimeout(() => stop(didNotEnd(args)), timeout)
    const out: Buffer[] = []
    const err: Buffer[] = []
    let size = 0
    const collect = (into: Buffer[]) => (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) stop(printedTooMuch(args, limit))
      else into.push(chunk)
    }
    child.stdout?.on('data', collect(out))
    child.stderr?.on('data', collect(err))
    child.on('error', error => {
      clearTimeout(timer)
      reject(startError(error))
    })
    child.on('close', code => {
      clearTimeout(timer)
      resolve({ code: code ?? 128, stdout: decode(Buffer.concat(out)), stderr: decode(Buffer.concat(err)) })
    })
    if (options.stdin !== undefined) {
      // A git that ended early closes the pipe; its exit code says why.
      child.stdin?.on('error', () => undefined)
      child.stdin?.end(encode(options.stdin))
    }
  })
}

/** As `git`, for calls that have no business failing. */
export async function mustGit(place: Place, args: string[], options: GitOptions = {}): Promise<string> {
  const result = await git(place, args, options)
  if (result.code === 0) return result.stdout
  const why = result.stderr.trim().split('\n').slice(0, 3).join(' ') || `exit code ${result.code}`
  throw new UserError(
    `git ${args[0]} failed: ${why}`,
    'See what `git status` and `git fsck` say, then run Ralph again.',
  )
}

/** The NUL-separated list that git prints with `-z`. */
export function fields(output: string): string[] {
  const list = output.split('\0')
  if (list.at(-1) === '') list.pop()
  return list
}

/**
 * An agent may have written `.git/config`. Values given here win over every file. Filters (`filter.*`), named hooks of a
 * new git and `include` cannot be switched off by name: that is why all that touches files runs in a private git
 * directory (private-dir.ts) and only references and the user's index are handled in the real one.
 */
const configuration: Record<string, string> = {
  'core.fsmonitor': 'false',
  'core.hooksPath': '/dev/null',
  'hook.reference-transaction.enabled': 'false',
  'hook.post-index-change.enabled': 'false',
  'hook.post-checkout.enabled': 'false',
  'core.sshCommand': '/bin/false',
  'core.askPass': '/bin/false',
  'core.gitProxy': '',
  'core.alternateRefsCommand': '/bin/false',
  'core.editor': '/bin/false',
  'core.pager': 'cat',
  'credential.helper': '',
  'diff.external': '',
  'gpg.program': '/bin/false',
  'gpg.ssh.program': '/bin/false',
  'gpg.x509.program': '/bin/false',
  'commit.gpgSign': 'false',
  'log.showSignature': 'false',
  'protocol.allow': 'never',
  'protocol.ext.allow': 'never',
  'core.commitGraph': 'false',
  'core.trustctime': 'true',
  'core.checkStat': 'default',
  'core.ignoreStat': 'false',
  'core.safecrlf': 'false',
  'submodule.recurse': 'false',
  'gc.auto': '0',
  'maintenance.auto': 'false',
}

const configurationEnv: Record<string, string> = Object.fromEntries([
  ['GIT_CONFIG_COUNT', String(Object.keys(configuration).length)],
  ...Object.entries(configuration).flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]),
])

const inherited = ['HOME', 'XDG_CONFIG_HOME', 'TMPDIR', 'USER', 'LOGNAME', 'SYSTEMROOT', 'TZ']
const inheritedConfig = ['GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM', 'GIT_CONFIG_NOSYSTEM']

export function gitEnvironment(cwd: string, userConfig: boolean): Record<string, string> {
  const env: Record<string, string> = {
    PATH: safePath(process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin', cwd),
    LC_ALL: 'C',
    ...configurationEnv,
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '/bin/false',
    GIT_SSH_COMMAND: '/bin/false',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_GRAFT_FILE: '/dev/null',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_OPTIONAL_LOCKS: '0',
  }
  for (const name of userConfig ? [...inherited, ...inheritedConfig] : inherited) {
    const value = process.env[name]
    if (value !== undefined) env[name] = value
  }
  if (!userConfig) Object.assign(env, { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' })
  return env
}

/** `npx` and npm scripts put `node_modules/.bin` first, where an agent could have put a `git` of its own. */
function safePath(paths: string, cwd: string): string {
  return paths
    .split(path.delimiter)
    .filter(
      entry =>
        path.isAbsolute(entry) && !entry.includes('node_modules') && !`${entry}/`.startsWith(`${cwd}/`),
    )
    .join(path.delimiter)
}

function startError(error: NodeJS.ErrnoException): Error {
  if (error.code !== 'ENOENT') return error
  return notFound()
}

function notFound(): UserError {
  return new UserError('git was not found.', 'Install git 2.32 or newer and see that it is on your PATH.')
}

function didNotEnd(args: string[]): UserError {
  return new UserError(
    `git ${args[0]} did not end.`,
    'Look for named pipes or a dead network drive in the project.',
  )
}

function printedTooMuch(args: string[], limit: number): UserError {
  return new UserError(
    `git ${args[0]} printed more than ${limit} bytes.`,
    'Ignore generated files in .gitignore.',
  )
}
