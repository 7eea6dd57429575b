import { chmodSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { writeFileAtomic } from '../../store/atomic-file.ts'
import { backUp } from '../back-up.ts'
import type { JournalView, Project } from '../layout.ts'
import { chosen } from './choice.ts'
import { deviationsIn } from './decision-log.ts'
import { type PlanInput, planOf, stamp } from './plan.ts'
import { type FixPlan, planPath, readPlan, type StoredPlan } from './plan-file.ts'
import { scriptPath, scriptText } from './script.ts'
import { listSpecs, readTaskFiles, specOf } from './task-file.ts'
import { writeStatuses } from './task-status.ts'

/** The plan of the chosen spec, and of every other one that has a plan and of whose tasks there is news. */
export async function writeSpecs(project: Project, journal: JournalView): Promise<void> {
  const { root } = project
  if (listSpecs(root).length === 0) return
  await writeStatuses(root, journal)
  const choice = chosen(project)
  await writePlan(root, { ...choice, journal, isChosen: true, deviations: deviationsIn(root, choice.spec) })
  await writeScript(root, choice.spec)
  const others = new Set(journal.events.map(one => specOf(one.task)))
  others.delete(choice.spec)
  for (const spec of others) {
    const stored = readPlan(root, spec)
    const range = stored.kind === 'ok' ? stored.plan.range : null
    if (range === null) continue
    const files = readTaskFiles(root, spec)
    const deviations = deviationsIn(root, spec)
    await writePlan(root, { spec, files, range, stored, journal, isChosen: false, deviations })
  }
}

async function writePlan(root: string, input: PlanInput): Promise<void> {
  const { stored, journal, spec } = input
  const plan = planOf(input)
  const value = stored.kind === 'ok' ? { ...plan, ...extras(stored.value) } : plan
  const silent = plan.state.last_updated === ''
  if (silent && stored.kind === 'ok') plan.state.last_updated = stored.plan.updated
  if (stored.kind === 'ok' && isDeepStrictEqual(stored.value, value)) return
  // Something changed without an event of its own: the end of the run, an edit of the task files.
  if (silent) plan.state.last_updated = stamp(journal.now)
  const path = join(root, planPath(spec))
  mkdirSync(dirname(path), { recursive: true })
  if (stored.kind === 'corrupt') backUp(path)
  // As `jq` prints it.
  await writeFileAtomic(path, `${JSON.stringify(value, null, 2)}\n`)
}

/** Keys that somebody's own tool added stay. */
function extras(value: NonNullable<Extract<StoredPlan, { kind: 'ok' }>['value']>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !ours.has(key)))
}

const ours = new Set<string>([
  'spec_id',
  'spec_folder',
  'task_range',
  'state',
  'tasks',
  'done',
  'pending',
  'optional',
  'superseded',
  'learnings',
  'deviations',
] satisfies (keyof FixPlan)[])

/** A script that is there already is its owner's. */
async function writeScript(root: string, spec: string): Promise<void> {
  const path = join(root, scriptPath(spec))
  if (!existsSync(path)) await writeFileAtomic(path, scriptText)
  const { mode } = statSync(path)
  if ((mode & 0o111) === 0 && readFileSync(path, 'utf8') === scriptText) chmodSync(path, mode | 0o755)
}
