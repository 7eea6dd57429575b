import { join } from 'node:path'
import { modeOf, snapshotOf } from '../../core/backlog-rules.ts'
import { hasReview, stageOf } from '../../core/workflow.ts'
import { writeFileAtomic } from '../../store/atomic-file.ts'
import type { JournalView, LockFile, Project } from '../layout.ts'
import { capOf } from './backlog.ts'
import { bytesOf, marker, readTasksFile, skipsReview } from './file.ts'
import { modeOfStage, reviewCap } from './modes.ts'

/** `.ralph-active`: the seed's hooks look for it, and it keeps a second loop out (G-01). */
export const activeLock: LockFile = {
  file: marker,
  text: (project, { pid, now }) =>
    markerText({
      timestamp: stamp(now),
      pid,
      mode: runMode(project),
      skipReview: skipsReview(project),
      reviewCap: capOf(project),
    }),
  holder: text => {
    try {
      const { pid } = JSON.parse(text) as { pid?: unknown }
      return typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0 ? pid : null
    } catch {
      return null
    }
  },
  refusal: pid => `another ralph loop works in this folder (pid ${pid}, says ${marker})`,
}

/**
 * Before each agent call: what the call is for, and the review fields as they are now. Only where the engine that holds
 * the lock has put the file; for the engine's own judgement it is never read.
 */
export async function writeMarker(project: Project, journal: JournalView): Promise<void> {
  const path = join(project.root, marker)
  const found = bytesOf(path)?.toString('utf8')
  if (found === undefined || journal.end !== null || activeLock.holder(found) !== process.pid) return
  const { document } = readTasksFile(project)
  if (!document) return
  const { workflow } = journal.rules
  const open = journal.tasks.find(
    ({ step }) => step !== null && stageOf(workflow, step.stage)?.kind === 'agent',
  )
  const text = markerText({
    timestamp: stamp(journal.run.startedAt || journal.now),
    pid: process.pid,
    max_iterations: workflow.limits.iterations ?? 0,
    mode: runMode(project),
    skipReview: !hasReview(workflow),
    reviewCap: reviewCap(workflow),
    iterationMode: open?.step ? modeOfStage(workflow, open.step.stage) : modeOf(document),
    preIterationSnapshot: snapshotOf(document),
    ...(open ? { storyId: open.task.id } : {}),
  })
  if (text !== found) await writeFileAtomic(path, text)
}

/** S1-18: the seed's words for where agents run. */
function runMode({ settings }: Project): 'sandbox' | 'direct' {
  return settings.boxed === true ? 'sandbox' : 'direct'
}

function markerText(value: Record<string, unknown>): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** `2025-06-15T10:30:00Z`. */
function stamp(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19)}Z`
}
