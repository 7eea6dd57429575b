import { UserError } from '../core/errors.ts'
import { git } from './git.ts'
import type { Position } from './position-type.ts'
import { rawDir, realDir } from './private-dir.ts'
import type { RefMove } from './refs.ts'
import type { Repository } from './repository-type.ts'
import { zeroId } from './restore-files.ts'
import { stateCommit } from './snapshot.ts'

/**
 * Keeps a whole state under one reference: the files, the commits below HEAD and those of branches that will be moved.
 * A reference that exists already stays: it was written by a putting back that was interrupted half-way, and what it
 * holds is more than what is left now.
 */
export async function keepState(
  repository: Repository,
  state: { ref: string; now: Position; moves: RefMove[]; tree: string },
): Promise<string> {
  if (!state.ref.startsWith('refs/ralph/')) throw new Error(`${state.ref} is not below refs/ralph/`)
  const candidates = [state.now.head, ...state.moves.flatMap(move => move.from ?? [])]
  const parents = await commitsAmong(repository, [...new Set(candidates.filter(Boolean))])
  const message = `Ralph: work kept as ${state.ref}`
  const commit = await stateCommit(repository, { tree: state.tree, parents, message })
  for (let count = 1; ; count++) {
    const name = count === 1 ? state.ref : `${state.ref}-${count}`
    const real = realDir(repository)
    const made = await git(real, ['update-ref', '-m', 'ralph: keep', name, commit, zeroId(repository)])
    if (made.code === 0) return state.ref
    if ((await git(real, ['show-ref', '--verify', '-q', name])).code === 0) continue
    throw new UserError(
      `The work could not be kept as ${name}: ${made.stderr.trim().split('\n')[0]}`,
      'See what `git fsck` says, then run Ralph again. Nothing has been undone.',
    )
  }
}

/** A tag may name a tag, a note nothing that could be a parent. */
async function commitsAmong(repository: Repository, ids: string[]): Promise<string[]> {
  if (ids.length <= 1) return ids
  const stdin = ids.map(id => `${id}^{commit}\n`).join('')
  const result = await git(rawDir(repository), ['cat-file', '--batch-check=%(objectname) %(objecttype)'], {
    stdin,
  })
  return [
    ...new Set(
      result.stdout.split('\n').flatMap(line => (line.endsWith(' commit') ? [line.split(' ')[0] ?? ''] : [])),
    ),
  ]
}
