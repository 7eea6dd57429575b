import type { TaskStatus } from '../core/task.ts'
import type { Dispatch, StoredRequest } from '../store/dispatch.ts'
import type { Log } from '../store/log.ts'
import type { Clock } from './clock.ts'
import type { Journal } from './journal.ts'

/** What requests mean for the loop, once they are recorded. */
export type Asked = { stop: boolean; pause: boolean; resume: boolean }

/**
 * Handles what people and other processes asked for. Runs between steps; a request to stop the task under way is also
 * seen while its agent runs (`watchForCancel`).
 */
export async function handleRequests(options: {
  dispatch: Dispatch
  journal: Journal
  log: Log
  clock: Clock
}): Promise<Asked> {
  const asked: Asked = { stop: false, pause: false, resume: false }
  for (const request of await options.dispatch.pending()) {
    const result = await handle(request, options, asked)
    await options.dispatch.take(request.id, result, options.clock.now())
  }
  return asked
}

async function handle(
  request: StoredRequest,
  { journal, log }: { journal: Journal; log: Log },
  asked: Asked,
): Promise<string> {
  const { kind, task, text, by } = request
  switch (kind) {
    case 'stop':
      asked.stop = true
      return 'the run stops'
    case 'cancel':
      if (task === null) {
        asked.stop = true
        return 'the run stops'
      }
      return change(task, ['open', 'held'], () =>
        journal.record(task, { type: 'task.cancelled', why: text || `cancelled by ${by}` }),
      )
    case 'pause':
      asked.pause = true
      asked.resume = false
      if (!journal.run().paused) await journal.recordRun({ type: 'run.paused', by })
      return 'paused'
    case 'resume':
      asked.resume = true
      asked.pause = false
      if (journal.run().paused) await journal.recordRun({ type: 'run.resumed', by })
      return 'resumed'
    case 'retry':
      return task === null
        ? retryAll(by)
        : change(task, null, () => journal.record(task, { type: 'task.reopened', why: `retried by ${by}` }))
    case 'steer':
      if (task === null) return 'no task named'
      return change(task, null, () => journal.record(task, { type: 'task.steered', text }))
    default:
      return kind satisfies never
  }

  async function change(
    id: string,
    from: TaskStatus[] | null,
    record: () => Promise<unknown>,
  ): Promise<string> {
    const state = await journal.task(id)
    if (!state) return `no task ${id}`
    if (from && !from.includes(state.status)) return `task ${id} is ${state.status}`
    await record()
    return 'done'
  }

  async function retryAll(who: string): Promise<string> {
    const stuck = await log.tasks({ status: ['halted', 'failed', 'held', 'cancelled'] })
    const waiting = (await log.tasks({ status: ['open'] })).filter(one => one.state.waitUntil > 0)
    for (const { id } of [...stuck, ...waiting])
      await journal.record(id, { type: 'task.reopened', why: `retried by ${who}` })
    return `${stuck.length + waiting.length} tasks reopened`
  }
}

/** Aborts the controller when somebody asks to cancel this task or to stop the run while its agent is at work. */
export function watchForCancel(options: {
  log: Log
  dispatch: Dispatch
  task: string
  onCancel: (why: 'cancel' | 'stop') => void
}): () => void {
  const { log, dispatch, task, onCancel } = options
  const look = async () => {
    for (const request of await dispatch.pending()) {
      if (request.kind === 'stop' || (request.kind === 'cancel' && request.task === null)) onCancel('stop')
      if (request.kind === 'cancel' && request.task === task) onCancel('cancel')
    }
  }
  // A look that fails is followed by another; the request stays stored.
  return log.subscribe(() => void look().catch(() => undefined))
}
