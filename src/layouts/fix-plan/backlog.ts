import { dependencyProblems } from '../../core/select.ts'
import type { Task } from '../../core/task.ts'
import type { Backlog, Problem, Recorded } from '../layout.ts'
import { readPlan, stageAfterFailure, stepStage } from './plan-file.ts'
import {
  allTaskFiles,
  idOf,
  listSpecs,
  readTaskFiles,
  saysDone,
  setAside,
  type TaskFile,
  taskNumber,
} from './task-file.ts'

/**
 * All tasks of all specs: two specs may both have a TASK-001, so that the id holds the spec's name. What is optional or
 * superseded is no task of the loop.
 */
export function specBacklog(root: string): Backlog & { files: TaskFile[]; needs: Problem[] } {
  const all = listSpecs(root).flatMap(spec => allTaskFiles(root, spec))
  const problems: Problem[] = []
  const files = onePerNumber(all, problems)
  const needOf = needFinder(files)
  const tasks = files.filter(file => !setAside(file)).map((file, order) => toTask(file, order, needOf))
  return { tasks, missing: [], problems, files, needs: needProblems(tasks) }
}

function onePerNumber(files: TaskFile[], problems: Problem[]): TaskFile[] {
  const seen = new Map<string, TaskFile>()
  for (const file of files) {
    const key = `${file.spec}/${file.number}`
    const first = seen.get(key)
    if (!first) seen.set(key, file)
    else
      problems.push({
        severity: 'error',
        file: file.path,
        line: null,
        message: `${file.label} has two files; ${first.path} is used`,
        fix: 'Remove or renumber one of the two files.',
      })
  }
  return [...seen.values()]
}

function toTask(file: TaskFile, order: number, needOf: NeedFinder): Task {
  const { path, title, complexity, verify, allows } = file
  return {
    id: idOf(file),
    label: file.label,
    title,
    spec: path,
    needs: [...new Set(file.dependencies.map(one => needOf(file.spec, one)))],
    order,
    ...(complexity === null ? {} : { complexity }),
    verify,
    allows,
  }
}

/** The id of a dependency as it is written in a task of this spec. */
export type NeedFinder = (spec: string, text: string) => string

/** A dependency is named by its number, within the same spec; `other-spec/TASK-001` names one elsewhere. */
export function needFinder(files: readonly TaskFile[]): NeedFinder {
  const known = new Map(files.map(file => [`${file.spec}/${file.number}`, idOf(file)]))
  return (spec, text) => {
    const [folder, name] = text.includes('/') ? splitId(text) : [spec, text]
    return known.get(`${folder}/${taskNumber(name)}`) ?? `${folder}/${name}`
  }
}

function splitId(text: string): [string, string] {
  const at = text.lastIndexOf('/')
  return [text.slice(0, at).split('/').pop() ?? '', text.slice(at + 1)]
}

function needProblems(tasks: Task[]): Problem[] {
  const paths = new Map(tasks.map(task => [task.id, task.spec]))
  return dependencyProblems(tasks).map(({ id, message }) => ({
    severity: 'warning',
    file: paths.get(id) ?? 'docs/specs',
    line: null,
    message: `${id.split('/').pop()} ${message}`,
    fix: 'Correct `dependencies` in its front matter.',
  }))
}

/**
 * What the files say of tasks that this journal has never seen: done by the front matter or by `fix_plan.json` (the
 * seed's shell script writes only the latter), or under way at the step that `fix_plan.json` names (S0-34).
 */
export function recordedTasks(root: string, resume: boolean): Recorded[] {
  return listSpecs(root).flatMap(spec => {
    const stored = readPlan(root, spec)
    const plan = stored.kind === 'ok' ? stored.plan : null
    const done = new Set(plan?.done.map(taskNumber))
    const current = plan?.current === null || !plan ? null : taskNumber(plan.current)
    const failed = plan?.step === 'failed' && resume ? stageAfterFailure(plan.error) : null
    const stage = plan ? (stepStage(plan.step) ?? failed) : null
    return readTaskFiles(root, spec).flatMap((file): Recorded[] => {
      if (setAside(file)) return []
      if (done.has(file.number))
        return [{ id: idOf(file), source: stored.kind === 'ok' ? stored.path : file.path }]
      if (saysDone(file)) return [{ id: idOf(file), source: file.path }]
      if (stage === null || file.number !== current || stored.kind !== 'ok') return []
      return [{ id: idOf(file), source: stored.path, stage }]
    })
  })
}
