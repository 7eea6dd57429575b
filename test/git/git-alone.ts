import { OnlyGitKnows } from '../../src/git/only-git.ts'
import type { Repository } from '../../src/git/repository-type.ts'

/** From now on nothing is read or written but by git itself, as in a repository that is too large or too strange. */
export function gitAlone(repository: Repository): Repository {
  const refuse = () => {
    throw new OnlyGitKnows()
  }
  repository.trees.objects = { idSize: 0, idOf: refuse, read: async () => null, write: refuse }
  repository.trees.known.clear()
  Object.assign(repository.cache, { model: null, trackedNames: null })
  return repository
}
