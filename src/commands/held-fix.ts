import { faultFix } from '../agents/fixes.ts'
import type { Log } from '../store/log.ts'

/** What a person does about the fault that holds a task; null when no agent's fault holds it. */
export async function heldFix(log: Log, task?: string): Promise<string | null> {
  const id = task ?? (await log.tasks({ status: ['held'] }))[0]?.id
  if (id === undefined) return null
  let fix: string | null = null
  for await (const { event } of log.events({ stream: id })) {
    if (event.type !== 'step.finished' || event.outcome.kind !== 'agent') continue
    const { agent, fault } = event.outcome
    fix = fault ? faultFix(agent, fault) : null
  }
  return fix
}
