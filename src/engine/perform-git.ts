import type { Base } from '../core/event.ts'
import { matchesAny } from '../core/glob.ts'
import type { RestoreOutcome, SettleOutcome } from '../core/outcome.ts'
import type { TaskState } from '../core/state.ts'
import type { Context } from './context.ts'
import { nextStep } from './step-files.ts'

/** Puts the tree back to where the attempt began and keeps the failed work: under a ref, or on a branch when the preset says so. */
export async function performRestore(context: Context, task: string): Promise<void> {
  const { journal, workspace, clock } = context
  const state = await journal.task(task)
  if (!state?.base) throw new Error(`nothing to put back for task ${task}`)
  await context.lease.assertHeld()
  const kept = await workspace.putBack(state.base, `failed/${safeRef(task)}/${attemptName(state.base)}`)
  const ended = state.status === 'failed' || state.status === 'halted'
  const branch =
    kept && ended && journal.rules.workflow.git.onFail === 'branch'
      ? await workspace.failureBranch({
          task,
          at: clock.now(),
          base: state.base,
          kept,
          message: `Ralph Loop failed: ${task}\n\n${state.note}\n`,
        })
      : null
  const outcome: RestoreOutcome = { kind: 'restore', kept, branch }
  await journal.record(task, {
    type: 'step.finished',
    step: nextStep(context.journal.run()),
    stage: '@restore',
    outcome,
  })
}

/** Commits what the agent left uncommitted, and only that. Safe to repeat: a second time there is nothing left to commit. */
export async function performSettle(context: Context, task: string): Promise<void> {
  const { journal, workspace } = context
  const state = await journal.task(task)
  if (!state) throw new Error(`no task ${task}`)
  await context.lease.assertHeld()
  const { head } = await workspace.known()
  const paths = await uncommittedPaths(context, state, head)
  const committed =
    paths.length > 0 ? await workspace.commit(paths, `Story ${task}: ${state.task.title}`, head) : null
  const outcome: SettleOutcome = {
    kind: 'settle',
    head: committed ?? head,
    committed,
    paths: paths.slice(0, 200),
  }
  await journal.record(task, {
    type: 'step.finished',
    step: nextStep(context.journal.run()),
    stage: '@settle',
    outcome,
  })
}

/**
 * What the agents of this attempt changed and did not commit: from its start to the end of its last agent call, not
 * what came after.
 */
export async function uncommittedPaths(context: Context, state: TaskState, head: string): Promise<string[]> {
  const { change } = state.evidence
  if (!state.base || !change) return []
  const [changed, uncommitted] = await Promise.all([
    context.workspace.changedBetween(state.base.tree, change.to),
    context.workspace.changedBetween(head, change.to),
  ])
  const open = new Set(uncommitted.map(file => file.path))
  const off = [...context.layout.owned, context.settings.log, ...context.protect]
  return changed.map(file => file.path).filter(path => open.has(path) && !matchesAny(path, off))
}

/** The attempt's first step, `<run>-<number>`: the same name when a putting back that was cut off is done again. */
function attemptName({ snapshot, tree }: Base): string {
  return snapshot.split('/').slice(-2).join('-') || tree
}

function safeRef(task: string): string {
  return task
    .replace(/[^A-Za-z0-9._-]/gu, '_')
    .replace(/\.\.+/gu, '.')
    .replace(/^\.|\.$|\.lock$/gu, '_')
}
