import type { Log, StoredTask } from '../store/log.ts'
import type { Context } from './context.ts'
import { performRestore } from './perform-git.ts'
import { stepFiles } from './step-files.ts'
import { endStepProcesses } from './step-processes.ts'
import { inTaskFolder } from './task-folder.ts'
import type { Workspace } from './workspace.ts'

/** Whether an engine was cut off in the middle of something that must be put back before anything else. */
export async function isCutOff(log: Log): Promise<boolean> {
  const touched = [...(await begunTasks(log)), ...(await log.tasks({ status: [...ended] }))]
  return touched.some(({ state }) => state.step !== null || state.next?.type === 'restore')
}

/** What the attempts under way have changed so far. It lies in the tree and is not the user's. */
export async function underWay(log: Log, workspace: Workspace): Promise<string[]> {
  const paths: string[] = []
  const stopped = await log.tasks({ status: ['held', 'halted', 'failed'] })
  for (const { state } of [...(await begunTasks(log)), ...stopped]) {
    const { base, evidence } = state
    if (!base || !evidence.change) continue
    const files = await workspace.changedBetween(base.tree, evidence.change.to)
    paths.push(...files.map(file => file.path))
  }
  return paths
}

/** A task that was given up has left its work in the tree: whoever mends it by hand, to go on, works on the same files. */
export async function hasKeptWork(log: Log, only: ReadonlySet<string> | null): Promise<boolean> {
  const stopped = await log.tasks({ status: ['halted', 'failed'] })
  return stopped.some(({ id, state }) => state.base !== null && (only === null || only.has(id)))
}

/**
 * Takes up what an engine left that was killed, frozen or cut off: its agents are ended first, then the work of the
 * interrupted step is kept under a ref and the tree is put back to where the step began. It does not count.
 */
export async function recoverInterrupted(context: Context): Promise<number> {
  const { journal, store } = context
  const open = (await begunTasks(store.log)).filter(one => one.state.step !== null)
  for (const { id, state } of open) {
    const { step } = state
    if (!step) continue
    await endStepProcesses(stepFiles(context.home, step.id).processes)
    await context.lease.assertHeld()
    // By the rules it was started under: today's workflow may have no such stage.
    const rules = (await store.log.run(step.run))?.rules ?? journal.rules
    const agentStep = rules.workflow.stages[step.stage]?.kind === 'agent'
    const { workspace } = await inTaskFolder(context, id)
    const kept = agentStep ? await workspace.putBack(step.base, `interrupted/${step.id}`) : null
    await journal.record(id, { type: 'step.interrupted', step: step.id, why: 'was interrupted', kept })
  }
  return open.length
}

/** A task that ended while its failed work still lay in the tree: the putting back comes first. */
export async function finishRestores(context: Context): Promise<void> {
  const left = await context.store.log.tasks({ status: [...ended] })
  for (const { id, state } of left)
    if (state.next?.type === 'restore') await performRestore(await inTaskFolder(context, id), id)
}

const ended = ['halted', 'failed', 'cancelled', 'held', 'removed'] as const

/** Open tasks in hand, without reading the thousands that are not: the store gives those first. */
async function begunTasks(log: Log): Promise<StoredTask[]> {
  const begun: StoredTask[] = []
  for await (const candidate of log.candidates()) {
    const stored = candidate.begun ? await log.task(candidate.id) : null
    if (!stored) break
    begun.push(stored)
  }
  return begun
}
