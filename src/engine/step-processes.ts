import { endRecorded } from '../process/descendants.ts'

/** The variable that every process of a step carries. */
export const stepVariable = 'RALPH_STEP'

/** From TERM to KILL. */
const grace = 1_000

/**
 * Ends what is left of a step whose engine is gone, before another engine touches the tree. The record names every
 * program of the step: none begins before it stands there, and none once its engine is dead.
 */
export async function endStepProcesses(recordFile: string): Promise<void> {
  await endRecorded(recordFile, { grace })
}
