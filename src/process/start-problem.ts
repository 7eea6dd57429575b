import { accessSync, closeSync, constants, openSync, readSync, type Stats, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'

/** Why a program cannot be started, in plain words, or null. Asked before the start, for a shell's "127" says little. */
export function startProblem(options: {
  argv: readonly [string, ...string[]]
  cwd: string
  env: Record<string, string>
}): string | null {
  const { argv, cwd, env } = options
  if (!isFolder(cwd)) return `the folder ${cwd} does not exist`
  const [program] = argv
  const places = program.includes('/') ? [resolve(cwd, program)] : inPath(program, env.PATH, cwd)
  const files = places.filter(isFile)
  const runnable = files.find(isExecutable)
  if (runnable !== undefined) return interpreterProblem(program, runnable)
  if (files[0] !== undefined) return `${files[0]} is not executable`
  if (places[0] !== undefined && isFolder(places[0]) && program.includes('/'))
    return `${program} is a folder, not a program`
  return program.includes('/') ? `${program} does not exist` : `${program} was not found in PATH`
}

function inPath(program: string, path: string | undefined, cwd: string): string[] {
  return (path ?? '/usr/bin:/bin')
    .split(delimiter)
    .map(folder => join(isAbsolute(folder) ? folder : resolve(cwd, folder), program))
}

/** A script whose interpreter has moved away (an old virtual environment) fails with a message about the script. */
function interpreterProblem(program: string, file: string): string | null {
  const interpreter = /^#![ \t]*([^\s\0]+)/.exec(firstBytes(file))?.[1]
  if (interpreter === undefined || !isAbsolute(interpreter) || isFile(interpreter)) return null
  return `${program} needs ${interpreter}, which does not exist`
}

function firstBytes(file: string): string {
  let fd: number | undefined
  try {
    fd = openSync(file, 'r')
    const buffer = Buffer.alloc(256)
    return buffer.toString('latin1', 0, readSync(fd, buffer))
  } catch {
    // A program may be executable without being readable.
    return ''
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

function isFile(path: string): boolean {
  return statOf(path)?.isFile() ?? false
}

function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory() ?? false
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // A folder on the way may not be entered.
    return undefined
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
