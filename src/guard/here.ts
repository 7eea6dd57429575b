import { realpathSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import type { GuardContext } from './verdict.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The guard's view of the machine it runs on. */
export function contextHere(env: Environment, cwd: string): GuardContext {
  const workspace = realPath(env.RALPH_WORKSPACE || env.CLAUDE_PROJECT_DIR || cwd)
  const temp = [env.TMPDIR || '', '/tmp', tmpdir(), '/var/tmp'].filter(isAbsolute)
  const user = env.USER || env.LOGNAME
  return {
    workspace,
    cwd: realPath(cwd),
    home: realPath(env.HOME || homedir()),
    temp: [...new Set(temp.flatMap(folder => [resolve(folder), realPath(folder)]))],
    ...(user ? { user } : {}),
  }
}

/** Where a path leads once links are followed; of what is not there yet, the folder that is. */
export function realPath(path: string): string {
  const whole = resolve(path)
  try {
    return realpathSync(whole)
  } catch {
    const parent = dirname(whole)
    return parent === whole ? whole : join(realPath(parent), basename(whole))
  }
}
