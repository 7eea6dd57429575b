import type { BacklogDocument, Story } from '../../core/backlog-document.ts'
import { UserError } from '../../core/errors.ts'
import { quiet } from '../../core/prompt.ts'
import { cut } from '../../core/text.ts'
import type { Project } from '../layout.ts'
import { textsOf } from './backlog.ts'
import { placesOf, readTasksFile } from './file.ts'

/** A story as Markdown, for prompts: what the file says of it, the review fields left out. */
export function storyText(project: Project, id: string): string {
  const { tasks } = placesOf(project)
  const { document, problems } = readTasksFile(project)
  const story = storyOf(document, id)
  if (!story)
    throw new UserError(
      problems[0]?.message ?? `no story ${id} in ${tasks}`,
      `Put the story back into ${tasks}, or take up another one.`,
    )
  const criteria = story.acceptanceCriteria.map(
    one => `- ${quiet(typeof one === 'string' ? one : JSON.stringify(one), 4000)}`,
  )
  const needs = textsOf(story.dependsOn)
  return [
    `### ${story.id}: ${quiet(story.title, 300)}`,
    ...quoted('', story.description),
    '',
    'Acceptance criteria:',
    '',
    ...criteria,
    ...(needs.length > 0 ? ['', `Depends on: ${needs.join(', ')}`] : []),
    ...quoted('Notes of earlier iterations:', cut(String(story.notes ?? ''), 40).slice(0, 6000)),
  ].join('\n')
}

/** As a quotation: what stands in a file is never taken for what an agent says when it repeats its prompt. */
function quoted(title: string, text: unknown): string[] {
  if (typeof text !== 'string' || text.trim() === '') return []
  const lines = text
    .trim()
    .split('\n')
    .map(line => `> ${quiet(line, 4000)}`.trimEnd())
  return ['', ...(title ? [title, ''] : []), ...lines]
}

export function storyOf(document: BacklogDocument | null, id: string): Story | undefined {
  return document?.userStories.find(story => story.id === id)
}
