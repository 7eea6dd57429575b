import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isRecord } from '../core/backlog-document.ts'
import { UserError } from '../core/errors.ts'
import type { Task } from '../core/task.ts'
import type { Layout, Project } from './layout.ts'
import { specflowBacklog } from './specflow/backlog.ts'
import { configureLoops, type OwnStages, readLoopConfig } from './specflow/config.ts'
import { logsFolder, writeLogs } from './specflow/log-file.ts'
import { specflowTemplates, specflowValues } from './specflow/prompt.ts'
import { newTask, rehearsal, specflowSkeleton } from './specflow/skeleton.ts'
import { readTask, specPathOf, taskIds, taskPath, tasksFolder } from './specflow/task-file.ts'
import { writeTaskFiles } from './specflow/task-state.ts'

/**
 * Seed 2: SpecFlow's `.specflow/`. The settings of the loops are in `config.yaml`, tasks in `tasks/<id>.json` (status and
 * `metadata` are the engine's), specs in `specs/<id>.md`, one log per task in `logs/<id>.jsonl`. Settings: `stages`, what
 * Ralph's own configuration says of them.
 */
export const specflow: Layout = {
  name: 'specflow',
  owned: [`/${tasksFolder}/*.json`, `/${logsFolder}/**`],
  state: ({ root }) => [
    ...taskIds(root).map(taskPath),
    ...names(join(root, logsFolder)).map(name => `${logsFolder}/${name}`),
  ],

  prerequisites({ root }) {
    if (statSync(join(root, tasksFolder), { throwIfNoEntry: false })?.isDirectory()) return []
    const fix = 'Begin with `ralph init --preset pipeline` or `ralph new task TASK-001 "…"`, which makes it.'
    return [
      { severity: 'error', file: tasksFolder, line: null, message: `no ${tasksFolder}/ directory`, fix },
    ]
  },

  read: ({ root }) => specflowBacklog(root),
  spec: specText,

  async write({ root }, journal) {
    await writeTaskFiles(root, journal)
    await writeLogs(root, journal)
  },

  recorded: ({ root }) =>
    taskIds(root).flatMap(id => {
      const read = readTask(root, id)
      return read.type === 'task' && read.task.status === 'done' ? [{ id, source: read.task.path }] : []
    }),

  templates: specflowTemplates,
  values: (_project, facts, about) => specflowValues(facts, about),

  configure({ root, settings }, workflow) {
    const agents = Object.entries(workflow.stages).flatMap(([name, stage]) =>
      stage.kind === 'agent' ? [name] : [],
    )
    const own = isRecord(settings.stages) ? (settings.stages as OwnStages) : {}
    return configureLoops(workflow, readLoopConfig(root, agents), own)
  },

  // What is wrong in config.yaml is told by whoever reads the settings.
  validate: ({ root }) => specflowBacklog(root).problems,

  skeleton: specflowSkeleton,
  rehearsal,
  create: newTask,
}

/** Read anew for each call: a person may have made it clearer. */
function specText({ root }: Project, task: Task): string {
  for (const place of [task.spec, specPathOf(task.id)]) {
    try {
      return readFileSync(join(root, place), 'utf8').replace(/^\ufeff/u, '')
    } catch {}
  }
  throw new UserError(
    `no spec for task ${task.id}: ${task.spec}`,
    `Write it, or remove ${taskPath(task.id)}.`,
  )
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter(name => name.endsWith('.jsonl'))
      .sort()
  } catch {
    return []
  }
}
