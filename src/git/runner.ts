import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { encode } from './bytes.ts'

/**
 * Starts git processes from a small helper instead of from this one. Starting a process copies the page tables of the
 * one that starts it: from a Node process of a hundred megabytes that takes three milliseconds, from a shell a third of
 * one. The helper is a plain `sh` that is told one command after the other; every word is quoted, nothing is expanded.
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

/** `folder`: where the calls' input and output lie, each until the next call. */
export function createRunner(folder: string, env: Record<string, string>): Runner {
  const idle: Helper[] = []
  const waiting: ((helper: Helper) => void)[] = []
  let made = 0

  const take = async (): Promise<Helper> => {
    const free = idle.pop()
    if (free) return free
    if (made === 0) emptyFolder(folder)
    if (made < most) return startHelper(join(folder, String(made++)), env)
    return new Promise(resolve => waiting.push(resolve))
  }
  const give = (helper: Helper) => {
    const fresh = helper.alive() ? helper : startHelper(helper.files, env)
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

function emptyFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
}

type Helper = { files: string; alive(): boolean; run: Runner['run'] }

function startHelper(files: string, env: Record<string, string>): Helper {
  // A group of its own: Ctrl-C in the terminal is for Ralph, which then still needs git.
  const child = spawn('/bin/sh', ['-s'], { env, stdio: ['pipe', 'pipe', 'ignore'], detached: true })
  let dead = false
  let answer: ((line: string | null) => void) | null = null
  let line = ''
  const end = () => {
    dead = true
    answer?.(null)
  }
  child.on('error', end)
  child.on('exit', end)
  child.stdin?.on('error', end)
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    line += text
    if (line.endsWith('\n')) answer?.(line.trim())
  })
  hold(child, false)

  return {
    files,
    alive: () => !dead,
    run: async ({ cwd, env: more, args, stdin, timeout, limit }) => {
      // An agent may have deleted the folder since the last call.
      mkdirSync(dirname(files), { recursive: true, mode: 0o700 })
      if (stdin) writeFileSync(`${files}.in`, stdin)
      const words = args.map(quote).join(' ')
      const variables = Object.entries(more).map(([name, value]) => `${name}=${quote(value)}`)
      const set = variables.length > 0 ? `export ${variables.join(' ')} && ` : ''
      const streams = `<${stdin ? quote(`${files}.in`) : '/dev/null'} >${quote(`${files}.out`)} 2>${quote(`${files}.err`)}`
      line = ''
      hold(child, true)
      const said = await new Promise<string | null>(resolve => {
        const timer = setTimeout(() => {
          if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
        }, timeout)
        answer = text => {
          clearTimeout(timer)
          resolve(text)
        }
        if (dead) answer(null)
        else
          child.stdin?.write(encode(`(cd ${quote(cwd)} && ${set}exec git ${words} ${streams}); echo "$?"\n`))
      })
      answer = null
      hold(child, false)
      if (said === null) return 'timeout'
      if (statSync(`${files}.out`).size > limit) return 'too-much'
      return {
        code: Number(said),
        stdout: readFileSync(`${files}.out`),
        stderr: readFileSync(`${files}.err`),
      }
    },
  }
}

/** The helper keeps this process alive only while it has something to do. */
function hold(child: ChildProcess, on: boolean): void {
  const word = on ? 'ref' : 'unref'
  child[word]()
  for (const pipe of [child.stdin, child.stdout]) (pipe as unknown as { ref(): void; unref(): void })[word]()
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
