import { existsSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { type Guard, guardEnvironment, guardFile } from './guard.ts'

/**
 * As the system's settings, which those of the project cannot switch off; but where an administrator has written some,
 * his stay in force, and ours are the defaults.
 */
export function geminiGuard(guard: Guard, env: Record<string, string | undefined>): Record<string, string> {
  const isTaken = env.GEMINI_CLI_SYSTEM_SETTINGS_PATH || administrators.some(file => existsSync(file))
  const place = isTaken ? 'GEMINI_CLI_SYSTEM_DEFAULTS_PATH' : 'GEMINI_CLI_SYSTEM_SETTINGS_PATH'
  return { ...guardEnvironment(guard), [place]: realpathSync(guardFile('gemini-settings.json')) }
}

const administrators = [
  '/etc/gemini-cli/settings.json',
  '/Library/Application Support/GeminiCli/settings.json',
]

/** There is no other way in, and it takes these settings only from files and folders that nobody but root can change. */
export function canGuardGemini(): boolean {
  return isSystemFile(guardFile('gemini-settings.json'))
}

export function isSystemFile(file: string): boolean {
  try {
    for (let place = realpathSync(file); ; place = path.dirname(place)) {
      const { uid, mode } = statSync(place)
      if (uid !== 0 || (mode & 0o022) !== 0) return false
      if (place === path.dirname(place)) return true
    }
  } catch {
    return false
  }
}
