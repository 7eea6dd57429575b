import fs from 'node:fs'
import path from 'node:path'
import { UserError } from '../core/errors.ts'
import type { Base } from '../core/event.ts'
import { writeCommit } from './commit-object.ts'
import { mustGit } from './git.ts'
import { deleteRecords, writeStart } from './position.ts'
import type { Position } from './position-type.ts'
import { rawDir, realDir } from './private-dir.ts'
import { isIndexReady } from './private-index.ts'
import { createRef, moveRefs, readRefs } from './refs.ts'
import { exclusively, remembered, unfinishedOperation } from './repository.ts'
import type { Repository } from './repository-type.ts'
import { identityEnv, ralph } from './settings.ts'
import { isStored } from './stored.ts'
import { treeIdOf } from './tree-object.ts'
import { readUserIndex } from './user-index.ts'
import { readWorkingTree, storeFiles } from './working-tree.ts'

/** Where the repository stands now. Two git processes side by side when nothing changed since the last time. */
export async function takePosition(repository: Repository): Promise<Position> {
  return exclusively(repository, () => lookAround(repository, { dropIgnored: true }))
}

/** For callers that hold the turn already. */
export async function lookAround(
  repository: Repository,
  options: { dropIgnored: boolean },
): Promise<Position> {
  const at = Date.now()
  const index = readUserIndex(repository)
  const stashLog = readStashLog(repository)
  const [files, refs] = await Promise.all([
    readWorkingTree(repository, index, options),
    readRefs(repository).then(async found => {
      if (found.head !== '') await treeOf(repository, found.head)
      return found
    }),
  ])
  const unfinished = unfinishedOperation(repository)
  return { at, ...refs, ...files, index, stashLog, unfinished, excludes: repository.settings.excludes }
}

/**
 * The position after the engine itself wrote these files, when nobody else can have worked here since `last` was taken.
 * Saves looking at all the others.
 */
export async function advancePosition(
  repository: Repository,
  last: Position,
  paths: string[],
): Promise<Position> {
  return exclusively(repository, async () => {
    const intact = isIndexReady(repository) && repository.cache.tree === last.tree
    const tree = !intact ? null : paths.length === 0 ? last.tree : await storeFiles(repository, paths)
    if (tree === null) return lookAround(repository, { dropIgnored: true })
    return { ...last, at: Date.now(), tree, delta: null }
  })
}

/**
 * Makes a position last: another process, on this machine, can put it back from the returned `Base` alone. `ref` is a
 * name of its own below `refs/ralph/`. The reference itself is only written when something would be lost without it,
 * that is not when the folder is as HEAD has it and HEAD is kept already.
 */
export async function keepPosition(repository: Repository, position: Position, ref: string): Promise<Base> {
  if (!ref.startsWith('refs/ralph/')) throw new Error(`${ref} is not below refs/ralph/`)
  const { head, branch, tree } = position
  if (head === '')
    throw new UserError('The branch has no commit.', 'Make one: git add -A && git commit -m "Start"')
  const base: Base = { head, branch, tree, snapshot: ref }
  return exclusively(repository, async () => {
    writeStart(repository, base, position)
    const headTree = await treeOf(repository, head)
    const clean = tree === headTree
    if (clean && position.kept.has(head)) return base
    if (!clean && !(await isStored(repository, { known: headTree, fresh: tree }))) {
      await storeAgain(repository, tree)
    }
    const message = 'Ralph: the state before an attempt'
    const commit = clean
      ? head
      : await remembered(repository, `state ${tree} ${head}`, () =>
          stateCommit(repository, { tree, parents: [head], message }),
        )
    await createRef(repository, ref, commit)
    return base
  })
}

/** Objects that nothing kept yet were cleared away (`git prune`): all files are read again. */
async function storeAgain(repository: Repository, tree: string): Promise<void> {
  repository.cache.indexIdentity = 'none'
  const { tree: now } = await lookAround(repository, { dropIgnored: true })
  if (now === tree) return
  throw new UserError(
    'The state before the attempt could not be kept: its objects vanished from the repository.',
    'Let nothing run `git prune` or change files while Ralph works, then run Ralph again.',
  )
}

/** References and records that are no longer needed. */
export async function forgetPositions(repository: Repository, snapshots: string[]): Promise<void> {
  const wanted = new Set(snapshots)
  return exclusively(repository, async () => {
    const listed = await mustGit(realDir(repository), [
      'for-each-ref',
      '--format=%(objectname) %(refname)',
      'refs/ralph',
    ])
    const moves = listed.split('\n').flatMap(line => {
      const [id = '', name = ''] = line.split(' ')
      return wanted.has(name) ? [{ name, from: id, to: null }] : []
    })
    await moveRefs(repository, moves, 'ralph: forget')
    deleteRecords(repository, snapshots)
  })
}

/** A commit that keeps a state. It is Ralph's own, in nobody's name. */
export async function stateCommit(
  repository: Repository,
  state: { tree: string; parents: string[]; message: string },
): Promise<string> {
  const ours = writeCommit(repository.trees.objects, { ...state, identity: ralph })
  if (ours !== null) return ours
  const parents = state.parents.flatMap(parent => ['-p', parent])
  const args = ['commit-tree', state.tree, ...parents, '-m', state.message]
  return (await mustGit(rawDir(repository), args, { env: identityEnv(ralph) })).trim()
}

/** The tree of a commit. */
export async function treeOf(repository: Repository, commit: string): Promise<string> {
  const known = repository.cache.headTrees.get(commit)
  if (known !== undefined) return known
  const tree =
    (await treeIdOf(repository.trees, commit)) ??
    (await mustGit(rawDir(repository), ['rev-parse', '--verify', '-q', `${commit}^{tree}`])).trim()
  repository.cache.headTrees.set(commit, tree)
  return tree
}

export function stashLogFile(repository: Repository): string {
  return path.join(repository.commonDir, 'logs/refs/stash')
}

/** As base64: its messages are bytes. In a linked worktree the stash is not ours to watch. */
function readStashLog(repository: Repository): string | null {
  if (repository.gitDir !== repository.commonDir) return null
  const file = stashLogFile(repository)
  return fs.existsSync(file) ? fs.readFileSync(file).toString('base64') : null
}
