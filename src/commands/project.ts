import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { loadConfig } from '../config/load.ts'
import { type Overrides, resolveSettings, type Settings } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'

export type ProjectOption = { projectDir?: string }

export function projectRoot(options: ProjectOption): string {
  const root = resolve(options.projectDir ?? '.')
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UserError(`no folder ${options.projectDir}`, 'Name an existing folder with -C.', 2)
  }
  return root
}

export async function projectSettings(root: string, overrides: Overrides = {}): Promise<Settings> {
  return resolveSettings(await loadConfig(root), overrides)
}
