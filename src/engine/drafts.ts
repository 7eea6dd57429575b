import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { processStart } from '../store/alive.ts'

/** `.<file>.<pid>-<random>.tmp` of store/atomic-file.ts, `<file>.ralph-<pid>` of git/user-index.ts. */
const draft = /(?:^\..+\.(?<writer>\d+)-[0-9a-f]{12}\.tmp|\.ralph-(?<other>\d+))$/u

/** Takes away what writers that were killed between write and rename left in these folders. */
export function sweepDrafts(folders: Iterable<string>): void {
  for (const folder of new Set(folders)) {
    for (const name of namesIn(folder)) {
      const { writer, other } = draft.exec(name)?.groups ?? {}
      const pid = Number(writer ?? other)
      if (pid > 0 && processStart(pid) === null) rmSync(join(folder, name), { force: true })
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    // No such folder, nothing left in it.
    return []
  }
}
