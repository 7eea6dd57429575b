import { setTimeout as delay } from 'node:timers/promises'
import { nameOf } from './kin.ts'
import type { ProcessEntry } from './process-table.ts'

export type EndOptions = {
  /** Those alive now. */
  look: () => Promise<ProcessEntry[]>
  /** How long they may go by themselves. */
  settle: number
  /** From TERM to KILL; 0 = KILL at once. */
  grace: number
}

/** A process that a KILL has not ended by then hangs in the kernel or belongs to another user. */
const killTime = 2_000

/** Ends all that `look` shows, also those that appear meanwhile. Gives the names of those that had to be ended. */
export async function endProcesses(options: EndOptions): Promise<Set<string>> {
  const { look } = options
  const ended = new Set<string>()
  let alive = await whileAny(look, options.settle)
  if (alive.length > 0 && options.grace > 0) {
    alive = await whileAny(look, options.grace, entries => {
      for (const entry of entries.filter(one => !ended.has(nameOf(one)))) {
        ended.add(nameOf(entry))
        send(entry.pid, 'SIGTERM')
      }
    })
  }
  if (alive.length === 0) return ended
  await whileAny(look, killTime, entries => {
    for (const entry of entries) {
      ended.add(nameOf(entry))
      send(entry.pid, 'SIGKILL')
    }
  })
  return ended
}

/** A process (or with a negative pid a group) that is gone already needs no signal. */
export function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // Gone, or not ours to end.
  }
}

/** Looks again and again until none is left or the time is up; gives those that are. */
export async function whileAny(
  look: () => Promise<ProcessEntry[]>,
  most: number,
  act: (entries: ProcessEntry[]) => void = () => undefined,
): Promise<ProcessEntry[]> {
  const from = performance.now()
  let pause = 5
  for (;;) {
    const alive = await look()
    if (alive.length === 0) return alive
    act(alive)
    if (performance.now() - from >= most) return alive
    await delay(Math.min(pause, most))
    pause = Math.min(pause * 2, 50)
  }
}
