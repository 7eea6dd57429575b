export type ClockOptions = {
  /** Milliseconds; 0 = no limit. */
  timeout: number
  idle: number
  /** True while the program waits for us, not we for it. */
  excused: () => boolean
  onTick: (now: { elapsed: number; quiet: number }) => void
  onUp: (which: 'timeout' | 'idle') => void
  now?: () => number
}

export type Clocks = { sawOutput(): void; stop(): void }

const tick = 1_000
/** A pause longer than planned by this much was not a pause of the program: the machine slept, or we were stopped. */
const latest = 2_000

/** Two clocks that count only time in which the program could run: a laptop that sleeps for the night costs seconds. */
export function startClocks(options: ClockOptions): Clocks {
  const now = options.now ?? (() => performance.now())
  let counted = 0
  let lastLook = now()
  let lastOutput = 0
  let nextTick = tick
  let planned = 0
  let timer: NodeJS.Timeout

  const elapsed = () => counted + Math.min(now() - lastLook, planned + latest)
  const look = () => {
    counted = elapsed()
    lastLook = now()
    if (options.excused()) lastOutput = counted
    const quiet = counted - lastOutput
    if (counted >= nextTick) {
      nextTick = counted + tick
      options.onTick({ elapsed: counted, quiet })
    }
    if (options.timeout > 0 && counted >= options.timeout) return options.onUp('timeout')
    if (options.idle > 0 && quiet >= options.idle) return options.onUp('idle')
    const left = [nextTick - counted]
    if (options.timeout > 0) left.push(options.timeout - counted)
    if (options.idle > 0) left.push(options.idle - quiet)
    planned = Math.max(1, Math.ceil(Math.min(...left)))
    timer = setTimeout(look, planned)
  }
  look()
  return {
    sawOutput: () => {
      lastOutput = elapsed()
    },
    stop: () => clearTimeout(timer),
  }
}
