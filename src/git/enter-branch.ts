import { UserError } from '../core/errors.ts'
import { git } from './git.ts'
import type { Position } from './position-type.ts'
import { realDir } from './private-dir.ts'
import { moveHead, moveRefs } from './refs.ts'
import { exclusively } from './repository.ts'
import type { Repository } from './repository-type.ts'

/**
 * Makes `name` the current branch without touching a file: it is new, or it stands where HEAD stands. A branch that is
 * elsewhere would need a checkout, which is the user's business.
 */
export async function enterBranch(
  repository: Repository,
  position: Position,
  name: string,
): Promise<boolean> {
  if (position.branch === name) return false
  const ref = `refs/heads/${name}`
  const there = position.refs.get(ref) ?? null
  const valid = await git(realDir(repository), ['check-ref-format', '--branch', name])
  if (valid.code !== 0)
    throw new UserError(`'${name}' is not a valid name of a branch.`, 'Choose another with --branch.', 2)
  if (there !== null && there !== position.head) {
    throw new UserError(
      `The branch ${name} exists and is not at HEAD.`,
      `Switch to it yourself (git switch ${name}), or choose another name with --branch.`,
    )
  }
  await exclusively(repository, async () => {
    if (there === null)
      await moveRefs(repository, [{ name: ref, from: null, to: position.head }], 'ralph: branch')
    await moveHead(repository, { head: position.head, branch: name }, `ralph: moving to ${name}`)
  })
  return true
}
