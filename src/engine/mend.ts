import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Task } from '../core/task.ts'
import type { Rules } from '../core/workflow.ts'
import type { Reporter } from '../reporters/reporter.ts'
import { openProjectStore, ralphHome } from './home.ts'
import { type OpenOptions, openEngine } from './open.ts'
import { isCutOff } from './resume.ts'

/**
 * Puts back what an agent had half written when its engine was cut off, before the backlog is looked at: where agents
 * write in the backlog itself, it may be unreadable until then. False when nothing was cut off here.
 */
export async function mendCutOff(
  open: Pick<OpenOptions, 'root' | 'settings' | 'layout' | 'project' | 'stop' | 'wait' | 'env'>,
): Promise<boolean> {
  const left = open.layout.growing ? await cutOffRun(open.root) : null
  if (!left) return false
  const engine = await openEngine({
    ...open,
    rules: left.rules,
    backlog: { tasks: left.tasks, missing: [] },
    report: silent,
    inPlace: true,
    what: 'ralph run',
    attach: true,
    keepRetries: true,
    only: null,
    options: {},
  })
  await engine.close()
  return true
}

async function cutOffRun(root: string): Promise<{ rules: Rules; tasks: Task[] } | null> {
  if (!existsSync(join(ralphHome(root), 'ralph.db'))) return null
  const store = await openProjectStore(root)
  try {
    const rules = (await store.log.lastRun())?.rules
    if (!rules || !(await isCutOff(store.log))) return null
    const tasks = (await store.log.tasks()).filter(one => one.state.status !== 'removed')
    return { rules, tasks: tasks.map(one => one.state.task) }
  } finally {
    store.close()
  }
}

const silent: Required<Reporter> = {
  event: () => undefined,
  note: () => undefined,
  output: () => undefined,
  commandOutput: () => undefined,
  end: () => undefined,
}
