import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { Violation } from '../core/outcome.ts'
import type { Signal } from '../core/signals.ts'
import type { TaskState } from '../core/state.ts'
import type { Context } from './context.ts'
import { guardFiles } from './file-guard.ts'
import { putStateFiles, readStateFiles, type StateFiles } from './state-files.ts'

/** The files that the agent of a stage is meant to write, as they were before it ran. */
export type Outputs = { before: StateFiles; marks: Map<string, string> }

export function readOutputs({ layout, project }: Context, state: TaskState, stage: string): Outputs {
  const paths = layout.outputs?.(project, state.task, stage) ?? []
  return {
    before: readStateFiles(project.root, paths),
    marks: new Map(paths.map(path => [path, markOf(join(project.root, path))])),
  }
}

/** What the agent wrote there is a proposal: the layout judges it, and what is not admitted is put back. */
export async function judgeOutputs(
  context: Context,
  proposal: { state: TaskState; stage: string; outputs: Outputs },
): Promise<{ signals: Signal[]; violations: Violation[] }> {
  const { layout, project, journal } = context
  const { state, stage, outputs } = proposal
  if (!layout.judge || outputs.before.size === 0) return { signals: [], violations: [] }
  const paths = [...outputs.before.keys()]
  const { verdict, reason, violations, restore } = layout.judge(project, {
    state,
    stage,
    rules: journal.rules,
    before: outputs.before,
    after: readStateFiles(project.root, paths),
    fresh: new Set(paths.filter(path => markOf(join(project.root, path)) !== outputs.marks.get(path))),
  })
  const back = new Map([...outputs.before].filter(([path]) => restore.includes(path)))
  await guardFiles(context.lease.assertNotOver, () => putStateFiles(project.root, back))
  if (back.size > 0) context.workspace.outdated()
  return { signals: [{ type: 'judged', verdict, reason }], violations }
}

/** The step does not count, so neither does what it wrote. */
export async function dropProposal(context: Context, outputs: Outputs): Promise<void> {
  await guardFiles(context.lease.assertNotOver, () => putStateFiles(context.project.root, outputs.before))
}

/** Changes with every write, even of the same content: the time of the last change cannot be set by a program. */
function markOf(file: string): string {
  const stat = lstatSync(file, { throwIfNoEntry: false, bigint: true })
  return stat ? `${stat.ino} ${stat.ctimeNs} ${stat.size}` : ''
}
