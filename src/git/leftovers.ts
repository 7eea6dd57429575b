import fs from 'node:fs'
import path from 'node:path'
import type { Repository } from './repository.ts'

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
  for (const lock of [...locks, ...referenceLocks(commonDir)]) {
    for (let tries = 0; tries < 20 && fs.existsSync(lock); tries++)
      await new Promise(resolve => setTimeout(resolve, 25))
    fs.rmSync(lock, { force: true })
  }
  if (!options.unfinished) return
  for (const name of fs.readdirSync(gitDir)) {
    if (operationFiles.test(name)) fs.rmSync(path.join(gitDir, name), { recursive: true, force: true })
  }
}

const operationFiles =
  /^(?:MERGE_(?:HEAD|MODE|MSG|RR|AUTOSTASH)|AUTO_MERGE|SQUASH_MSG|CHERRY_PICK_HEAD|REVERT_HEAD|REBASE_HEAD|BISECT_[A-Z_]+|rebase-merge|rebase-apply|sequencer)$/u

function referenceLocks(commonDir: string): string[] {
  return ['heads', 'tags'].flatMap(kind => {
    const folder = path.join(commonDir, 'refs', kind)
    if (!fs.existsSync(folder)) return []
    const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })
    return names.filter(name => name.endsWith('.lock')).map(name => path.join(folder, name))
  })
}
