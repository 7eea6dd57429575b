import { endProcesses, whileAny } from './end-processes.ts'
import { below, kinIn, nameOf } from './kin.ts'
import { type ProcessRecord, readRecord } from './process-record.ts'
import { livingProcesses, type ProcessEntry } from './process-table.ts'

/** Everything a program ever started, as far as it was seen; who was seen once stays known wherever it goes. */
export type Descendants = {
  /** Looks now and gives all that are alive, the program itself with them, the leash left out. */
  look(): Promise<ProcessEntry[]>
  /** Something happened: the next look is soon. */
  hurry(): void
  stop(): void
}

/** Pauses between looks in milliseconds: children are born early. Then `usual`, or `soon` after some output. */
const early = [10, 15, 25, 50, 100, 200, 400]
const usual = 800
const soon = 200
/** A full look takes about 10 µs for each process of the machine; at most this part of the time is spent on looks. */
const share = 1 / 50
const slowest = 2_000
/** For so long a stranger is not looked at again: no system comes round to the same pid any sooner. */
const strangersKept = 2_000
/** A session number stays taken while somebody is in it; after a longer gap nobody may have been. */
const longestGap = 10_000

/**
 * No system tells us of every birth without help from the kernel, so the table is looked at again and again. One that
 * takes a session of its own and loses its parents between two looks is never seen; only a box keeps hold of that.
 */
export function watchDescendants(options: {
  root: number
  leash: number
  record: ProcessRecord
}): Descendants {
  const { root, record } = options
  const known = new Set<string>()
  const strangers = new Set<number>()
  let leashes = new Set([options.leash])
  let lookedAtAll = Number.NEGATIVE_INFINITY
  let families = new Set([root])
  let looked = performance.now()
  let cost = 0
  let looks = 0
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let due = 0

  const look = async (): Promise<ProcessEntry[]> => {
    const from = performance.now()
    if (from - lookedAtAll > strangersKept) {
      strangers.clear()
      leashes = new Set([options.leash])
      lookedAtAll = from
    }
    const table = await livingProcesses(strangers)
    leashes = below(table, leashes)
    const kin = kinIn(table, {
      known,
      families: from - looked < longestGap ? families : new Set([root]),
      leashes,
    })
    for (const entry of table) strangers.add(entry.pid)
    for (const entry of kin) strangers.delete(entry.pid)
    const added = kin.map(nameOf).filter(name => !known.has(name))
    for (const name of added) known.add(name)
    record.add(added)
    families = new Set([root, ...kin.map(entry => entry.family)])
    looked = performance.now()
    cost = looked - from
    return kin
  }
  const schedule = (pause: number) => {
    const wait = looks <= early.length ? pause : Math.max(pause, Math.min(cost / share, slowest))
    due = performance.now() + wait
    clearTimeout(timer)
    timer = setTimeout(() => void look().then(next, next), wait)
  }
  const next = () => {
    if (!stopped) schedule(early[looks++] ?? usual)
  }

  next()
  return {
    look,
    hurry: () => {
      if (!stopped && due - performance.now() > soon) schedule(soon)
    },
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** A watcher is through within five seconds, unless it waits for a silence that is long in coming. */
const watcherTime = 6_000

/**
 * Ends what an engine left behind that is dead, or frozen for too long: those recorded, by pid and start time, what lives
 * below them or in their sessions. Nothing else. The watchers go first: a watcher sees its program's children while they
 * still have their parent, which nobody can any more who ends the parent beside it.
 */
export async function endRecorded(processFile: string, options: { grace: number }): Promise<number> {
  // Read again at each look: a leash that was just let go is about to write its watcher down.
  const watchersIn = (table: ProcessEntry[]) => {
    const { leashes } = readRecord(processFile)
    return table.filter(entry => leashes.has(nameOf(entry)))
  }
  await whileAny(async () => watchersIn(await livingProcesses()), watcherTime)
  const { known } = readRecord(processFile)
  if (known.size === 0) return 0
  const look = async () => {
    const table = await livingProcesses()
    const watchers = watchersIn(table)
    // While its watcher lives, nobody else can have the session's number.
    const families = new Set(watchers.map(entry => entry.family))
    const kin = kinIn(table, { known, families, leashes: new Set(watchers.map(entry => entry.pid)) })
    for (const entry of kin) known.add(nameOf(entry))
    return kin
  }
  return (await endProcesses({ look, settle: 0, grace: options.grace })).size
}
