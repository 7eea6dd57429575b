import type { Task } from '../../core/task.ts'
import type { Backlog, Problem, Project } from '../layout.ts'
import type { Plan, PlanTask } from './plan.ts'
import { planPath, readPlan } from './plan-file.ts'

export function planBacklog(project: Project): Backlog {
  const plan = readPlan(project)
  const file = planPath(project)
  const ids = idsByName(plan)
  const tasks = plan.tasks.map(
    (task, order): Task => ({
      id: task.id,
      title: task.title,
      spec: file,
      needs: task.needs.map(need => needed(ids, need.text)),
      order,
      verify: task.verify,
      allows: task.allows,
    }),
  )
  return { tasks, missing: [], problems: planProblems(plan, file) }
}

/** What is worth mending in a plan before money is spent on it. */
export function checkPlan(project: Project): Problem[] {
  const plan = readPlan(project)
  const file = planPath(project)
  const ids = idsByName(plan)
  const own = (task: PlanTask): Problem[] => [
    ...(task.criteria.length === 0
      ? [
          problem(
            file,
            task.line,
            `task '${task.id}' has no success criteria`,
            'Add a heading "Success Criteria" with a list below it.',
          ),
        ]
      : []),
    ...task.needs
      .filter(need => !ids.has(need.text.toLowerCase()) && !ids.has(numberOf(need.text)))
      .map(need =>
        problem(
          file,
          need.line,
          `task '${task.id}' depends on '${need.text}', which is not in the plan`,
          'Name it as `Task 1` or by its id.',
        ),
      ),
  ]
  return [...planProblems(plan, file), ...plan.tasks.flatMap(own)].sort(
    (a, b) => (a.line ?? 0) - (b.line ?? 0),
  )
}

function planProblems(plan: Plan, file: string): Problem[] {
  return [
    ...plan.doubles.map(({ id, line }) => ({
      ...problem(
        file,
        line,
        `two tasks have the id '${id}'`,
        `Give one of them an id of its own: ## Task 2: Title {#${id}-2}`,
      ),
      severity: 'error' as const,
    })),
    ...plan.tasks.flatMap(task =>
      task.unread.map(({ line, name }) =>
        problem(
          file,
          line,
          `task '${task.id}': no command after ${name}:`,
          `Put it in backticks: ${name}: \`npm test\``,
        ),
      ),
    ),
  ]
}

function problem(file: string, line: number, message: string, fix: string): Problem {
  return { severity: 'warning', file, line: line + 1, message, fix }
}

/** A task can be named by its id or by its number: `auth`, `Task 3`, `3`. */
function idsByName({ tasks }: Plan): Map<string, string> {
  const names = new Map<string, string>()
  for (const { id, number } of tasks)
    if (!names.has(number.toLowerCase())) names.set(number.toLowerCase(), id)
  for (const { id } of tasks) names.set(id.toLowerCase(), id)
  return names
}

function needed(ids: Map<string, string>, text: string): string {
  return ids.get(text.toLowerCase()) ?? ids.get(numberOf(text)) ?? text
}

function numberOf(text: string): string {
  return text.replace(/^task[ \t]+/iu, '').toLowerCase()
}
