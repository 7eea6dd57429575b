import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Layout, Problem, Project } from './layout.ts'
import {
  commandsOf,
  isTemplate,
  readBacklog,
  recordedStories,
  shapeProblems,
  validateBacklog,
} from './tasks-json/backlog.ts'
import { marker, placesOf, readTasksFile } from './tasks-json/file.ts'
import { judgeEdit } from './tasks-json/judge.ts'
import { activeLock, writeMarker } from './tasks-json/marker.ts'
import { movedStories, projectStories } from './tasks-json/projection.ts'
import { composePrompt, reviewedTemplates, reviewedValues } from './tasks-json/prompt.ts'
import { reviewedRehearsal } from './tasks-json/rehearsal.ts'
import { reviewedSkeleton } from './tasks-json/skeleton.ts'
import { storyText } from './tasks-json/spec.ts'

/**
 * Seed 1: `ralph/{prd.md,tasks.json,progress.txt,prompt.md}` and the marker `.ralph-active`. Agents edit `tasks.json`
 * themselves; each edit is a proposal that is judged against the copy from before. Settings: `ralphDir`, `skipReview`,
 * `reviewCap`.
 */
export const tasksJson: Layout = {
  name: 'tasks-json',
  owned: ownedOf({ settings: {} }),
  state: [marker],
  forProject: project => ({ ...tasksJson, owned: ownedOf(project) }),
  protects: project => {
    const { prd, prompt } = placesOf(project)
    return [`/${prd}`, `/${prompt}`]
  },

  prerequisites,
  read: readBacklog,
  spec: (project, task) => storyText(project, task.id),
  recorded: recordedStories,
  validate: validateBacklog,
  verify: commandsOf,

  async write(project, journal) {
    await projectStories(project, journal)
    await writeMarker(project, journal)
  },

  templates: reviewedTemplates,
  template: (project, name) => (Object.hasOwn(reviewedTemplates, name) ? placesOf(project).prompt : null),
  compose: (_project, template) => composePrompt(template),
  values: reviewedValues,

  outputs: project => [placesOf(project).tasks],
  judge: judgeEdit,
  growing: true,
  commits: project => {
    const { tasks, progress } = placesOf(project)
    return [tasks, progress].filter(file => existsSync(join(project.root, file)))
  },
  moves: movedStories,
  lock: activeLock,

  skeleton: reviewedSkeleton,
  rehearsal: reviewedRehearsal,
}

/** Agents append to the progress log in every mode, and what they wrote there outlives a putting back. */
function ownedOf(project: Pick<Project, 'settings'>): string[] {
  return ['.ralph/**', `/${marker}`, '/ralph.log', `/${placesOf(project).progress}`]
}

function prerequisites(project: Project): Problem[] {
  const { dir, tasks } = placesOf(project)
  const error = (file: string, message: string, fix: string): Problem[] => [
    { severity: 'error', file, line: null, message, fix },
  ]
  if (!existsSync(join(project.root, dir)))
    return error(dir, `no ${dir}/ directory`, 'Run `ralph init --preset reviewed` first.')
  const file = readTasksFile(project)
  if (file.text === null)
    return error(tasks, `no ${tasks}`, '`ralph init --preset reviewed` writes one to begin with.')
  if (isTemplate(file))
    return error(
      tasks,
      `nothing is planned yet: ${tasks} is still the template`,
      `Plan first: fill in ${tasks} (each story needs a title and acceptance criteria).`,
    )
  if (file.document) return []
  return shapeProblems(file, tasks).map(problem => ({
    ...problem,
    message: `${tasks}${problem.line ? `:${problem.line}` : ''}: ${problem.message}`,
  }))
}
