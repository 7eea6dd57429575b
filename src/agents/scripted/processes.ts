import { spawn, spawnSync } from 'node:child_process'
import type { Behaviour } from './behaviour.ts'

/** Runs a program to its end; null when it went well, else what went wrong. */
export function runProgram(argv: string[], show: boolean): string | null {
  const [program = '', ...args] = argv
  const { error, status, signal, stderr } = spawnSync(program, args, {
    stdio: show ? ['ignore', 1, 2] : ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
  })
  if (error) return error.message
  if (status === 0) return null
  return `${signal ?? `exit code ${status}`}${stderr ? `: ${stderr.trim().slice(-500)}` : ''}`
}

/** Commits the given paths, or all that changed. The name is given, because a test's git has none. */
export function runCommit(message: string, paths: string[] | null): string | null {
  const added = runProgram(['git', 'add', '--all', '--', ...(paths ?? ['.'])], false)
  if (added !== null) return added
  const identity = [
    '-c',
    'user.name=Scripted Agent',
    '-c',
    'user.email=scripted@example.invalid',
    '-c',
    'commit.gpgSign=false',
  ]
  return runProgram(
    ['git', ...identity, 'commit', '--quiet', '--message', message, ...(paths ? ['--', ...paths] : [])],
    false,
  )
}

/** Starts a child that makes trouble, each in its own way. It ends by itself after a while. */
export function startChild({ kind, ms, pidFile }: Extract<Behaviour, { type: 'child' }>): void {
  const nap = `sleep ${(ms / 1000).toFixed(3)}`
  const note = (pid: string) => (pidFile ? `echo ${pid} > '${pidFile.replaceAll("'", `'\\''`)}';` : '')
  const start = {
    // An ignored signal stays ignored across exec.
    deaf: () => shell(`trap '' TERM INT HUP; ${note('$$')} exec ${nap}`, false, 'ignore'),
    'holds-stdout': () => shell(`${note('$$')} exec ${nap}`, false, 'inherit'),
    // Its parent ends at once, so it belongs to no tree, group or session of ours.
    daemon: () => shell(`${nap} & ${note('$!')}`, true, 'ignore'),
  }
  start[kind]()
}

function shell(script: string, detached: boolean, output: 'ignore' | 'inherit'): void {
  spawn('/bin/sh', ['-c', script], { detached, stdio: ['ignore', output, output] }).unref()
}
