import { existsSync } from 'node:fs'
import { join } from 'node:path'

export const defaultPreset = 'reviewed'

/** What only a project of that preset has; the more telling ones first. */
const marks: [preset: string, path: string][] = [
  ['reviewed', 'ralph/tasks.json'],
  ['pipeline', '.specflow'],
  ['stepwise', 'docs/specs'],
  ['gated', '.ralph_state.md'],
  ['stories', 'specs'],
  ['gated', 'plan.md'],
]

/** Which preset a project is for whose configuration does not say: a seed's own scripts left none, but their files. */
export function foundPreset(root: string): string {
  return marks.find(([, path]) => existsSync(join(root, path)))?.[0] ?? defaultPreset
}
