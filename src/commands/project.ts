import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { foundPreset } from '../config/found-preset.ts'
import { loadConfig } from '../config/load.ts'
import {
  type AgentChoice,
  type Agents,
  type Overrides,
  resolveSettings,
  type Settings,
} from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import { layoutOf } from '../engine/prepare.ts'

export type ProjectOption = { projectDir?: string }

export function projectRoot(options: ProjectOption): string {
  const root = resolve(options.projectDir ?? '.')
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UserError(`no folder ${options.projectDir}`, 'Name an existing folder with -C.', 2)
  }
  return root
}

/** What the command line, the configuration, and the preset's own configuration file say. */
export async function projectSettings(root: string, overrides: Overrides = {}): Promise<Settings> {
  const config = await loadConfig(root)
  const named = overrides.preset ?? config.preset ?? config.extends
  const settings = resolveSettings(
    named === undefined ? { ...config, preset: foundPreset(root) } : config,
    overrides,
  )
  const { layout, project } = await layoutOf(root, settings)
  return {
    ...settings,
    agents: rehearsing(settings.agents, layout.rehearsal),
    workflow: layout.configure?.(project, settings.workflow) ?? settings.workflow,
    verify: settings.verify ?? layout.verify?.(project) ?? null,
  }
}

/** A scripted agent without a script plays what the preset has for it. */
function rehearsing({ implementer, reviewer, roles }: Agents, rehearsal: unknown[] | undefined): Agents {
  if (!rehearsal) return { implementer, reviewer, roles }
  const all = (choices: AgentChoice[]) =>
    choices.map(choice =>
      choice.name === 'scripted' && choice.script === undefined
        ? { ...choice, rehearsal: JSON.stringify(rehearsal) }
        : choice,
    )
  return {
    implementer: all(implementer),
    reviewer: all(reviewer),
    roles: Object.fromEntries(Object.entries(roles).map(([role, choices]) => [role, all(choices)])),
  }
}
