import { UserError } from '../core/errors.ts'
import { layoutOf } from '../engine/prepare.ts'
import { type ProjectOption, projectRoot, projectSettings } from './project.ts'
import { printJson, terminal } from './terminal.ts'

export type NewOptions = ProjectOption & { what: string; id: string; title: string; json?: boolean }

/** `ralph new story`: a valid skeleton; folders are made on demand (G-14, G-17). */
export async function newTask(options: NewOptions): Promise<void> {
  const { what, id, title } = options
  const root = projectRoot(options)
  const settings = await projectSettings(root)
  const { layout, project } = await layoutOf(root, settings)
  const { noun = 'task' } = settings.workflow
  if (!layout.create || (what !== noun && what !== 'task')) {
    throw new UserError(
      `cannot write a new '${what}' in the preset '${settings.workflow.name}'`,
      layout.create
        ? `It has ${noun === 'story' ? 'stories' : `${noun}s`}: ralph new ${noun} <id> "Title".`
        : 'Add it to the backlog by hand; the page of the preset shows how.',
      2,
    )
  }
  const file = layout.create(project, { id, title })
  if (options.json) printJson({ id, file })
  else terminal().out(`wrote ${file}\n  → fill it in, then: ralph validate\n`)
}
