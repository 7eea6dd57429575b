import { oneLine } from '../../core/text.ts'
import type { Problem, Project } from '../layout.ts'
import { specBacklog } from './backlog.ts'
import { planProblem, readPlan } from './plan-file.ts'
import { listSpecs, specsFolder, type TaskFile, taskNumber } from './task-file.ts'

const statuses =
  /^(?:pending|todo|ready|in[-_]progress|blocked|implemented|reviewed|completed|done|optional|superseded)$/iu
const criteria = /\bacceptance criteria\b|^#{1,6}[ \t]+(?:ACs?|acceptance|definition of done)\b/imu

/** Every problem of the tasks and the plans, with file and line, for `ralph validate`. */
export function checkSpecs({ root }: Project): Problem[] {
  const { files, problems, needs } = specBacklog(root)
  const plans = listSpecs(root).flatMap(spec => planProblem(readPlan(root, spec)) ?? [])
  const all = [...[...problems, ...needs].map(grave), ...plans, ...files.flatMap(checkTask)]
  return all.sort((a, b) => (a.file === b.file ? (a.line ?? 0) - (b.line ?? 0) : a.file < b.file ? -1 : 1))
}

/** What a run warns of and goes on with the others is an error for who asks. */
function grave(problem: Problem): Problem {
  return { ...problem, severity: 'error' }
}

export function missingTasks({ root }: Project): Problem[] {
  if (listSpecs(root).length > 0) return []
  const fix = `Write ${specsFolder}/001-feature/tasks/TASK-001.md; \`ralph init --preset stepwise\` writes an example.`
  return [
    { severity: 'error', file: specsFolder, line: null, message: `no tasks in ${specsFolder}/*/tasks/`, fix },
  ]
}

function checkTask({ path, front, label, status, lang, complexity }: TaskFile): Problem[] {
  const problems: Problem[] = front.problems.map(({ line, message }) => ({
    ...{ severity: 'warning', file: path, line, message, fix: 'Correct the front matter.' },
  }))
  const lineOf = (key: string) => front.fields.get(key)?.line ?? 1
  const warn = (line: number, message: string, fix: string) =>
    problems.push({ severity: 'warning', file: path, line, message, fix })
  if (!front.present)
    warn(1, 'has no front matter', `Begin the file with \`---\`, \`id: ${label}\`, …, \`---\`.`)
  const id = oneLine(front.fields.get('id')?.items[0] ?? '')
  if (id !== '' && taskNumber(id) !== taskNumber(label))
    problems.push({
      ...{
        severity: 'error',
        file: path,
        line: lineOf('id'),
        message: `has the id ${id}, but the name of ${label}`,
      },
      fix: 'Let id and file name agree.',
    })
  if (front.present && !front.fields.has('title'))
    warn(1, 'has no title', 'Add `title:` to the front matter.')
  if (status !== '' && !statuses.test(status))
    warn(
      lineOf('status'),
      `unknown status '${status}'; it counts as pending`,
      'Use pending, completed, optional or superseded.',
    )
  if (front.present && lang === null)
    warn(1, 'has no lang', 'Add `lang:`; the commands of the steps are told it.')
  const given = ['complexity', 'complexity_score'].find(key => front.fields.has(key))
  if (given !== undefined && complexity === null)
    warn(lineOf(given), `${given} is not a number; the task comes last`, 'Give a number; lower comes first.')
  if (front.body.trim() === '')
    problems.push({
      ...{
        severity: 'error',
        file: path,
        line: front.bodyLine,
        message: 'says nothing beyond its front matter',
      },
      fix: 'Describe the task and its acceptance criteria.',
    })
  else if (!criteria.test(front.body))
    warn(
      front.bodyLine,
      'has no acceptance criteria',
      'Add a section `## Acceptance Criteria`; the review checks them.',
    )
  return problems
}
