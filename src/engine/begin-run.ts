import { randomBytes } from 'node:crypto'
import { UserError } from '../core/errors.ts'
import { eventVersion } from '../core/event.ts'
import { foldRun, newRunState, type RunState } from '../core/run.ts'
import type { Rules } from '../core/transition.ts'
import { type Fence, runStream } from '../store/log.ts'
import type { Store } from '../store/sqlite.ts'
import type { Clock } from './clock.ts'
import { faultPoint } from './fault-point.ts'

/** Goes on with the run that is open (`ralph step`), or begins another. */
export async function beginRun(
  store: Store,
  rules: Rules,
  attach: boolean,
  fence: Fence,
  clock: Clock,
): Promise<{ run: RunState; runSeq: number; isNew: boolean }> {
  const last = await store.log.lastRun()
  if (attach && last?.status === 'open' && JSON.stringify(last.rules) === JSON.stringify(rules)) {
    return { run: last, runSeq: await lastSeq(store, last.id), isNew: false }
  }
  if (last?.status === 'open') await closeRun(store, last, fence, clock)
  return { run: newRunState(runId(clock.now())), runSeq: 0, isNew: true }
}

/** A run that was cut off ends here. A pause outlives it: what a person stopped, only a person sets going again. */
async function closeRun(store: Store, last: RunState, fence: Fence, clock: Clock): Promise<void> {
  const resumed = (await store.dispatch.pending()).some(request => request.kind === 'resume')
  if (last.paused && !resumed)
    throw new UserError('this project is paused', 'Go on with `ralph resume`, then `ralph run`.')
  const event = {
    v: eventVersion,
    at: clock.now(),
    run: last.id,
    type: 'run.finished' as const,
    reason: 'interrupted' as const,
    message: 'cut off, or followed by another run',
  }
  const seq = (await lastSeq(store, last.id)) + 1
  await store.log.append([{ stream: runStream(last.id), seq, event, run: foldRun(last, event) }], fence)
  faultPoint('event')
}

async function lastSeq(store: Store, run: string): Promise<number> {
  return (await store.log.head(runStream(run)))?.seq ?? 0
}

/** Nobody who asked an earlier run to stop meant this one. */
export async function dropOldStops(store: Store, clock: Clock): Promise<void> {
  for (const { id, kind, task } of await store.dispatch.pending()) {
    const stops = kind === 'stop' || kind === 'resume' || (kind === 'cancel' && task === null)
    if (stops) await store.dispatch.take(id, 'came when no run was under way', clock.now())
  }
}

function runId(now: number): string {
  const time = new Date(now).toISOString().replace(/[-:]/gu, '').slice(0, 15).replace('T', '-')
  return `${time}-${randomBytes(2).toString('hex')}`
}
