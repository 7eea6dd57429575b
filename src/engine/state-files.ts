import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Violation } from '../core/outcome.ts'
import { writeFileAtomic } from '../store/atomic-file.ts'

/** The bytes of the preset's state files; null where a file does not exist. git may not see them: they can be ignored. */
export type StateFiles = Map<string, Buffer | null>

export function readStateFiles(root: string, paths: string[]): StateFiles {
  return new Map(paths.map(path => [path, readOrNull(join(root, path))]))
}

/** Puts back what an agent changed in files that only Ralph writes, and names it. */
export async function mendStateFiles(root: string, before: StateFiles): Promise<Violation[]> {
  const changed = await putStateFiles(root, before)
  return changed.map(path => ({
    rule: 'protected-file',
    path: '',
    detail: `Changed ${path}, which only Ralph writes; it was put back`,
  }))
}

/** Writes the files that are no longer what they were; their paths. */
export async function putStateFiles(root: string, before: StateFiles): Promise<string[]> {
  const changed: string[] = []
  for (const [path, bytes] of before) {
    const file = join(root, path)
    const now = readOrNull(file)
    if (bytes === null ? now === null : now?.equals(bytes)) continue
    if (bytes === null) rmSync(file, { recursive: true, force: true })
    else {
      mkdirSync(dirname(file), { recursive: true })
      await writeFileAtomic(file, bytes)
    }
    changed.push(path)
  }
  return changed
}

function readOrNull(file: string): Buffer | null {
  try {
    return readFileSync(file)
  } catch {
    return null
  }
}
