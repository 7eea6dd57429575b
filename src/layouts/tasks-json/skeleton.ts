import { basename } from 'node:path'
import prd from '../../../templates/reviewed/prd-template.md?raw'
import progress from '../../../templates/reviewed/progress-template.md?raw'
import tasksTemplate from '../../../templates/reviewed/tasks-template.json?raw'
import type { Project, Skeleton, SkeletonOptions } from '../layout.ts'
import { marker, placesOf } from './file.ts'
import { editJson } from './json-edit.ts'
import { projectPrompt } from './prompt.ts'

/** The seed's four files. The first story is filled in, so that there is something to try the loop on. */
export function reviewedSkeleton(project: Project, { name, date, verify }: SkeletonOptions): Skeleton {
  const places = placesOf(project)
  const title = name || basename(project.root)
  const rename = (text: string) =>
    places.dir === 'ralph' ? text : text.replaceAll('ralph/', places.dir === '.' ? '' : `${places.dir}/`)
  return {
    about: `stories in ${places.tasks}; each is implemented, reviewed by a fresh context, and fixed until it is approved`,
    files: {
      [places.prd]: fillIn(prd, title, date),
      [places.tasks]: exampleTasks(title, name, verify),
      [places.progress]: fillIn(progress, title, date),
      [places.prompt]: rename(projectPrompt),
    },
    ignore: [marker],
    next: [
      `say in ${places.prd} what is to be built and why (delete the sections you do not need)`,
      `break it into stories in ${places.tasks}; US-001 there is an example`,
      'commit these files',
    ],
  }
}

/** The seed's template, byte for byte; nothing is planned in it yet (C-33). */
export const emptyTasks = tasksTemplate

export function fillIn(text: string, name: string, date: string): string {
  return text.replaceAll('{{DATE}}', date).replaceAll('{{PROJECT_NAME}}', name)
}

function exampleTasks(title: string, name: string, verify: string[] | null): string {
  const story = ['userStories', 0]
  const text = editJson(tasksTemplate, [
    { path: ['project'], value: title },
    ...(name ? [{ path: ['branchName'], value: `ralph/${slug(name)}` }] : []),
    { path: ['description'], value: `What ${title} is about, in one sentence` },
    { path: [...story, 'title'], value: 'First story' },
    { path: [...story, 'description'], value: 'As a …, I want …, so that …' },
  ])
  const list = (items: string[]) => JSON.stringify(items)
  return text
    .replace('"acceptanceCriteria": []', `"acceptanceCriteria": ${list(['Given …, when …, then …'])}`)
    .replace('"verifyCommands": []', `"verifyCommands": ${list(verify ?? [])}`)
}

function slug(name: string): string {
  return (
    name
      .trim()
      .replace(/[^\p{L}\p{N}._/-]+/gu, '-')
      .replace(/^[-./]+|[-./]+$/gu, '') || 'feature-name'
  )
}
