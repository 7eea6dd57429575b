import { openRepository } from '../../src/git/repository.ts'
import { keepPosition, takePosition } from '../../src/git/snapshot.ts'
import { repositoryState, type TempProject } from './temp-project.ts'

export const keepAs = 'refs/ralph/kept/1'

/** An attempt begins: its start is kept, and all that must be the same afterwards is noted. */
export async function start(project: TempProject) {
  const repository = await openRepository(project.root)
  const position = await takePosition(repository)
  const base = await keepPosition(repository, position, 'refs/ralph/run/1')
  return { repository, position, base, before: repositoryState(project) }
}
