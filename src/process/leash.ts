import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex } from 'node:stream'
import { send } from './end-processes.ts'
import { leashScript, leashVariable } from './leash-script.ts'
import { type NamedPipes, openPipes, pipesPath } from './named-pipes.ts'

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
  /** The leash is put on meanwhile; the program begins on a yes, and never on a no. */
  begin: Promise<boolean>
}

export type Leashed = {
  /** The program itself: the leash becomes it. */
  child: ChildProcess
  /** When the leash is on and the program may begin: the watcher's pid, and pipes to read beside those of `child`. */
  on: Promise<{ watcher: number; pipes: NamedPipes | null } | null>
  /** The engine was silent for so long that the watcher ended the program. Certain as soon as the program's exit is known. */
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
      stdio: [options.stdin, 'pipe', 'pipe', 'pipe', 'pipe'],
      detached: true,
    },
  )
  // Missing when there were not even descriptors for the pipes; `child` then tells of an error.
  const control = child.stdio?.[3] as Duplex | undefined
  const words = child.stdio?.[4] as Duplex | undefined
  if (!control || !words)
    return { child, on: Promise.resolve(null), lapsed: () => false, release: async () => undefined }
  const said = listen(words)
  const beat = () => {
    if (options.mayBeat()) control.write('beat\n')
  }
  // A watcher that is gone is noticed by its last word; there is nothing to mend in a failed write. Such a write destroys
  // its stream with all that was not read yet: so the words come by another.
  control.on('error', () => undefined).resume()
  let timer: NodeJS.Timeout | undefined
  const go = async () => {
    const [, how] = /^ready (\w*)/.exec(await said.line(0)) ?? []
    if (how === undefined) return null
    if (!(await options.begin)) {
      // Without a word the leash leaves; so it does when this engine dies before it gives one.
      control.end()
      return null
    }
    const opened = how === 'pipes' ? openPipes(pipes) : null
    control.write('go\n')
    // Not before: the first word must be the `go`.
    if (options.leash > 0) timer = setInterval(beat, Math.max(20, options.leash / 3))
    const watcher = Number(await said.line(1))
    if (watcher > 0) return { watcher, pipes: opened }
    opened?.stdout.destroy()
    opened?.stderr.destroy()
    return null
  }

  return {
    child,
    on: go(),
    // Only the watcher knows what it took for silence: neither can read the other's clock exactly.
    lapsed: () => said.all().includes('\nsilent\n'),
    release: async () => {
      clearInterval(timer)
      control.end('done\n')
      const late = setTimeout(() => {
        // Killed in part or stopped by the program. While any of it lives, nobody else can have its group's number.
        if (child.pid !== undefined) send(-child.pid, 'SIGKILL')
        words.destroy()
      }, releaseTime)
      await said.last
      clearTimeout(late)
      control.destroy()
    },
  }
}

/** Whole seconds, as every `sleep` understands them, unless the time is too short for that. */
function seconds(leash: number): string {
  return String(leash < 3_000 ? leash / 1000 : Math.ceil(leash / 1000))
}

/** What the watcher says: each line as soon as it is whole (or that there is none), all so far, and that it says no more. */
function listen(stream: Duplex): {
  line(number: number): Promise<string>
  all(): string
  last: Promise<void>
} {
  let text = ''
  const last = new Promise<void>(resolve => stream.once('close', resolve))
  stream.on('error', () => undefined)
  stream.on('data', (data: Buffer) => {
    text += data.toString('latin1')
  })
  const whole = (number: number) => text.split('\n').slice(0, -1)[number]
  const line = (number: number) =>
    new Promise<string>(resolve => {
      const look = () => {
        const found = whole(number)
        if (found === undefined) return
        stream.off('data', look)
        resolve(found)
      }
      stream.on('data', look)
      look()
      void last.then(() => resolve(whole(number) ?? ''))
    })
  return { line, all: () => text, last }
}
