import fs from 'node:fs'
import path from 'node:path'
import { git } from './git.ts'
import { rawDir } from './private-dir.ts'
import type { Repository } from './repository-type.ts'
import { submoduleMode } from './tree-diff.ts'
import { readTree, type Trees } from './tree-object.ts'

/**
 * Whether all that a tree holds beyond another is really there. Until a reference keeps it, a `git prune` can take it
 * away. A look at the files is enough, unless git has packed them.
 */
export async function isStored(
  repository: Repository,
  trees: { known: string; fresh: string },
): Promise<boolean> {
  const ids = await freshIds(repository.trees, trees.known, trees.fresh)
  if (ids === null) return true
  const { commonDir } = repository
  const packed = ids.filter(
    id => !fs.existsSync(path.join(commonDir, 'objects', id.slice(0, 2), id.slice(2))),
  )
  if (packed.length === 0) return true
  const stdin = packed.map(id => `${id}\n`).join('')
  const check = await git(rawDir(repository), ['cat-file', '--batch-check'], { stdin })
  return check.code === 0 && !/ missing$/mu.test(check.stdout)
}

/** Null when a tree cannot be read without git: large repositories, where looking for all this would take too long. */
async function freshIds(trees: Trees, known: string | null, fresh: string): Promise<string[] | null> {
  const before = known === null ? [] : await readTree(trees, known)
  const now = await readTree(trees, fresh)
  if (!before || !now) return null
  const old = new Map(before.map(entry => [entry.name, entry]))
  const ids = [fresh]
  for (const { name, mode, id } of now) {
    const same = old.get(name)
    if (same?.id === id || mode === submoduleMode) continue
    if (mode !== '40000') ids.push(id)
    else {
      const below = await freshIds(trees, same?.mode === '40000' ? same.id : null, id)
      if (below === null) return null
      ids.push(...below)
    }
  }
  return ids
}
