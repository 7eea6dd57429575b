import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Task } from '../../core/task.ts'
import { labelOf } from '../../core/task.ts'
import type { Project } from '../layout.ts'
import { decisionLog } from './decision-log.ts'
import { planPath } from './plan-file.ts'
import { scriptPath } from './script.ts'
import { reportPath, specFolder, specOf } from './task-file.ts'

/** C-24: changes of the spec are proposed in this file, unless the user lets them be made. */
export function proposalPath(spec: string, label: string): string {
  return `${specFolder(spec)}_ralph_loop/sync/${label}.md`
}

/** What each step may write below `docs/specs/`, where all else is protected. */
export function outputsOf(project: Project, task: Task, step: string): string[] {
  const spec = specOf(task.id)
  if (step === 'review') return [reportPath(task.spec)]
  if (step !== 'sync') return [decisionLog(spec)]
  return project.settings.applySpecSync === true
    ? [...new Set([decisionLog(spec), ...specTexts(project.root, spec)])]
    : [decisionLog(spec), proposalPath(spec, labelOf(task))]
}

/** What of `docs/specs/` goes into the commit of a finished task (S0-71): the record, the review, what sync wrote. */
export function committed(project: Project, task: Task): string[] {
  const spec = specOf(task.id)
  const paths = [
    task.spec,
    planPath(spec),
    scriptPath(spec),
    reportPath(task.spec),
    decisionLog(spec),
    proposalPath(spec, labelOf(task)),
    ...(project.settings.applySpecSync === true ? specTexts(project.root, spec) : []),
  ]
  return [...new Set(paths)].filter(path => existsSync(join(project.root, path)))
}

/** The spec itself: the Markdown files right in its folder. */
function specTexts(root: string, spec: string): string[] {
  const folder = specFolder(spec)
  return readdirSync(join(root, folder))
    .filter(name => name.endsWith('.md'))
    .sort()
    .map(name => `${folder}${name}`)
}
