import { readFileSync } from 'node:fs'
import { endRecorded } from '../process/descendants.ts'
import { endProcesses } from '../process/end-processes.ts'
import { livingProcesses, type ProcessEntry } from '../process/process-table.ts'

/** The variable that every process of a step carries. */
export const stepVariable = 'RALPH_STEP'

/** From TERM to KILL. */
const grace = 1_000

/**
 * Ends what is left of a step whose engine is gone, before another engine touches the tree. The record of its processes
 * is not enough: an engine may be killed between a start and its record. Where the system shows the environment of a
 * process (Linux), none can hide.
 */
export async function endStepProcesses(step: string, recordFile: string): Promise<void> {
  await endProcesses({ look: () => marked(step), settle: 0, grace })
  await endRecorded(recordFile, { grace })
}

async function marked(step: string): Promise<ProcessEntry[]> {
  return (await livingProcesses()).filter(({ pid }) => pid !== process.pid && isMarked(pid, step))
}

function isMarked(pid: number, step: string): boolean {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(`\0${stepVariable}=${step}\0`)
  } catch {
    // Gone, somebody else's, or a system that does not tell.
    return false
  }
}
