import type { BacklogDocument, DocumentProblem, Story } from '../../core/backlog-document.ts'
import { reviewProblems } from '../../core/backlog-rules.ts'
import { dependencyProblems } from '../../core/select.ts'
import type { Task } from '../../core/task.ts'
import type { Backlog, Problem, Project, Recorded } from '../layout.ts'
import { placesOf, readTasksFile, skipsReview, type TasksFile } from './file.ts'
import { lineOf } from './json-edit.ts'

/** The reviews a story may have when nothing else is said (S1-36). */
export const defaultCap = 5

export function readBacklog(project: Project): Backlog {
  const file = readTasksFile(project)
  const { tasks } = placesOf(project)
  if (!file.document) return { tasks: [], missing: [], problems: shapeProblems(file, tasks) }
  return {
    tasks: tasksOf(file.document, tasks),
    missing: [],
    problems: [
      ...shapeProblems(file, tasks).map(problem => ({ ...problem, severity: 'warning' as const })),
      ...stateProblems(project, file, tasks),
    ],
  }
}

/** Another feature under the same ids is another piece of work: its branch says so. */
function tasksOf({ userStories, branchName }: BacklogDocument, file: string): Task[] {
  return userStories.map((story, order) => ({
    id: story.id,
    edition: branchName,
    title: story.title,
    spec: file,
    needs: textsOf(story.dependsOn),
    order,
    priority: story.priority,
    verify: [],
    allows: [],
  }))
}

/** What was done, or begun, before this journal: by Ralph with another journal, or by the seed's own script. */
export function recordedStories(project: Project): Recorded[] {
  const { document } = readTasksFile(project)
  const source = placesOf(project).tasks
  const skips = skipsReview(project)
  return (document?.userStories ?? []).flatMap(({ id, passes, reviewStatus }): Recorded[] => {
    if (passes && (skips || reviewStatus === 'approved')) return [{ id, source }]
    if (skips) return []
    if (reviewStatus === 'needs_review') return [{ id, source, stage: 'verify' }]
    if (reviewStatus === 'changes_requested') return [{ id, source, stage: 'review-fix' }]
    return []
  })
}

/** `verifyCommands`, when there are any. */
export function commandsOf(project: Project): string[] | null {
  const commands = textsOf(readTasksFile(project).document?.verifyCommands)
  return commands.length > 0 ? commands : null
}

/** Everything that is wrong with the file, with its line; for `ralph validate`. */
export function validateBacklog(project: Project): Problem[] {
  const file = readTasksFile(project)
  const { tasks } = placesOf(project)
  if (file.text === null || isTemplate(file)) return []
  return [...shapeProblems(file, tasks), ...stateProblems(project, file, tasks)]
}

/** C-33: a template as `ralph init` leaves it has a story without a title and without criteria. Nothing is planned yet. */
export function isTemplate({ text, problems }: TasksFile): boolean {
  if (text === null || problems.length === 0) return false
  try {
    const { userStories } = JSON.parse(text.replace(/^\ufeff/u, '')) as { userStories?: unknown }
    if (!Array.isArray(userStories)) return false
    const empty = (story: Partial<Story> | null) =>
      story?.title === '' && Array.isArray(story.acceptanceCriteria) && story.acceptanceCriteria.length === 0
    return userStories.every(empty)
  } catch {
    return false
  }
}

export function shapeProblems(file: TasksFile, name: string): Problem[] {
  return file.problems.map(problem => ({
    severity: 'error',
    file: name,
    line: lineOfProblem(file, problem),
    message: problem.message,
    fix: problem.story === '' ? `Correct ${name}.` : `Correct the story in ${name}.`,
  }))
}

/** Stories that contradict themselves, and needs that cannot be met. */
function stateProblems(project: Project, file: TasksFile, name: string): Problem[] {
  const { document, text } = file
  if (!document || text === null) return []
  const at = (id: string, field: string) => storyLine(text, document, id, field)
  const marks = skipsReview(project)
    ? []
    : document.userStories.flatMap(story =>
        reviewProblems({ ...document, userStories: [story] }, capOf(project)).map(message => ({
          severity: 'warning' as const,
          file: name,
          line: at(story.id, 'reviewStatus'),
          message,
          fix: 'Correct the story, or run with --skip-review.',
        })),
      )
  const needs = dependencyProblems(tasksOf(document, name)).map(({ id, message }) => ({
    severity: 'error' as const,
    file: name,
    line: at(id, 'dependsOn'),
    message: `story ${id}: ${message}`,
    fix: 'Correct dependsOn.',
  }))
  return [...marks, ...needs]
}

export function capOf({ settings }: Pick<Project, 'settings'>): number {
  return typeof settings.reviewCap === 'number' ? settings.reviewCap : defaultCap
}

function lineOfProblem({ text }: TasksFile, { story, field }: DocumentProblem): number | null {
  if (text === null) return null
  try {
    const value = JSON.parse(text.replace(/^\ufeff/u, '')) as { userStories?: unknown }
    if (story === '') return lineOf(text, [field])
    const stories = Array.isArray(value.userStories) ? value.userStories : []
    const place = /^userStories\[(\d+)\]$/u.exec(story)
    const index = place ? Number(place[1]) : stories.findLastIndex(one => one?.id === story)
    return lineOf(text, ['userStories', index, field]) ?? lineOf(text, ['userStories', index])
  } catch (error) {
    const [, position] = /position (\d+)/u.exec(String(error)) ?? []
    return position === undefined ? null : text.slice(0, Number(position)).split('\n').length
  }
}

function storyLine(text: string, { userStories }: BacklogDocument, id: string, field: string): number | null {
  const index = userStories.findIndex(story => story.id === id)
  return lineOf(text, ['userStories', index, field]) ?? lineOf(text, ['userStories', index])
}

export function textsOf(value: unknown): string[] {
  return Array.isArray(value)
    ? value.filter((one): one is string => typeof one === 'string' && one.trim() !== '')
    : []
}
