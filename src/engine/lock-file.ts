import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { Layout, Project } from '../layouts/layout.ts'
import { processStart } from '../store/alive.ts'
import { writeFileAtomic } from '../store/atomic-file.ts'

/**
 * The mark that the seed's own scripts look for. The lease is what keeps two engines apart; this tells programs that
 * know nothing of it, and heeds theirs. What a dead process left is taken over.
 */
export async function takeLockFile(layout: Layout, project: Project, now: number): Promise<() => void> {
  const { lock } = layout
  if (!lock) return () => undefined
  const path = join(project.root, lock.file)
  const holder = holderOf(path, lock.holder)
  if (holder !== null && holder !== process.pid && processStart(holder) !== null)
    throw new UserError(
      lock.refusal(holder),
      `Wait for it, or end it; if it is no loop at all, delete ${lock.file}.`,
    )
  await writeFileAtomic(path, lock.text(project, { pid: process.pid, now }))
  return () => {
    // Only our own: another engine may have taken over since.
    if (holderOf(path, lock.holder) === process.pid) rmSync(path, { force: true })
  }
}

function holderOf(path: string, read: (text: string) => number | null): number | null {
  try {
    return read(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}
