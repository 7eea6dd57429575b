import fs from 'node:fs'
import { UserError } from '../core/errors.ts'
import { fsPath, statOf } from './bytes.ts'
import { writeCommit } from './commit-object.ts'
import { fields, git, mustGit } from './git.ts'
import { lfsPointer } from './lfs.ts'
import { treeWithFiles } from './plain-content.ts'
import { commitIndex, plainDir, realDir, userIndexDir } from './private-dir.ts'
import { exclusively } from './repository.ts'
import type { Repository } from './repository-type.ts'
import { zeroId } from './restore-files.ts'
import { toTop } from './scope.ts'
import { identityEnv } from './settings.ts'
import { treeOf } from './snapshot.ts'
import { diffTrees } from './tree-diff.ts'
import { fileIdentity } from './user-index.ts'

export type CommitInput = {
  /** Files, as they lie in the folder now; one that is gone is committed as deleted. */
  paths: string[]
  message: string
  /** The commit that HEAD stands on. Nothing happens if HEAD has moved. */
  head: string
}

export type Committed = {
  /** Null: these files are as HEAD has them. */
  commit: string | null
  /** Files under a filter that must not be run (git-crypt, …). They are left as they are, for the user to commit. */
  left: string[]
}

/**
 * Commits exactly these files on the current branch, in the user's name, without hooks and signature. In the user's
 * index only their entries change; what else he staged stays staged.
 */
export async function commitPaths(repository: Repository, input: CommitInput): Promise<Committed> {
  return exclusively(repository, async () => {
    const { commit, left, tree } = await makeCommit(repository, input)
    if (commit === null) return { commit, left }
    const changed = await diffTrees(repository, await treeOf(repository, input.head), tree)
    const lines = changed.map(
      ({ path, to }) => `${to?.mode ?? '0'} ${to?.id ?? zeroId(repository)}\t${path}\0`,
    )
    // The index first: should we be killed in between, the files are merely staged.
    await updateUserIndex(repository, lines.join(''))
    const subject = input.message.split('\n')[0] ?? ''
    const moved = await git(realDir(repository), [
      'update-ref',
      '-m',
      `commit: ${subject}`,
      'HEAD',
      commit,
      input.head,
    ])
    if (moved.code !== 0) {
      throw new UserError(
        'The branch moved while Ralph was committing to it.',
        'Let only one program at a time commit here, then run Ralph again.',
      )
    }
    return { commit, left }
  })
}

/** The same commit, but nothing points to it yet: for a failure branch. Branch, index and files stay as they are. */
export async function commitAside(repository: Repository, input: CommitInput): Promise<Committed> {
  return exclusively(repository, async () => {
    const { commit, left } = await makeCommit(repository, input)
    return { commit, left }
  })
}

async function makeCommit(repository: Repository, input: CommitInput): Promise<Committed & { tree: string }> {
  const paths = input.paths.map(name => toTop(repository, name))
  const ours = await commitWithoutGit(repository, input, paths)
  if (ours) return ours
  const plain = plainDir(repository)
  const [filters, before] = await Promise.all([
    filtersOf(repository, paths),
    treeOf(repository, input.head),
    readCommitIndex(repository, input.head),
  ])
  const left = paths.filter(path => filters.has(path) && filters.get(path) !== 'lfs')
  const wanted = paths.filter(path => !filters.has(path) || filters.get(path) === 'lfs')
  await stage(repository, wanted, filters)
  const tree = (await mustGit(plain, ['write-tree'])).trim()
  const names = left.map(path => path.slice(repository.prefix.length))
  if (tree === before) return { commit: null, left: names, tree }
  const env = identityEnv(repository.settings.identity)
  const args = ['commit-tree', tree, '-p', input.head, '-F', '-']
  const [made] = await Promise.all([
    mustGit(plain, args, { stdin: input.message, env }),
    // Asked for by the caller right after; by then it is known.
    diffTrees(repository, before, tree),
  ])
  const commit = made.trim()
  repository.cache.headTrees.set(commit, tree)
  repository.cache.commitIndex = { commit, identity: fileIdentity(commitIndex(repository)) }
  return { commit, left: names, tree }
}

/** The usual case: nothing but the files themselves has a say in what is stored. Null when git must do it. */
async function commitWithoutGit(
  repository: Repository,
  { head, message }: CommitInput,
  paths: string[],
): Promise<(Committed & { tree: string }) | null> {
  const before = await treeOf(repository, head)
  const tree = await treeWithFiles(repository, before, paths)
  if (tree === null) return null
  if (tree === before) return { commit: null, left: [], tree }
  const { identity } = repository.settings
  const commit = writeCommit(repository.trees.objects, { tree, parents: [head], message, identity })
  if (commit === null) return null
  repository.cache.headTrees.set(commit, tree)
  return { commit, left: [], tree }
}

/** Left as it is when it stands for that commit from the time before. */
async function readCommitIndex(repository: Repository, commit: string): Promise<void> {
  const known = repository.cache.commitIndex
  repository.cache.commitIndex = null
  if (known?.commit === commit && known.identity === fileIdentity(commitIndex(repository))) return
  await mustGit(plainDir(repository), ['read-tree', commit])
}

/** Which of these files go through a filter that is really defined. Without a definition git takes the bytes as they are. */
export async function filtersOf(repository: Repository, paths: string[]): Promise<Map<string, string>> {
  const { filters } = repository.settings
  if (filters.length === 0 || paths.length === 0) return new Map()
  const stdin = paths.map(path => `${path}\0`).join('')
  const parts = fields(
    await mustGit(plainDir(repository), ['check-attr', '-z', '--stdin', 'filter'], { stdin }),
  )
  const found = new Map<string, string>()
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const [path = '', , value = ''] = parts.slice(at, at + 3)
    if (filters.includes(value)) found.set(path, value)
  }
  return found
}

async function stage(repository: Repository, paths: string[], filters: Map<string, string>): Promise<void> {
  const plain = plainDir(repository)
  const ready: string[] = []
  const lines: string[] = []
  for (const path of paths) {
    const stat = statOf(repository.top, path)
    const usual =
      !stat || stat.isFile() || stat.isSymbolicLink() || fs.existsSync(fsPath(repository.top, `${path}/.git`))
    if (!usual) lines.push(`0 ${zeroId(repository)}\t${path}\0`)
    else if (stat?.isFile() && filters.has(path)) {
      const stdin = lfsPointer(repository, path, { store: true })
      const id = (await mustGit(plain, ['hash-object', '-w', '--stdin'], { stdin })).trim()
      lines.push(`${stat.mode & 0o100 ? '100755' : '100644'} ${id}\t${path}\0`)
    } else ready.push(`${path}\0`)
  }
  if (lines.length > 0)
    await mustGit(plain, ['update-index', '-z', '--index-info'], { stdin: lines.join('') })
  if (ready.length === 0) return
  await mustGit(plain, ['update-index', '-z', '--add', '--remove', '--replace', '--stdin'], {
    stdin: ready.join(''),
  })
}

/** An editor may hold the lock for a moment. */
async function updateUserIndex(repository: Repository, stdin: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const result = await git(userIndexDir(repository), ['update-index', '-z', '--replace', '--index-info'], {
      stdin,
    })
    if (result.code === 0) return
    if (tries >= 40 || !result.stderr.includes('index.lock')) {
      throw new UserError(
        `The index could not be updated: ${result.stderr.trim().split('\n')[0]}`,
        'If no other git program runs here, delete .git/index.lock, then run Ralph again.',
      )
    }
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
