import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { Task } from '../core/task.ts'
import { recordedTasks, specBacklog } from './fix-plan/backlog.ts'
import { checkSpecs, missingTasks } from './fix-plan/check.ts'
import { checkRange, chosen, chosenSpec, scopeOf } from './fix-plan/choice.ts'
import { stepInstructions } from './fix-plan/instructions.ts'
import { movesIn } from './fix-plan/moves.ts'
import { newTask } from './fix-plan/new-task.ts'
import { committed, outputsOf } from './fix-plan/outputs.ts'
import { planPath, planProblem, readPlan } from './fix-plan/plan-file.ts'
import { printEvent } from './fix-plan/print.ts'
import { stepTemplates, stepValues } from './fix-plan/prompt.ts'
import { judgeReport } from './fix-plan/review-report.ts'
import { scriptPath } from './fix-plan/script.ts'
import { stepwiseRehearsal, stepwiseSkeleton } from './fix-plan/skeleton.ts'
import { standingAt } from './fix-plan/standing.ts'
import { listSpecs, specOf } from './fix-plan/task-file.ts'
import { writeSpecs } from './fix-plan/write.ts'
import type { Layout, Problem, Project } from './layout.ts'

/**
 * Seed 0: `docs/specs/<spec>/tasks/TASK-*.md` with `_ralph_loop/fix_plan.json`, one step per invocation. Settings: `spec`,
 * `fromTask`, `toTask`, `action` (start, loop), `force`, `resume`, `applySpecSync`, `slashCommands`, `style` (skill, script).
 */
export const fixPlan: Layout = {
  name: 'fix-plan',
  owned: ['.ralph/**', '/docs/specs/*/_ralph_loop/**', '/ralph.log'],
  state: ({ root }) => listSpecs(root).flatMap(spec => [planPath(spec), scriptPath(spec)]),
  protects: () => ['docs/specs/**'],

  prerequisites: project => [...missingTasks(project), ...brokenPlan(project)],

  read({ root }) {
    const { tasks, missing, problems } = specBacklog(root)
    return { tasks, missing, problems }
  },

  spec: specText,
  write: writeSpecs,
  recorded: ({ root, settings }) => recordedTasks(root, settings.resume === true),
  validate: checkSpecs,

  templates: stepTemplates,
  values: stepValues,

  scope(project) {
    const choice = chosen(project)
    checkRange(project, choice)
    return scopeOf(choice)
  },

  outputs: outputsOf,
  judge: (_project, proposal) =>
    proposal.stage === 'review'
      ? judgeReport(proposal)
      : { verdict: 'pass', reason: '', violations: [], restore: [] },
  commits: committed,
  /** The iteration in which the work was done; the file has counted it already (S0-71). */
  commitValues({ root }, task) {
    const stored = readPlan(root, specOf(task.id))
    return stored.kind === 'ok' ? { iteration: String(Math.max(1, stored.plan.iteration - 1)) } : {}
  },

  moves: movesIn,
  begins: project => chosen(project).begins,
  standing: standingAt,
  print: printEvent,
  instructions: stepInstructions,

  skeleton: stepwiseSkeleton,
  rehearsal: stepwiseRehearsal,
  create: newTask,
}

/** Read anew for each step. */
function specText({ root }: Project, task: Task): string {
  try {
    return readFileSync(join(root, task.spec), 'utf8').replace(/^\ufeff/u, '')
  } catch {
    throw new UserError(`no task file ${task.spec}`, 'Write it, or remove the task from the range.')
  }
}

/** A file that cannot be trusted stops the loop before anything is changed. Which spec is meant is asked elsewhere. */
function brokenPlan(project: Project): Problem[] {
  let spec: string
  try {
    spec = chosenSpec(project)
  } catch {
    return []
  }
  const problem = planProblem(readPlan(project.root, spec))
  return problem ? [problem] : []
}
