import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { encode } from './bytes.ts'

/**
 * Starts git processes from a small helper instead of from this one. Starting a process copies the page tables of the
 * one that starts it: from a Node process of a hundred megabytes that takes three milliseconds, from a shell a third of
 * one. The helper is a plain `sh` that is told one command after the other; every word is quoted, nothing is expanded.
 * Input and output go through pipes alone: a file would lie where an agent could plant a link in its place.
 */
export type Runner = {
  run(call: RunnerCall): Promise<{ code: number; stdout: Buffer; stderr: Buffer } | 'timeout' | 'too-much'>
}

export type RunnerCall = {
  cwd: string
  /** Besides the environment the runner was made with. */
  env: Record<string, string>
  args: string[]
  stdin: Buffer | null
  timeout: number
  limit: number
}

/** As many helpers as there are calls worth making at once. */
const most = 2

export function createRunner(env: Record<string, string>): Runner {
  const idle: Helper[] = []
  const waiting: ((helper: Helper) => void)[] = []
  let made = 0

  const take = async (): Promise<Helper> => {
    const free = idle.pop()
    if (free) return free
    if (made < most) {
      made++
      return startHelper(env)
    }
    return new Promise(resolve => waiting.push(resolve))
  }
  const give = (helper: Helper) => {
    const fresh = helper.alive() ? helper : startHelper(env)
    const next = waiting.shift()
    if (next) next(fresh)
    else idle.push(fresh)
  }
  return {
    run: async call => {
      const helper = await take()
      try {
        return await helper.run(call)
      } finally {
        give(helper)
      }
    },
  }
}

type Helper = { alive(): boolean; run: Runner['run'] }

function startHelper(env: Record<string, string>): Helper {
  // A group of its own: Ctrl-C in the terminal is for Ralph, which then still needs git.
  const stdio: 'pipe'[] = ['pipe', 'pipe', 'pipe', 'pipe']
  const child = spawn('/bin/sh', ['-s'], { env, stdio, detached: true })
  const [words, out, err, input] = child.stdio as unknown as [Writable, Readable, Readable, Writable]
  let dead = false
  let onEnd: (() => void) | null = null
  const end = () => {
    dead = true
    onEnd?.()
  }
  child.on('error', end)
  child.on('exit', end)
  for (const pipe of [words, input]) pipe.on('error', end)
  const kill = () => {
    end()
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // Gone already.
    }
  }
  hold(child, false)

  return {
    alive: () => !dead,
    run: async ({ cwd, env: more, args, stdin, timeout, limit }) => {
      hold(child, true)
      // No output can hold it: it is new for each call. Behind it stands the exit code.
      const mark = `\n${randomBytes(16).toString('hex')}`
      const ending: { why: 'timeout' | 'too-much' } = { why: 'timeout' }
      const room = { left: limit + 2 * (mark.length + 8) }
      const tooMuch = () => {
        ending.why = 'too-much'
        kill()
      }
      const answers = [out, err].map(pipe => readUntil(pipe, { mark, room, tooMuch }))
      const timer = setTimeout(kill, timeout)
      const ended = new Promise<null>(resolve => {
        onEnd = () => resolve(null)
      })
      if (dead) end()
      else {
        words.write(encode(commandLine({ cwd, env: more, args, size: stdin?.length ?? null, mark })))
        if (stdin && stdin.length > 0) input.write(stdin)
      }
      const said = await Promise.race([Promise.all(answers.map(answer => answer.done)), ended])
      clearTimeout(timer)
      onEnd = null
      for (const answer of answers) answer.stop()
      hold(child, false)
      if (said === null) return ending.why
      const [stdout, stderr] = said
      return {
        code: Number(stdout?.behind ?? 128),
        stdout: stdout?.bytes ?? empty,
        stderr: stderr?.bytes ?? empty,
      }
    },
  }
}

const empty = Buffer.alloc(0)

/**
 * `head` gives git so much of the pipe and then an end, which the pipe itself must not have; `cat` takes what a git that
 * failed has left, so that the next call does not find it.
 */
function commandLine(call: {
  cwd: string
  env: Record<string, string>
  args: string[]
  size: number | null
  mark: string
}): string {
  const variables = Object.entries(call.env).map(([name, value]) => `${name}=${quote(value)}`)
  const set = variables.length > 0 ? `export ${variables.join(' ')} && ` : ''
  const words = `git ${call.args.map(quote).join(' ')} 3<&-`
  const fed = call.size
    ? `head -c ${call.size} <&3 2>/dev/null | (${words}; c=$?; cat >/dev/null; exit $c)`
    : `exec ${words} </dev/null`
  const mark = quote(call.mark)
  return `(cd ${quote(call.cwd)} && ${set}${fed}); c=$?; printf '%s%s.' ${mark} $c; printf '%s%s.' ${mark} $c >&2\n`
}

type Answer = { bytes: Buffer; behind: string }

/** What comes before the mark, and the word behind it, which ends with a dot. */
function readUntil(
  pipe: Readable,
  options: { mark: string; room: { left: number }; tooMuch: () => void },
): { done: Promise<Answer>; stop(): void } {
  const chunks: Buffer[] = []
  let stop = () => {}
  const done = new Promise<Answer>(resolve => {
    const take = (chunk: Buffer) => {
      chunks.push(chunk)
      options.room.left -= chunk.length
      // Before anything else: all of it may have come at once, with its mark.
      if (options.room.left < 0) return options.tooMuch()
      if (chunk.at(-1) === dot) {
        const tail = tailOf(chunks, options.mark.length + 8)
        const at = tail.lastIndexOf(options.mark)
        if (at >= 0) {
          const all = Buffer.concat(chunks)
          const cut = all.length - tail.length + at
          const behind = all.toString('latin1', cut + options.mark.length, all.length - 1)
          resolve({ bytes: all.subarray(0, cut), behind })
        }
      }
    }
    pipe.on('data', take)
    stop = () => pipe.off('data', take)
  })
  return { done, stop: () => stop() }
}

const dot = '.'.charCodeAt(0)

function tailOf(chunks: Buffer[], size: number): Buffer {
  let from = chunks.length
  for (let length = 0; from > 0 && length < size; ) length += chunks[--from]?.length ?? 0
  const tail = Buffer.concat(chunks.slice(from))
  return tail.subarray(Math.max(0, tail.length - size))
}

/** The helper keeps this process alive only while it has something to do. */
function hold(child: ChildProcess, on: boolean): void {
  const word = on ? 'ref' : 'unref'
  child[word]()
  for (const pipe of child.stdio) (pipe as unknown as { ref(): void; unref(): void } | null)?.[word]()
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
