import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fields, git, type Place } from './git.ts'

/** What the user's own configuration says and Ralph honours. Read once, before any agent runs. */
export type Settings = {
  identity: Identity
  /** Patterns of the user's global ignore file and of `.git/info/exclude`. */
  excludes: string
  /** `.git/info/attributes`. */
  attributes: string
  /** The user's global attributes file; it need not exist. */
  attributesFile: string
  /** How this file system and this repository treat files: file modes, case, line ends. */
  core: Record<string, string>
  /** Names of the filters (`filter.<name>.clean`) that some configuration defines: lfs, git-crypt, … */
  filters: string[]
}

export type Identity = { name: string; email: string }

export const ralph: Identity = { name: 'Ralph', email: 'ralph@localhost' }

export function identityEnv({ name, email }: Identity): Record<string, string> {
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  }
}

export async function readConfiguration(place: Place): Promise<[string, string][]> {
  const args = ['config', '-z', '--get-regexp', '^(user|core|filter)\\.']
  const result = await git(place, args, { userConfig: true })
  return fields(result.stdout).map(entry => {
    const cut = entry.indexOf('\n')
    return cut < 0 ? [entry, 'true'] : [entry.slice(0, cut), entry.slice(cut + 1)]
  })
}

export function settingsFrom(configuration: [string, string][], commonDir: string): Settings {
  const values = new Map(configuration)
  const filters = configuration.flatMap(([key, value]) =>
    value === '' ? [] : (/^filter\.(.+)\.(?:clean|process)$/u.exec(key)?.[1] ?? []),
  )
  return {
    identity: {
      name: process.env.GIT_AUTHOR_NAME || values.get('user.name') || ralph.name,
      email: process.env.GIT_AUTHOR_EMAIL || values.get('user.email') || ralph.email,
    },
    excludes: `${read(userFile(values.get('core.excludesfile'), 'ignore'))}\n${read(path.join(commonDir, 'info/exclude'))}`,
    attributesFile: userFile(values.get('core.attributesfile'), 'attributes'),
    attributes: read(path.join(commonDir, 'info/attributes')),
    core: Object.fromEntries(
      honoured.flatMap(key => (values.has(key) ? [[key, values.get(key) ?? '']] : [])),
    ),
    filters: [...new Set(filters)],
  }
}

const honoured = [
  'core.filemode',
  'core.ignorecase',
  'core.symlinks',
  'core.precomposeunicode',
  'core.longpaths',
  'core.autocrlf',
  'core.eol',
]

function userFile(configured: string | undefined, name: string): string {
  if (configured === undefined) {
    return path.join(process.env.XDG_CONFIG_HOME || path.join(os.homedir(), '.config'), 'git', name)
  }
  return configured.startsWith('~/') ? path.join(os.homedir(), configured.slice(2)) : configured
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
