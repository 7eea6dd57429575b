import { existsSync, realpathSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { Project } from '../layout.ts'
import { type Range, readPlan, type StoredPlan } from './plan-file.ts'
import {
  idOf,
  listSpecs,
  readTaskFiles,
  setAside,
  specFolder,
  specsFolder,
  type TaskFile,
  taskNumber,
} from './task-file.ts'

/** What one invocation is about: a spec, its tasks and the range of them. */
export type Choice = {
  spec: string
  files: TaskFile[]
  range: Range
  stored: StoredPlan
  /** The plan begins with this invocation: there is none, or it is of another range, or is to begin anew (S0-29, H-01). */
  begins: boolean
}

export function chosen(project: Project): Choice {
  const spec = chosenSpec(project)
  const files = readTaskFiles(project.root, spec)
  const stored = readPlan(project.root, spec)
  const old = stored.kind === 'ok' ? stored.plan : null
  const asked = askedRange(project, files)
  const range = asked ?? old?.range ?? wholeRange(files)
  const same = old?.range ? sameRange(old.range, range) : false
  const begins = old === null || !same || old.step === 'init' || project.settings.force === true
  return { spec, files, range, stored, begins }
}

/** The range of a plan is not changed in passing: that takes a word (S0-76). */
export function checkRange(project: Project, { stored, range, spec }: Choice): void {
  const old = stored.kind === 'ok' ? stored.plan.range : null
  if (!old || sameRange(old, range) || project.settings.action === 'start') return
  throw new UserError(
    `the plan of ${specFolder(spec)} has the range ${old.from}→${old.to}, not ${range.from}→${range.to}`,
    'Leave --from-task and --to-task out to go on with it, or begin the new range with --action=start.',
    2,
  )
}

export function sameRange(a: Range, b: Range): boolean {
  return a.from_num === b.from_num && a.to_num === b.to_num
}

export function inRange({ from_num, to_num }: Range, { number }: Pick<TaskFile, 'number'>): boolean {
  return number >= from_num && number <= to_num
}

/** The tasks that the loop is to do. */
export function scopeOf({ files, range }: Pick<Choice, 'files' | 'range'>): Set<string> {
  return new Set(files.filter(file => inRange(range, file) && !setAside(file)).map(idOf))
}

/** What becomes finished in the course of a run does not change what the run is about. */
const settled = new WeakMap<Project, string>()

export function chosenSpec(project: Project): string {
  const spec = settled.get(project) ?? findSpec(project)
  settled.set(project, spec)
  return spec
}

/** Named, or the only one, or the only one that is not finished. */
function findSpec({ root, settings }: Project): string {
  const specs = listSpecs(root)
  const { spec } = settings
  if (typeof spec === 'string' && spec !== '') return namedSpec(root, spec, specs)
  const [only] = specs
  if (only === undefined) throw noTasks(specsFolder)
  if (specs.length === 1) return only
  const unfinished = specs.filter(one => {
    const stored = readPlan(root, one)
    return stored.kind === 'ok' && stored.plan.step !== 'complete'
  })
  if (unfinished.length === 1 && unfinished[0] !== undefined) return unfinished[0]
  throw new UserError(
    `there are several specs: ${(unfinished.length > 0 ? unfinished : specs).map(specFolder).join(', ')}`,
    `Name one: --spec=${specFolder(only)}`,
    2,
  )
}

function namedSpec(root: string, given: string, specs: string[]): string {
  const name = basename(given)
  const place = resolve(root, given)
  const home = join(root, specsFolder, name)
  // A bare name is meant within docs/specs; a path must lead there.
  const meant =
    given === name || (existsSync(place) && existsSync(home) && realpathSync(place) === realpathSync(home))
  if (meant && specs.includes(name)) return name
  throw meant ? noTasks(specFolder(name)) : noTasks(given)
}

function noTasks(where: string): UserError {
  return new UserError(
    `no tasks in ${where}`,
    `A task is a file ${specsFolder}/<spec>/tasks/TASK-001.md; \`ralph init --preset stepwise\` writes an example.`,
    2,
  )
}

function askedRange({ settings }: Project, files: TaskFile[]): Range | null {
  const { fromTask, toTask } = settings
  if (typeof fromTask !== 'string' && typeof toTask !== 'string') return null
  const whole = wholeRange(files)
  const from =
    typeof fromTask === 'string' ? end(fromTask, files) : { label: whole.from, number: whole.from_num }
  const to = typeof toTask === 'string' ? end(toTask, files) : { label: whole.to, number: whole.to_num }
  if (from.number > to.number)
    throw new UserError(
      `the range ${from.label}→${to.label} is empty`,
      'Give the lower task with --from-task.',
      2,
    )
  return { from: from.label, to: to.label, from_num: from.number, to_num: to.number }
}

function end(text: string, files: TaskFile[]): { label: string; number: number } {
  const number = taskNumber(text)
  if (number === null) throw new UserError(`'${text}' is not a task id`, 'Write it like TASK-036.', 2)
  const label = files.find(file => file.number === number)?.label ?? text.trim().toUpperCase()
  return { label: /^\d/u.test(label) ? `TASK-${label}` : label, number }
}

/** Either end may be left out: the lowest and the highest task there is (S0-32). */
function wholeRange(files: TaskFile[]): Range {
  const first = files[0]
  const last = files.at(-1)
  return {
    from: first?.label ?? 'TASK-000',
    to: last?.label ?? 'TASK-000',
    from_num: first?.number ?? 0,
    to_num: last?.number ?? 0,
  }
}
