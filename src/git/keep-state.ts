import { git, mustGit } from './git.ts'
import type { Position } from './position.ts'
import { rawDir, realDir } from './private-dir.ts'
import type { RefMove } from './refs.ts'
import type { Repository } from './repository.ts'
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
  const ref = await freeName(repository, state.ref)
  const candidates = [state.now.head, ...state.moves.flatMap(move => move.from ?? [])]
  const parents = await commitsAmong(repository, [...new Set(candidates.filter(Boolean))])
  const commit = await stateCommit(repository, {
    tree: state.tree,
    parents,
    message: `Ralph: work kept as ${state.ref}`,
  })
  await mustGit(realDir(repository), ['update-ref', '-m', 'ralph: keep', ref, commit, ''])
  return state.ref
}

async function freeName(repository: Repository, ref: string): Promise<string> {
  const listed = await mustGit(realDir(repository), ['for-each-ref', '--format=%(refname)', 'refs/ralph'])
  const taken = new Set(listed.split('\n'))
  for (let count = 1; ; count++) {
    const name = count === 1 ? ref : `${ref}-${count}`
    if (!taken.has(name)) return name
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
