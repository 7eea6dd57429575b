import type { ProcessEntry } from './process-table.ts'

/** How a process is known again: pid and start, as one line of the record. */
export function nameOf(entry: ProcessEntry): string {
  return `${entry.pid} ${entry.start}`
}

export type Roots = {
  /** Names of processes seen before. */
  known: ReadonlySet<string>
  /** Sessions (or groups) that are certainly the program's: it got one of its own, and so did those that left it. */
  families: ReadonlySet<number>
  /** Watchers of a leash: they and their helpers live in the program's session but are no part of it. */
  leashes: ReadonlySet<number>
}

/**
 * Those in the table that belong to the program: known by name, or below one that does, or in its session. A pid alone
 * never counts, so a stranger that got a used pid is never taken for one of ours.
 */
export function kinIn(table: readonly ProcessEntry[], roots: Roots): ProcessEntry[] {
  const helpers = below(table, roots.leashes)
  const ours = new Map<number, ProcessEntry>()
  const families = new Set(roots.families)
  for (let before = -1; before !== ours.size; ) {
    before = ours.size
    for (const entry of table) {
      if (ours.has(entry.pid) || helpers.has(entry.pid) || entry.pid === process.pid) continue
      if (!roots.known.has(nameOf(entry)) && !ours.has(entry.ppid) && !families.has(entry.family)) continue
      ours.set(entry.pid, entry)
      families.add(entry.family)
    }
  }
  return [...ours.values()]
}

/** The given ones and all below them. */
export function below(table: readonly ProcessEntry[], tops: ReadonlySet<number>): Set<number> {
  const found = new Set(tops)
  for (let before = -1; before !== found.size; ) {
    before = found.size
    for (const entry of table) if (found.has(entry.ppid)) found.add(entry.pid)
  }
  return found
}
