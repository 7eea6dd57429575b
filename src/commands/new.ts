import { UserError } from '../core/errors.ts'
import { newStory } from '../layouts/stories/new-story.ts'
import { type ProjectOption, projectRoot } from './project.ts'
import { printJson, terminal } from './terminal.ts'

export type NewOptions = ProjectOption & { what: string; id: string; title: string; json?: boolean }

/** `ralph new story`: a valid skeleton; folders are made on demand (G-14, G-17). */
export async function newTask(options: NewOptions): Promise<void> {
  const { what, id, title } = options
  const root = projectRoot(options)
  if (what !== 'story') {
    throw new UserError(
      `cannot write a new '${what}'`,
      'Only stories so far: ralph new story 3.2 "Reset a password".',
      2,
    )
  }
  const file = newStory({ root, id, title })
  if (options.json) printJson({ id, file })
  else terminal().out(`wrote ${file}\n  → fill it in, then: ralph validate\n`)
}
