import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, constants, existsSync, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { send } from './end-processes.ts'
import { leashScript, leashVariable } from './leash-script.ts'

export type LeashOptions = {
  argv: readonly [string, ...string[]]
  cwd: string
  env: Record<string, string>
  /** A file to read from, or nothing. */
  stdin: number | 'ignore'
  processFile: string
  /** Milliseconds of silence after which the tree is ended; 0 = never for silence, only when the engine dies. */
  leash: number
  /** While this says no, no sign of life is sent. */
  mayBeat: () => boolean
}

export type Leashed = {
  /** The program itself: the leash becomes it. */
  child: ChildProcess
  /** When the leash is on: the watcher's pid, and the pipes to read beside `child.stdout` and `child.stderr`. */
  on: Promise<{ watcher: number; pipes: { stdout: Readable; stderr: Readable } | null } | null>
  /** The engine was silent for so long that the watcher has ended the program. */
  lapsed(): boolean
  /** Sends the watcher home; to be called when nothing of the program is left. */
  release(): Promise<void>
}

/** How long the watcher may take to leave before it is ended. */
const releaseTime = 250

/** Starts a program, in a session of its own, that cannot outlive this engine. See `leash-script.ts`. */
export function startLeashed(options: LeashOptions): Leashed {
  const pipes = pipesPath(options.processFile)
  // By a variable, so that a list of processes shows one short line and not the whole script.
  const env = { ...options.env, [leashVariable]: leashScript }
  const child = spawn(
    '/bin/sh',
    [
      '-c',
      `eval "$${leashVariable}"`,
      'leash',
      seconds(options.leash),
      options.processFile,
      pipes,
      ...options.argv,
    ],
    {
      cwd: options.cwd,
      env,
      stdio: [options.stdin, 'pipe', 'pipe', 'pipe'],
      detached: true,
    },
  )
  // Missing when there were not even descriptors for the pipes; `child` then tells of an error.
  const control = child.stdio?.[3] as Duplex | undefined
  if (!control)
    return { child, on: Promise.resolve(null), lapsed: () => false, release: async () => undefined }
  let lastBeat = performance.now()
  let lapsed = false
  const lapses = () => options.leash > 0 && performance.now() - lastBeat >= options.leash
  const beat = () => {
    lapsed ||= lapses()
    if (!options.mayBeat()) return
    lastBeat = performance.now()
    control.write('beat\n')
  }
  // A watcher that is gone is noticed by `close`; there is nothing to mend in a failed write.
  control.on('error', () => undefined)
  const closed = new Promise<void>(resolve => control.once('close', resolve))
  const timer = options.leash > 0 ? setInterval(beat, Math.max(20, options.leash / 3)) : undefined

  const on = firstLine(control).then(line => {
    const [, watcher, how] = /^(\d+) (\w*)/.exec(line) ?? []
    if (!watcher) return null
    return { watcher: Number(watcher), pipes: how === 'pipes' ? openPipes(pipes) : null }
  })

  return {
    child,
    on,
    lapsed: () => lapsed || lapses(),
    release: async () => {
      clearInterval(timer)
      control.end('done\n')
      const late = setTimeout(() => {
        // Killed in part or stopped by the program. While any of it lives, nobody else can have its group's number.
        if (child.pid !== undefined) send(-child.pid, 'SIGKILL')
        control.destroy()
      }, releaseTime)
      await closed
      clearTimeout(late)
    },
  }
}

/**
 * Node's pipes are sockets, and on Linux a program cannot open a socket by name: `tee /dev/stderr` and the like fail,
 * and a gate would be red for no fault of its own. So there the program gets two real pipes.
 */
function pipesPath(processFile: string): string {
  return process.platform === 'linux' ? `${processFile}.${randomBytes(4).toString('hex')}` : ''
}

function openPipes(path: string): { stdout: Readable; stderr: Readable } | null {
  // An engine that was frozen at this moment: the watcher has ended the program and cleared up.
  if (!existsSync(`${path}.out`)) return null
  const open = (file: string): Readable => {
    // The end of a pipe is only told to those who opened it while somebody wrote to it; a quick program may be gone.
    const writer = openSync(file, constants.O_RDWR | constants.O_NONBLOCK)
    const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    closeSync(writer)
    rmSync(file)
    return new Socket({ fd, readable: true, writable: false })
  }
  return { stdout: open(`${path}.out`), stderr: open(`${path}.err`) }
}

/** Whole seconds, as every `sleep` understands them, unless the time is too short for that. */
function seconds(leash: number): string {
  return String(leash < 3_000 ? leash / 1000 : Math.ceil(leash / 1000))
}

function firstLine(stream: Duplex): Promise<string> {
  return new Promise(resolve => {
    let text = ''
    const take = (data: Buffer) => {
      text += data.toString('latin1')
      if (text.includes('\n')) resolve(text)
    }
    stream.on('data', take)
    stream.once('close', () => resolve(text))
  })
}
