import { spawn } from 'node:child_process'
import { allowedEnvironment } from '../process/environment.ts'

/** `sbx`, or the older `docker sandbox` of Docker Desktop 4.58 to 4.79. */
export type CliKind = 'sbx' | 'docker'

export type Cli = {
  kind: CliKind
  /** How it is called, before the sub-command. */
  argv: [string, ...string[]]
  /** The whole environment of the client, which runs outside. */
  env: Record<string, string>
  cwd: string
}

export function cliOf(kind: CliKind, env: Readonly<Record<string, string | undefined>>, cwd: string): Cli {
  return { kind, argv: kind === 'sbx' ? ['sbx'] : ['docker', 'sandbox'], env: clientEnvironment(env), cwd }
}

/**
 * What the client needs to find its daemon and its login. SSH_AUTH_SOCK is left out on purpose: with it the user's SSH
 * agent would be handed on to whatever runs in there.
 */
function clientEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const own = ['DOCKER_*', 'SBX_*', 'SANDBOXD_*', 'XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS']
  return { ...allowedEnvironment(env, own), SBX_NO_TELEMETRY: '1' }
}

export type CliCall = {
  args: readonly string[]
  /** Milliseconds. */
  timeout: number
  /** What the command reads; without it stdin is closed, so that a question is an error and not a wait. */
  stdin?: Uint8Array
}

export type CliEnd = {
  type: 'ok' | 'failed' | 'late' | 'missing'
  stdout: string
  /** The line that says most about a failure. */
  detail: string
  /** All that was printed. */
  text: string
}

/** As much as a long listing; what follows is not looked at. */
const mostOutput = 4 * 1024 * 1024

/** Calls the client and waits for its end. What it answers is a result, never an exception. */
export function callCli(cli: Cli, { args, timeout, stdin }: CliCall): Promise<CliEnd> {
  const [program, ...first] = cli.argv
  return new Promise(resolve => {
    const printed = { stdout: '', stderr: '' }
    let late = false
    const child = spawn(program, [...first, ...args], {
      cwd: cli.cwd,
      env: cli.env,
      stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const timer = setTimeout(() => {
      late = true
      endGroup(child.pid)
    }, timeout)
    const settle = (type: CliEnd['type'], what: string) => {
      clearTimeout(timer)
      // A daemon that holds them must not keep this process from ending.
      child.stdout?.destroy()
      child.stderr?.destroy()
      const text = printed.stderr + printed.stdout
      resolve({ type, stdout: printed.stdout, text, detail: telling(text) ?? what })
    }
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.setEncoding('utf8').on('data', (chunk: string) => {
        if (printed[name].length < mostOutput) printed[name] += chunk
      })
    // A command that ends without reading its input says so by its exit code.
    child.stdin?.on('error', () => undefined).end(stdin)
    child.on('error', (error: NodeJS.ErrnoException) =>
      settle(error.code === 'ENOENT' ? 'missing' : 'failed', error.message),
    )
    const ended = (code: number | null, signal: string | null) => {
      if (late) settle('late', `no answer within ${timeout / 1000} s`)
      else settle(code === 0 ? 'ok' : 'failed', signal ? `killed by ${signal}` : `exit code ${code}`)
    }
    child.on('close', ended)
    // The daemon that the first call starts may hold the pipes for good: only a moment of that.
    child.on('exit', (code, signal) => setTimeout(ended, 300, code, signal).unref())
  })
}

function telling(text: string): string | null {
  const lines = text
    .split('\n')
    .map(line => line.trim())
    .filter(Boolean)
  const line = lines.find(one => /^(?:error|docker:|failed)/iu.test(one)) ?? lines.at(-1)
  return line ? line.slice(0, 300) : null
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended in the meantime.
  }
}
