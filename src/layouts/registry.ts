import { UserError } from '../core/errors.ts'
import type { Layout } from './layout.ts'

/** Loaded when asked for: a run pays for one layout only. */
const layouts: Record<string, () => Promise<Layout>> = {
  'fix-plan': async () => (await import('./fix-plan.ts')).fixPlan,
  specflow: async () => (await import('./specflow.ts')).specflow,
  'state-markdown': async () => (await import('./state-markdown.ts')).stateMarkdown,
  stories: async () => (await import('./stories.ts')).stories,
  'tasks-json': async () => (await import('./tasks-json.ts')).tasksJson,
}

export async function findLayout(name: string): Promise<Layout> {
  const load = Object.hasOwn(layouts, name) ? layouts[name] : undefined
  if (!load)
    throw new UserError(`unknown layout '${name}'`, `Choose one of: ${Object.keys(layouts).join(', ')}.`, 2)
  return load()
}
