/** The engine's only source of time, so that tests can hold it. */
export interface Clock {
  now(): number
  /** Ends early, without an error, when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise(resolve => {
      if (signal?.aborted || ms <= 0) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, Math.min(ms, 2_000_000_000))
      signal?.addEventListener('abort', done, { once: true })
    }),
}
