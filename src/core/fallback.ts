import { type AgentOutcome, isExcused } from './outcome.ts'

/** How an agent has been of late, within one run: outages in a row, and until when it is passed over. */
export type Health = { faults: number; until: number }

/** So many outages in a row, and the next agent of the list takes over. */
export const faultsBeforeFallback = 3

/** How long an agent is passed over that only said "no", not until when. */
const restTime = 5 * 60_000

/** A call that ended by itself makes an agent well again; an outage counts against it, a limit shuts it for its time. */
export function healthAfter(
  before: Health | undefined,
  { fault }: Pick<AgentOutcome, 'fault'>,
  at: number,
): Health {
  if (!fault || !isExcused(fault) || fault.kind === 'empty') return { faults: 0, until: 0 }
  const faults = (before?.faults ?? 0) + 1
  if (fault.kind === 'limit') return { faults, until: fault.until ?? at + restTime }
  return { faults, until: faults >= faultsBeforeFallback ? at + restTime : 0 }
}

/**
 * A little later than asked, by chance: many loops that met the same outage must not all come back in the same moment.
 * Never sooner, for a limit says when it ends. `chance`: from 0 to 1.
 */
export function withJitter(until: number, now: number, chance: number): number {
  return until + Math.min(Math.max(0, until - now) / 10, 30_000) * chance
}

/** The first of the list that is not passed over; when all are, the one whose turn comes first. */
export function pickAgent(
  keys: readonly string[],
  health: Readonly<Record<string, Health>>,
  now: number,
): number {
  const until = (key: string) => (Object.hasOwn(health, key) ? (health[key]?.until ?? 0) : 0)
  const free = keys.findIndex(key => until(key) <= now)
  if (free >= 0) return free
  const times = keys.map(until)
  return Math.max(0, times.indexOf(Math.min(...times)))
}
