import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'

/** Whether a program can be started: found in PATH, or an executable file when it is named by a path. */
export function onPath(program: string, env: Record<string, string | undefined>, cwd: string): boolean {
  if (program.includes('/')) return isExecutable(isAbsolute(program) ? program : resolve(cwd, program))
  return (env.PATH ?? '')
    .split(delimiter)
    .some(folder => folder !== '' && isExecutable(join(folder, program)))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
