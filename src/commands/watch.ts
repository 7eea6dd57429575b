import type { Store } from '../store/sqlite.ts'
import { openForLooking } from './look.ts'

export type WatchOptions = {
  root: string
  /** Called at once, and again after each change. Never twice at the same time. */
  show: (store: Store | null) => Promise<void>
  /** Called about every second as well, for views that tell how long something lasts. */
  tick: boolean
}

/** Follows a journal, of whichever process, until Ctrl-C or TERM. One that is not there yet is waited for. */
export async function watch({ root, show, tick }: WatchOptions): Promise<void> {
  let store: Store | null = null
  let unsubscribe = () => {}
  let showing = Promise.resolve()
  let asked = false

  await new Promise<void>((resolve, reject) => {
    const poke = () => {
      if (asked) return
      asked = true
      showing = showing.then(async () => {
        asked = false
        await show(store)
      })
      showing.catch(end)
    }
    const look = async () => {
      if (!store) {
        store = await openForLooking(root)
        if (!store) return
        unsubscribe = store.log.subscribe(poke)
        poke()
      } else if (tick) poke()
    }
    const timer = setInterval(() => void look().catch(end), 1_000)
    function end(reason: unknown): void {
      clearInterval(timer)
      for (const name of signals) process.off(name, end)
      if (typeof reason === 'string') {
        process.exitCode = reason === 'SIGTERM' ? 143 : 130
        resolve()
      } else reject(reason)
    }
    for (const name of signals) process.on(name, end)
    look()
      .then(() => {
        if (!store) poke()
      })
      .catch(end)
  }).finally(async () => {
    unsubscribe()
    // A journal must not be closed under a view that still reads it.
    await showing.catch(() => undefined)
    store?.close()
  })
}

const signals: NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
