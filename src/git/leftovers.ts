import fs from 'node:fs'
import path from 'node:path'
import type { Repository } from './repository-type.ts'

/**
 * What a git process that was killed leaves behind, and the merge or rebase that an agent began and did not finish. To be
 * called when the agent is gone. A lock that somebody else holds right now gets a moment to go away by itself.
 */
export async function clearLeftovers(
  repository: Repository,
  options: { unfinished: boolean },
): Promise<void> {
  const { gitDir, commonDir } = repository
  const locks = [
    path.join(gitDir, 'index.lock'),
    path.join(gitDir, 'HEAD.lock'),
    path.join(commonDir, 'packed-refs.lock'),
  ]
  for (const lock of [...locks, ...referenceLocks(commonDir, ['heads', 'tags'])]) await clearLock(lock)
  if (!options.unfinished) return
  for (const name of fs.readdirSync(gitDir)) {
    if (operationFiles.test(name)) fs.rmSync(path.join(gitDir, name), { recursive: true, force: true })
  }
}

/** The same for Ralph's own references: an engine was killed while it kept something. */
export async function clearOwnLocks({ commonDir }: Repository): Promise<void> {
  for (const lock of referenceLocks(commonDir, ['ralph'])) await clearLock(lock)
}

async function clearLock(lock: string): Promise<void> {
  for (let tries = 0; tries < 20 && fs.existsSync(lock); tries++)
    await new Promise(resolve => setTimeout(resolve, 25))
  fs.rmSync(lock, { force: true })
}

const operationFiles =
  /^(?:MERGE_(?:HEAD|MODE|MSG|RR|AUTOSTASH)|AUTO_MERGE|SQUASH_MSG|CHERRY_PICK_HEAD|REVERT_HEAD|REBASE_HEAD|BISECT_[A-Z_]+|rebase-merge|rebase-apply|sequencer)$/u

function referenceLocks(commonDir: string, kinds: string[]): string[] {
  return kinds.flatMap(kind => {
    const folder = path.join(commonDir, 'refs', kind)
    if (!fs.existsSync(folder)) return []
    const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })
    return names.filter(name => name.endsWith('.lock')).map(name => path.join(folder, name))
  })
}
