import { dirname } from 'node:path'
import type { SettleOutcome } from '../core/outcome.ts'
import type { TaskState } from '../core/state.ts'
import type { Log } from '../store/log.ts'
import type { Context, TaskFolders } from './context.ts'
import { faultPoint } from './fault-point.ts'
import { storedUnmerged, type Unmerged, unmergedNote } from './unmerged.ts'

/**
 * A worktree per task, where the workflow wants it: the agents and the gates work in `.ralph/worktrees/<task>` on the
 * branch `ralph/<task>`, while backlog, journal and the preset's files stay those of the project. The user's own folder
 * is not touched before the work is proven and his branch can be fast-forwarded to it.
 */
export async function inTaskFolder(context: Context, task: string): Promise<Context> {
  const state = await context.journal.task(task)
  if (!state) return context
  const { folders } = context
  const fresh = state.base === null && state.step === null
  if (!folders.live.has(task)) {
    // Work that was begun in the project itself goes on there.
    if (!fresh || context.journal.rules.workflow.git.worktree !== 'task') return context
    const { branch } = await context.workspace.worktrees.head()
    folders.live.set(task, { into: branch })
    await saveFolders(context)
    faultPoint('worktree')
  }
  const from = await startingPoint(context)
  const own = folders.open.get(task) ?? (await openFolder(context, state, from))
  folders.open.set(task, own)
  context.workspace.worktrees.mend(task)
  // Other work was finished since the folder was made.
  if (fresh) {
    const { worktrees } = own.workspace
    await worktrees.forward({ to: from, branch: context.workspace.worktrees.branchOf(task) })
  }
  return own
}

async function openFolder(context: Context, state: TaskState, from: string): Promise<Context> {
  const { layout, workspace, settings, env } = context
  const recovering = state.step !== null || state.next?.type === 'restore'
  const opened = await workspace.worktrees.open(state.task.id, { from, recovering })
  faultPoint('worktree')
  return {
    ...context,
    root: opened.root,
    workspace: opened.workspace,
    // What the engine writes in the project is a mere copy here: neither state nor work.
    layout: { ...layout, owned: [], commits: () => [] },
    protect: [...context.protect, ...layout.owned],
    // The folder lies in the project: git must not look for a repository further up.
    env: { ...env, [ceiling]: dirname(opened.top) },
    settings: { ...settings, env: [...settings.env, ceiling] },
    main: context,
  }
}

const ceiling = 'GIT_CEILING_DIRECTORIES'

/** The user's HEAD, or the work of the last task that could not be brought there yet. */
async function startingPoint(context: Context): Promise<string> {
  const waiting = (await unmergedWork(context)).at(-1)
  return waiting?.head ?? (await context.workspace.worktrees.head()).head
}

/** Brings the finished work to the user's branch; what is told when that cannot be. Safe to repeat. */
export async function land(context: Context, task: string, head: string): Promise<SettleOutcome['unmerged']> {
  const { main } = context
  if (!main) return undefined
  const { worktrees } = main.workspace
  const into = main.folders.live.get(task)?.into ?? null
  const branch = worktrees.branchOf(task)
  faultPoint('worktree')
  const result = await worktrees.forward({ to: head, branch: into })
  faultPoint('worktree')
  const others = (await unmergedWork(main)).filter(one => one.task !== task)
  const own = result.type === 'kept' ? [{ task, branch, why: result.why, head }] : []
  await main.store.log.setNote(unmergedNote, JSON.stringify([...others, ...own]))
  faultPoint('worktree')
  return result.type === 'kept' ? { branch, why: result.why } : undefined
}

/** Without what the user has merged or thrown away since, each at the commit where it stands now. */
async function unmergedWork(context: Context): Promise<Unmerged[]> {
  const { worktrees } = context.workspace
  const stored = await storedUnmerged(context.store.log)
  if (stored.length === 0) return []
  const user = await worktrees.head()
  const left: Unmerged[] = []
  for (const one of stored) {
    const head = await worktrees.headOf(one.branch)
    if (head !== null && !(await worktrees.isAncestor(head, user.head))) left.push({ ...one, head })
  }
  return left
}

/** The folder of a task that has ended is taken away; its branch stays as long as it is the only place of something. */
export async function leaveIfEnded(context: Context, task: string): Promise<void> {
  const state = await context.journal.task(task)
  const working = state?.status === 'open' || state?.status === 'held'
  if (working || (state && state.next !== null)) return
  const { worktrees } = context.workspace
  const waiting = await unmergedWork(context)
  const others = waiting.filter(one => one.task !== task)
  const merged =
    others.length < waiting.length ? [] : [(await worktrees.head()).head, ...others.map(one => one.head)]
  await context.folders.open.get(task)?.workspace.settled()
  context.folders.open.delete(task)
  faultPoint('worktree')
  await worktrees.remove(task, merged)
  faultPoint('worktree')
  context.folders.live.delete(task)
  await saveFolders(context)
}

/** What an engine that was cut off has left. */
export async function leaveEnded(context: Context): Promise<void> {
  for (const task of [...context.folders.live.keys()]) await leaveIfEnded(context, task)
}

const liveNote = 'worktrees'

export async function readFolders(log: Log): Promise<TaskFolders> {
  const live = JSON.parse((await log.getNote(liveNote)) ?? '{}') as Record<string, { into: string | null }>
  return { live: new Map(Object.entries(live)), open: new Map() }
}

/** Before a folder is made and after it was taken away, so that none is forgotten. */
async function saveFolders({ folders, store }: Context): Promise<void> {
  await store.log.setNote(liveNote, JSON.stringify(Object.fromEntries(folders.live)))
}
