import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Project } from '../layout.ts'
import { specFolder, specOf, type TaskFile } from './task-file.ts'

type About = Pick<TaskFile, 'path' | 'lang' | 'label' | 'spec'>

/** The seed's command of a step, word for word (S0-43, S0-47, S0-55, S0-59, S0-63). */
export function slashCommand(step: string, { path, lang, label, spec }: About): string {
  const language = lang === null ? '' : ` --lang=${lang}`
  switch (step) {
    case 'review':
      return `/specs:task-review --no-confirm${language} "${path}"`
    case 'cleanup':
      return `/specs:code-cleanup --no-confirm${language} --task="${path}"`
    case 'sync':
      return `/specs:spec-sync-with-code ${specFolder(spec)} --after-task=${label}`
    default:
      return `/specs:task-implementation${language} --task="${path}"`
  }
}

/** What the commands need to know of a task that is known by its id and its file alone. */
export function aboutTask(id: string, label: string, path: string, files: readonly TaskFile[]): About {
  return files.find(file => file.path === path) ?? { path, lang: null, label, spec: specOf(id) }
}

/**
 * Only Claude Code has the commands, and only where they are installed: as files, or with the seed's plugin. The setting
 * `slashCommands` says it outright.
 */
export function hasSlashCommands({ root, settings }: Project, agent: string): boolean {
  if (agent !== 'claude') return false
  if (typeof settings.slashCommands === 'boolean') return settings.slashCommands
  const homes = [root, homedir()].map(folder => join(folder, '.claude'))
  return homes.some(
    home =>
      existsSync(join(home, 'commands', 'specs')) ||
      ['settings.json', 'settings.local.json'].some(name => enablesPlugin(join(home, name))),
  )
}

function enablesPlugin(file: string): boolean {
  try {
    const { enabledPlugins } = JSON.parse(readFileSync(file, 'utf8')) as { enabledPlugins?: unknown }
    const listed = typeof enabledPlugins === 'object' && enabledPlugins !== null ? enabledPlugins : {}
    return Object.entries(listed).some(([name, on]) => name.startsWith('developer-kit-specs@') && on === true)
  } catch {
    return false
  }
}
