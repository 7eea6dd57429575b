import { UserError } from '../core/errors.ts'
import type { Rules } from '../core/transition.ts'
import type { Prepared } from '../engine/prepare.ts'
import { storedView } from './stored-view.ts'
import { terminal } from './terminal.ts'

/** `ralph step --as-instructions`: the text for an agent that executes the next step itself (S0-85). Changes nothing. */
export async function printInstructions(root: string, prepared: Prepared, rules: Rules): Promise<void> {
  const { layout, project } = prepared
  if (!layout.instructions)
    throw new UserError(
      `the layout '${layout.name}' has no steps that an agent could execute by itself`,
      'Use `ralph step`, which executes the step.',
      2,
    )
  terminal().out(layout.instructions(project, await storedView(root, rules)))
}
