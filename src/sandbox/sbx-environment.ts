import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { isSeen } from './sbx-ready.ts'

type Variables = Readonly<Record<string, string>>

/**
 * What of a program's environment means something in there. The sandbox has a home, a PATH, a proxy and certificates of
 * its own, and a path of this machine that it does not see would only lead astray.
 */
export function carried(env: Variables, mounts: readonly string[]): Record<string, string> {
  const seen = (value: string) => !path.isAbsolute(value) || isSeen(value, mounts) || !existsSync(value)
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => !ofThisMachine.test(name) && seen(value)),
  )
}

const ofThisMachine =
  /^(?:PATH|HOME|PWD|USER|LOGNAME|SHELL|TMPDIR|XDG_.*|(?:https?|all|no)_proxy|SSL_CERT_.*|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)$/iu

/** Whether a program can do without: how it looks, and what Ralph sets for every agent on its own account. */
export function isDispensable(name: string): boolean {
  return dispensable.test(name)
}

const dispensable =
  /^(?:LANG|LANGUAGE|LC_.*|TERM|TZ|CI|NO_COLOR|IS_SANDBOX|RALPH_.*|CLAUDE_CODE_MAX_RETRIES|CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC|DISABLE_(?:TELEMETRY|ERROR_REPORTING|AUTOUPDATER)|COPILOT_AUTO_UPDATE|GEMINI_CLI_(?:TRUST_WORKSPACE|NO_RELAUNCH)|GEMINI_TELEMETRY_ENABLED)$/u

export type EnvironmentFiles = {
  /** Options for `exec`, and what the client itself must have in its environment for them. */
  write(env: Variables): { args: string[]; client: Record<string, string> }
  remove(): void
}

/**
 * Values go in by a file that only this user can read: a command line is seen by everybody. The format has no way to
 * write a line break, so such a value is taken from the client's own environment.
 */
export function environmentFiles(name: string): EnvironmentFiles {
  const folders = os.tmpdir()
  const begin = `ralph-${name}-env-`
  const remove = () => {
    for (const folder of readdirSync(folders)) if (folder.startsWith(begin)) drop(path.join(folders, folder))
  }
  return {
    write: env => {
      const names = Object.keys(env).sort()
      const broken = names.filter(key => /[\r\n]/u.test(env[key] ?? ''))
      const plain = names.filter(key => !broken.includes(key))
      const client = Object.fromEntries(broken.map(key => [key, env[key] ?? '']))
      if (plain.length === 0) return { args: broken.flatMap(key => ['-e', key]), client }
      mkdirSync(folders, { recursive: true })
      const file = path.join(mkdtempSync(path.join(folders, begin)), 'env')
      writeFileSync(file, plain.map(key => `${key}=${env[key]}\n`).join(''), { mode: 0o600 })
      return { args: ['--env-file', file, ...broken.flatMap(key => ['-e', key])], client }
    },
    // Also those that an engine left which was killed.
    remove,
  }
}

function drop(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // Somebody else's, in a folder that all may write to.
  }
}
