import type { Base } from '../core/event.ts'
import { matchesAny } from '../core/glob.ts'
import type { RestoreOutcome, SettleOutcome } from '../core/outcome.ts'
import type { TaskState } from '../core/state.ts'
import { labelOf } from '../core/task.ts'
import { capital } from '../core/text.ts'
import { stateFiles } from '../layouts/layout.ts'
import { readBacklogAgain } from './backlog.ts'
import type { Context } from './context.ts'
import { projectFiles } from './project-files.ts'
import { nextStep } from './step-files.ts'
import { land } from './task-folder.ts'

/** Puts the tree back to where the attempt began and keeps the failed work: under a ref, or on a branch when the preset says so. */
export async function performRestore(context: Context, task: string): Promise<void> {
  const { journal, workspace } = context
  const state = await journal.task(task)
  if (!state?.base) throw new Error(`nothing to put back for task ${task}`)
  await context.lease.assertHeld()
  const { base } = state
  const builtUpon = await isBuiltUpon(context, state, base)
  const name = `failed/${safeRef(task)}/${attemptName(base)}`
  const kept = builtUpon
    ? null
    : await workspace.putBackAttempt(base, name, await theirFiles(context, state, base))
  const ended = state.status === 'failed' || state.status === 'halted'
  const start = builtUpon && state.head ? { ...base, head: state.head } : base
  const branch =
    ended && journal.rules.workflow.git.onFail === 'branch'
      ? await branchOff(context, state, start, kept)
      : null
  const outcome: RestoreOutcome = { kind: 'restore', kept, branch }
  await journal.record(task, {
    type: 'step.finished',
    step: nextStep(context.journal.run()),
    stage: '@restore',
    outcome,
  })
  // What the attempt had added to the backlog went with it.
  if (context.layout.growing) await readBacklogAgain(context)
}

/** H-24: only what the attempts committed themselves is undone. What a person put on top of it stays, and so does that. */
async function isBuiltUpon(
  { workspace, report }: Context,
  { head, task, mixed }: TaskState,
  base: Base,
): Promise<boolean> {
  const now = await workspace.head()
  const own = !mixed && (head === undefined || now.head === head || now.head === base.head)
  if (own || now.branch !== base.branch) return false
  report.note({
    level: 'warning',
    text: `${base.branch ?? 'HEAD'} holds commits that no agent made, on top of the work of ${labelOf(task)}: nothing was put back`,
  })
  return true
}

/**
 * What no agent may change was put back with each step; what differs there now, a person changed. Over several attempts a
 * person may also have added files: what no agent is known to have made stays.
 */
async function theirFiles({ layout, protect, journal, workspace }: Context, state: TaskState, base: Base) {
  const theirs = layout.outputs ? [] : [...protect]
  const { change } = state.evidence
  if (journal.rules.workflow.git.onRetry !== 'keep' || !change || change.more > 0) return theirs
  const made = new Set(change.files.map(file => file.path))
  const { tree } = await workspace.position()
  const added = (await workspace.changedBetween(base.tree, tree)).filter(file => file.how === 'added')
  return [...theirs, ...added.flatMap(file => (made.has(file.path) ? [] : [`/${file.path}`]))]
}

/** A branch with the failed work and what tells of it; null when there is neither. Pushed only if the user asked for it. */
async function branchOff(
  context: Context,
  state: TaskState,
  base: Base,
  kept: string | null,
): Promise<string | null> {
  const { layout, journal, workspace, report } = context
  const { rules } = journal
  const { id } = state.task
  const own = layout.failed?.({ state, rules })
  if (kept === null && own === undefined) return null
  const { message, files } = own ?? { message: `Ralph Loop failed: ${id}\n\n${state.note}\n`, files: {} }
  const branch = await workspace.failureBranch({
    task: id,
    at: context.clock.now(),
    base,
    kept,
    message,
    files,
  })
  const { push } = rules.workflow.git
  const problem = push === undefined ? null : await workspace.push(push, branch)
  if (problem !== null)
    report.note({
      level: 'warning',
      text: `${branch} was not pushed to ${push}: ${problem}; it is kept here`,
    })
  return branch
}

/** Commits what the agent left uncommitted, and only that. Safe to repeat: a second time there is nothing left to commit. */
export async function performSettle(context: Context, task: string): Promise<void> {
  const { journal, workspace } = context
  const state = await journal.task(task)
  if (!state) throw new Error(`no task ${task}`)
  await context.lease.assertHeld()
  // Files that go into the commit say what it settles.
  if (context.layout.commits) await projectFiles(context)
  const { head } = await workspace.known()
  const paths = [
    ...(await uncommittedPaths(context, state, head)),
    ...(await ownCommits(context, state, head)),
  ]
  const committed =
    paths.length > 0 ? await workspace.commit(paths, commitMessage(context, state), head) : null
  const unmerged = await land(context, task, committed ?? head)
  const outcome: SettleOutcome = {
    kind: 'settle',
    head: committed ?? head,
    committed,
    paths: paths.slice(0, 200),
    ...(unmerged ? { unmerged } : {}),
  }
  await journal.record(task, {
    type: 'step.finished',
    step: nextStep(context.journal.run()),
    stage: '@settle',
    outcome,
  })
}

/** The preset's own files that go with it, where git is to know of them: what it ignores stays out of it. */
async function ownCommits(
  { layout, project, workspace }: Context,
  { task }: TaskState,
  head: string,
): Promise<string[]> {
  const files = layout.commits?.(project, task) ?? []
  if (files.length === 0) return []
  const { tree } = await workspace.position()
  const changed = new Set((await workspace.changedBetween(head, tree)).map(file => file.path))
  // State files that git does not know yet are left out of every look at the tree.
  const state = stateFiles(layout, project)
  const hidden = files.filter(file => !changed.has(file) && state.includes(file))
  const ignored = await workspace.ignored(hidden)
  return files.filter(file => changed.has(file) || (hidden.includes(file) && !ignored.has(file)))
}

function commitMessage({ journal, layout, project }: Context, { task }: TaskState): string {
  const { git, noun = 'task' } = journal.rules.workflow
  const subject = git.message ?? `${capital(noun)} {id}: {title}`
  const values: Record<string, string> = {
    iteration: String(journal.run().iterations + 1),
    ...layout.commitValues?.(project, task),
    id: labelOf(task),
    title: task.title,
  }
  // In one go: a title may hold braces of its own.
  return subject.replace(/\{(\w+)\}/gu, (mark, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? '') : mark,
  )
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
