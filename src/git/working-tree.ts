import fs from 'node:fs'
import { UserError } from '../core/errors.ts'
import type { ChangedFile } from '../core/outcome.ts'
import { fsPath, statOf } from './bytes.ts'
import { fields, git, mustGit } from './git.ts'
import { excludeFile, preparePrivateDirs, rawDir, realDir } from './private-dir.ts'
import { buildIndex, isIndexReady, prepareIndex, rememberIndex, removeFromIndex } from './private-index.ts'
import type { Repository } from './repository.ts'
import { fromTop, inScratch, isBehindLink, ownPatterns, pathspec, toTop } from './scope.ts'
import type { UserIndex } from './user-index.ts'

/** The content of the project folder: tracked files and untracked ones that are not ignored. */
export type WorkingTree = {
  tree: string
  unstored: Unstored
  /** The changes since the tree before, when they are known without asking git. */
  delta: { from: string; files: ChangedFile[] } | null
}

/** What is seen but not stored: untracked files that are very large or cannot be read, and repositories within this one. */
export type Unstored = Map<
  string,
  { kind: 'large' | 'unreadable' | 'repository'; size: number; mtimeMs: number }
>

/** Untracked files above this are remembered by size and time only. */
export const largeFile = 50 * 1024 * 1024

export async function readWorkingTree(
  repository: Repository,
  userIndex: UserIndex | null,
  options: { dropIgnored: boolean },
): Promise<WorkingTree> {
  preparePrivateDirs(repository)
  // Without waiting for nothing: the scan takes longest, so it has to start first.
  if (!isIndexReady(repository)) await prepareIndex(repository, options.dropIgnored)
  const read = await updateIndex(repository, userIndex)
  if ('tree' in read) return read
  // Objects that the index names are gone (`git gc --prune=now`), or files changed under our hands: read all again.
  await buildIndex(repository)
  const again = await updateIndex(repository, userIndex)
  if ('tree' in again) return again
  throw new UserError(
    `git cannot store the state of the project folder: ${again.problem}`,
    'See what `git fsck` says, and that nothing else writes to the project, then run Ralph again.',
  )
}

async function updateIndex(
  repository: Repository,
  userIndex: UserIndex | null,
): Promise<WorkingTree | { problem: string }> {
  const [scan, forced] = await Promise.all([scanFiles(repository), newForcedFiles(repository, userIndex)])
  const before = repository.cache.tree
  const found = sortFindings(repository, scan)
  const unchanged = found.add.length + found.remove.length + forced.length === 0
  if (unchanged && before !== null)
    return { tree: before, unstored: found.unstored, delta: { from: before, files: [] } }

  if (found.remove.length > 0) await removeFromIndex(repository, found.remove)
  const stdin = [...found.add, ...forced].map(path => `${path}\0`).join('')
  const raw = rawDir(repository)
  if (stdin !== '') {
    const updated = await git(raw, ['update-index', '-z', '--add', '--remove', '--replace', '--stdin'], {
      stdin,
    })
    if (updated.code !== 0) return { problem: updated.stderr.trim() }
  }
  const written = await git(raw, ['write-tree'])
  if (written.code !== 0) return { problem: written.stderr.trim() }
  const tree = written.stdout.trim()
  rememberIndex(repository, tree)
  const exact = before !== null && forced.length === 0 && !found.unclear
  const files = tree === before ? [] : found.files
  return { tree, unstored: found.unstored, delta: exact ? { from: before, files } : null }
}

/** Takes the content of a few files into the private index; the tree that follows. */
export async function storeFiles(repository: Repository, paths: string[]): Promise<string> {
  preparePrivateDirs(repository)
  const raw = rawDir(repository)
  const stdin = paths.map(path => `${toTop(repository, path)}\0`).join('')
  await mustGit(raw, ['update-index', '-z', '--add', '--remove', '--replace', '--stdin'], { stdin })
  const tree = (await mustGit(raw, ['write-tree'])).trim()
  rememberIndex(repository, tree)
  return tree
}

/** One process says what differs from the private index: `R` gone, `C` changed, `?` new. */
async function scanFiles(repository: Repository): Promise<string[]> {
  const args = [
    'ls-files',
    '-z',
    '-t',
    '-m',
    '-d',
    '-o',
    '--exclude-standard',
    ...ownPatterns(repository),
    ...pathspec(repository),
  ]
  return fields(await mustGit(rawDir(repository), args))
}

type Findings = {
  add: string[]
  remove: string[]
  unstored: Unstored
  files: ChangedFile[]
  /** A new symbolic link may stand where a folder was, whose files the scan does not name. */
  unclear: boolean
}

function sortFindings(repository: Repository, scan: string[]): Findings {
  const found: Findings = { add: [], remove: [], unstored: new Map(), files: [], unclear: false }
  const seen = new Set<string>()
  for (const line of scan) {
    const path = line.slice(2)
    const isNew = line.startsWith('?')
    // Deleted files are listed twice.
    if (seen.has(path) || inScratch(repository, path)) continue
    seen.add(path)
    const name = fromTop(repository, path)
    const kind = kindOf(repository, path, isNew)
    if (kind === 'repository' || kind === 'large' || kind === 'unreadable') {
      const stat = kind === 'repository' ? null : statOf(repository.top, path)
      found.unstored.set(name, { kind, size: stat?.size ?? 0, mtimeMs: stat?.mtimeMs ?? 0 })
      continue
    }
    if (isNew && kind !== 'content') continue
    if (kind === 'displaced') found.remove.push(path)
    else found.add.push(path)
    found.files.push({ path: name, how: kind !== 'content' ? 'deleted' : isNew ? 'added' : 'modified' })
    if (isNew && statOf(repository.top, path)?.isSymbolicLink()) found.unclear = true
  }
  return found
}

/** `displaced`: a folder, a pipe or something behind a link has taken its place; git must be told that it is gone. */
type Kind = 'content' | 'gone' | 'displaced' | 'large' | 'unreadable' | 'repository'

function kindOf(repository: Repository, path: string, isNew: boolean): Kind {
  if (path.endsWith('/')) return 'repository'
  if (!isNew && isBehindLink(repository, path)) return 'displaced'
  const stat = statOf(repository.top, path)
  if (!stat) return 'gone'
  if (stat.isSymbolicLink()) return 'content'
  if (stat.isDirectory()) return statOf(repository.top, `${path}/.git`) ? 'content' : 'displaced'
  if (!stat.isFile()) return 'displaced'
  if (isNew && stat.size > largeFile) return 'large'
  return isReadable(repository, path) ? 'content' : 'unreadable'
}

function isReadable(repository: Repository, path: string): boolean {
  try {
    fs.accessSync(fsPath(repository.top, path), fs.constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** Files that are tracked in spite of an ignore rule (`git add -f`): git does not name them as new. Asked when the index changed. */
async function newForcedFiles(repository: Repository, userIndex: UserIndex | null): Promise<string[]> {
  const known = repository.cache.forced
  if (userIndex === null || known?.hash === userIndex.hash) return []
  const rules = ['--exclude-per-directory=.gitignore', '-X', excludeFile(repository)]
  const listed = await git(realDir(repository), [
    'ls-files',
    '-z',
    '-c',
    '-i',
    ...rules,
    ...pathspec(repository),
  ])
  // An index that the agent broke names no files; it is put back with everything else.
  const paths = fields(listed.stdout).filter(path => !inScratch(repository, path))
  repository.cache.forced = { hash: userIndex.hash, paths }
  const before = new Set(known?.paths)
  return paths.filter(path => {
    if (before.has(path)) return false
    const stat = statOf(repository.top, path)
    return stat?.isFile() || stat?.isSymbolicLink()
  })
}
