import type { Context } from './context.ts'
import { watchForCancel } from './control.ts'

/** Why a step was stopped before its end. */
export type Stopped = 'interrupt' | 'cancel' | 'lost'

/** The signal of one step: it aborts on Ctrl-C, on a lost lease, and when somebody asks for it from elsewhere. */
export function stoppable(
  context: Pick<Context, 'stop' | 'lease' | 'store'>,
  task: string,
): { signal: AbortSignal; why(): Stopped; done(): void } {
  const controller = new AbortController()
  let why: Stopped = 'interrupt'
  const stop = (reason: Stopped) => {
    if (!controller.signal.aborted) why = reason
    controller.abort()
  }
  const onStop = () => stop('interrupt')
  const onLost = () => stop('lost')
  if (context.stop.aborted) onStop()
  context.stop.addEventListener('abort', onStop, { once: true })
  context.lease.lost.addEventListener('abort', onLost, { once: true })
  const unwatch = watchForCancel({
    log: context.store.log,
    dispatch: context.store.dispatch,
    task,
    onCancel: asked => stop(asked === 'cancel' ? 'cancel' : 'interrupt'),
  })
  return {
    signal: controller.signal,
    why: () => why,
    done: () => {
      unwatch()
      context.stop.removeEventListener('abort', onStop)
      context.lease.lost.removeEventListener('abort', onLost)
    },
  }
}
