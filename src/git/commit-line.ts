import type { Repository } from './repository-type.ts'
import { ourDifferences } from './tree-diff.ts'
import { type Difference, parseCommit } from './tree-object.ts'

export type Commit = { id: string; parents: string[]; files: Difference[] }

/** Longer ones are left to git. */
const longest = 50

/**
 * The commits from one back to an ancestor, newest first, when each has one parent: what nearly every attempt makes, and
 * it needs no git process. Null when it is not so, or cannot be known without git.
 */
export async function straightLine(
  repository: Repository,
  from: string,
  to: string,
): Promise<Commit[] | null> {
  const line: Commit[] = []
  for (let id = to; id !== from; ) {
    const object = line.length < longest ? await repository.trees.objects.read(id) : null
    if (object?.type !== 'commit') return null
    const { parents } = parseCommit(object.body)
    const [parent] = parents
    if (parent === undefined || parents.length > 1) return null
    const files = await ourDifferences(repository, parent, id)
    if (files === null) return null
    line.push({ id, parents, files })
    id = parent
  }
  return line
}
