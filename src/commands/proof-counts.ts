import type { Proof } from '../core/evidence.ts'
import { openDatabase } from '../store/database.ts'

/** The done tasks by what proves them, counted by the database: reading ten thousand states would take longer than a look may. */
export function proofCounts(path: string): Record<Proof, number> {
  const db = openDatabase(path, { readOnly: true })
  try {
    const counts = db.get<{ done: number; unverified: number | null; recorded: number | null }>(`
      select count(*) as done,
        sum(json_extract(state, '$.evidence.gates.unverified') = 1) as unverified,
        sum(json_extract(state, '$.evidence.gates') is null) as recorded
      from task where status = 'done'`)
    const { done = 0, unverified, recorded } = counts ?? {}
    return {
      verified: done - (unverified ?? 0) - (recorded ?? 0),
      unverified: unverified ?? 0,
      recorded: recorded ?? 0,
    }
  } finally {
    db.close()
  }
}
