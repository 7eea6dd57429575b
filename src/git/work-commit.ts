import type { Base } from '../core/event.ts'
import { decode } from './bytes.ts'
import { commitsBetween } from './changes.ts'
import { mustGit } from './git.ts'
import { plainDir, realDir } from './private-dir.ts'
import { exclusively } from './repository.ts'
import type { Repository } from './repository-type.ts'
import { zeroId } from './restore-files.ts'
import { toTop } from './scope.ts'
import { identityEnv } from './settings.ts'
import { treeOf } from './snapshot.ts'
import { diffTrees } from './tree-diff.ts'

export type WorkCommitInput = {
  base: Base
  /** The reference that `putBack` returned; null when the attempt had changed nothing. */
  kept: string | null
  message: string
  /** Files to add, by path from the project's folder: what tells of the failure. */
  files?: Record<string, string>
  /** One commit on the start of the attempt, without those of the agent: they may hold files it swept up. */
  squash?: boolean
}

/**
 * A commit that may go on a branch and be pushed: what the attempt changed, and nothing else. The reference that
 * `putBack` keeps is not fit for that, since it holds the whole folder, with the user's untracked files and half-done work.
 * Files are taken byte for byte. Nothing points to the commit yet.
 */
export async function workCommit(repository: Repository, input: WorkCommitInput): Promise<string> {
  const { base, kept, message } = input
  return exclusively(repository, async () => {
    const { tree, head } = kept === null ? base : await keptState(repository, kept, base)
    const { descends } = await commitsBetween(repository, base, { head })
    const parent = descends && !input.squash ? head : base.head
    const changes = await diffTrees(repository, base.tree, tree)
    const lines = changes.map(
      ({ path, to }) => `${to?.mode ?? '0'} ${to?.id ?? zeroId(repository)}\t${path}\0`,
    )
    const plain = plainDir(repository)
    for (const [path, text] of Object.entries(input.files ?? {})) {
      const id = (
        await mustGit(plain, ['hash-object', '-w', '--stdin'], { stdin: decode(Buffer.from(text)) })
      ).trim()
      lines.push(`100644 ${id}\t${toTop(repository, path)}\0`)
    }
    repository.cache.commitIndex = null
    await mustGit(plain, ['read-tree', parent])
    await mustGit(plain, ['update-index', '-z', '--replace', '--index-info'], { stdin: lines.join('') })
    const work = (await mustGit(plain, ['write-tree'])).trim()
    if (work === (await treeOf(repository, parent))) return parent
    const env = identityEnv(repository.settings.identity)
    const made = await mustGit(plain, ['commit-tree', work, '-p', parent, '-F', '-'], { stdin: message, env })
    return made.trim()
  })
}

async function keptState(
  repository: Repository,
  kept: string,
  base: Base,
): Promise<{ tree: string; head: string }> {
  const names = [`${kept}^{tree}`, `${kept}^1`]
  const found = await mustGit(realDir(repository), ['rev-parse', '--revs-only', ...names])
  const [tree = '', head = base.head] = found.trim().split('\n')
  return { tree, head }
}
