import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import path from 'node:path'
import { firstPart } from './tail-text.ts'

export type ProbeStart = {
  argv: [string, ...string[]]
  cwd: string
  env: Record<string, string>
  /** Milliseconds. */
  timeout?: number
}

export type ProbeEnd =
  | { type: 'missing' }
  | { type: 'failed'; detail: string }
  | { type: 'timeout'; after: number }
  | { type: 'ok'; output: string }

/** Starts a program for real, with a closed stdin, and looks how it ends. */
export function startProbe({ argv, cwd, env, timeout = 10_000 }: ProbeStart): Promise<ProbeEnd> {
  const [program, ...args] = argv
  return new Promise(resolve => {
    let output = ''
    let late = false
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    const timer = setTimeout(() => {
      late = true
      endGroup(child.pid)
    }, timeout)
    const settle = (end: ProbeEnd) => {
      clearTimeout(timer)
      child.stdout.destroy()
      child.stderr.destroy()
      resolve(end)
    }
    const collect = (chunk: Buffer) => {
      if (output.length < 16_384) output += chunk.toString('utf8')
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    child.on('error', (error: NodeJS.ErrnoException) => {
      settle(error.code === 'ENOENT' ? { type: 'missing' } : { type: 'failed', detail: error.message })
    })
    const end = (code: number | null, signal: string | null) => {
      if (late) settle({ type: 'timeout', after: timeout })
      else
        settle(
          code === 0 ? { type: 'ok', output } : { type: 'failed', detail: failure(output, code, signal) },
        )
    }
    // `close` waits for the pipes, and so for a grandchild that holds them: only a moment of that.
    child.on('close', end)
    child.on('exit', (code, signal) => setTimeout(end, 300, code, signal).unref())
  })
}

function failure(output: string, code: number | null, signal: string | null): string {
  const first = output.split('\n').find(line => line.trim() !== '')
  return first ? firstPart(first.trim(), 200) : signal ? `killed by ${signal}` : `exit code ${code}`
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended in the meantime.
  }
}

/** Where a program would be found, or null; looked up as the system does. */
export async function findProgram(
  program: string,
  env: Record<string, string | undefined>,
  cwd: string,
): Promise<string | null> {
  const places = program.includes('/')
    ? [path.resolve(cwd, program)]
    : (env.PATH ?? '').split(path.delimiter).map(folder => path.resolve(cwd, folder, program))
  for (const place of places) {
    if (await isExecutable(place)) return place
  }
  return null
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    return false
  }
}
