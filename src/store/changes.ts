import type { Database } from './database.ts'
import { StoreError } from './store-error.ts'

/** Tells listeners that events or requests came, from this process or another one. */
export type Changes = {
  subscribe(listener: () => void): () => void
  /** This process wrote something itself. */
  announce(): void
  close(): void
}

/** `follow` runs before each look and says whether another file was opened in the old one's place. */
export function watchChanges(db: Database, interval: number, follow: () => boolean): Changes {
  const listeners = new Set<() => void>()
  let timer: NodeJS.Timeout | null = null
  let announced = false
  let version = 0
  let content = ''

  function look(): void {
    const moved = follow()
    const now = dataVersion(db)
    if (!moved && now === version) return
    version = now
    const latest = lastIds(db)
    if (latest === content) return
    content = latest
    notify()
  }

  /** The file may be away or locked for a moment; the next look will tell. */
  function tryLook(): void {
    try {
      look()
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
  }

  function notify(): void {
    for (const listener of [...listeners]) listener()
  }

  function stop(): void {
    if (timer) clearInterval(timer)
    timer = null
  }

  return {
    subscribe: listener => {
      // A function of its own, so that a listener given twice is called twice and taken away once.
      const own = () => listener()
      if (listeners.size === 0) {
        version = dataVersion(db)
        content = lastIds(db)
      }
      listeners.add(own)
      timer ??= setInterval(tryLook, interval).unref()
      return () => {
        listeners.delete(own)
        if (listeners.size === 0) stop()
      }
    },
    announce: () => {
      if (announced || listeners.size === 0) return
      announced = true
      queueMicrotask(() => {
        announced = false
        notify()
      })
    },
    close: () => {
      listeners.clear()
      stop()
    },
  }
}

/** Grows with every commit of another connection, and costs next to nothing. */
function dataVersion(db: Database): number {
  return db.get<{ data_version: number }>('pragma data_version')?.data_version ?? 0
}

/** Heartbeats are commits too, but nobody waits for them. */
function lastIds(db: Database): string {
  const sql = 'select (select max(id) from event) as event, (select max(id) from request) as request'
  const ids = db.get<{ event: number | null; request: number | null }>(sql)
  return `${ids?.event}/${ids?.request}`
}
