import fs from 'node:fs'
import { UserError } from '../core/errors.ts'
import type { ChangedFile } from '../core/outcome.ts'
import { fsPath, statOf } from './bytes.ts'
import { fields, git, mustGit } from './git.ts'
import { unlessOnlyGit } from './only-git.ts'
import { buildWithoutGit, forcedWithoutGit, loadModel, storeWithoutGit } from './our-index.ts'
import type { Unstored, UserIndex, WorkingTree } from './position-type.ts'
import { excludeFile, prepareScratch, privateIndex, rawDir, realDir } from './private-dir.ts'
import {
  buildIndex,
  isIndexReady,
  prepareIndex,
  refreshIndex,
  rememberIndex,
  removeFromIndex,
} from './private-index.ts'
import type { Repository } from './repository-type.ts'
import { type IndexModel, scanWithoutGit } from './scan.ts'
import { fromTop, inScratch, isBehindLink, ownPatterns, pathspec, toTop } from './scope.ts'

/** Untracked files above this are remembered by size and time only. */
export const largeFile = 50 * 1024 * 1024

export async function readWorkingTree(
  repository: Repository,
  userIndex: UserIndex | null,
  options: { dropIgnored: boolean },
): Promise<WorkingTree> {
  prepareScratch(repository)
  // Without waiting for nothing: the scan takes longest, so it has to start first.
  if (!isIndexReady(repository)) await makeIndex(repository, options.dropIgnored)
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

/** What an earlier process left tells which files were hidden by rules since; that is asked of it when putting back. */
async function makeIndex(repository: Repository, dropIgnored: boolean): Promise<void> {
  const first = repository.cache.indexIdentity === null
  const anew = !first || dropIgnored || !fs.existsSync(privateIndex(repository))
  if (!(anew && (await buildWithoutGit(repository, first)))) await prepareIndex(repository, dropIgnored)
}

async function updateIndex(
  repository: Repository,
  userIndex: UserIndex | null,
): Promise<WorkingTree | { problem: string }> {
  const model = unlessOnlyGit(() => loadModel(repository))
  const ours = model && unlessOnlyGit(() => scanWithoutGit(repository, model))
  if (!ours && model && unread(model) > worthwhile) await refreshIndex(repository)
  const lines = ours ?? (await scanFiles(repository))
  const forced = await forcedFiles(repository, { userIndex, model, lines })
  const before = repository.cache.tree
  const found = sortFindings(repository, lines)
  const { unstored } = found
  const unchanged = found.add.length + found.remove.length + forced.length === 0
  if (unchanged && before !== null) return { tree: before, unstored, delta: { from: before, files: [] } }

  const paths = { add: [...found.add, ...forced], remove: found.remove }
  const stored = await storePaths(repository, paths)
  if ('problem' in stored) return stored
  const { tree } = stored
  const exact = before !== null && forced.length === 0 && !found.unclear
  const files = tree === before ? [] : found.files
  return { tree, unstored, delta: exact ? { from: before, files } : null }
}

/** Takes the content of a few files into the private index; the tree that follows. Null: all must be read again. */
export async function storeFiles(repository: Repository, paths: string[]): Promise<string | null> {
  prepareScratch(repository)
  const add = paths.map(path => toTop(repository, path))
  const stored = await storePaths(repository, { add, remove: [] })
  return 'tree' in stored ? stored.tree : null
}

type Paths = { add: string[]; remove: string[] }

async function storePaths(
  repository: Repository,
  paths: Paths,
): Promise<{ tree: string } | { problem: string }> {
  const ours = await storeWithoutGit(repository, paths)
  if (ours !== null) return { tree: ours }
  if (paths.remove.length > 0) await removeFromIndex(repository, paths.remove)
  const stdin = paths.add.map(path => `${path}\0`).join('')
  const raw = rawDir(repository)
  const add = ['update-index', '-z', '--add', '--remove', '--replace', '--stdin']
  const updated = stdin === '' ? null : await git(raw, add, { stdin })
  if (updated && updated.code !== 0) return { problem: updated.stderr.trim() }
  const written = await git(raw, ['write-tree'])
  if (written.code !== 0) return { problem: written.stderr.trim() }
  const tree = written.stdout.trim()
  rememberIndex(repository, tree)
  return { tree }
}

/** So many files to be read at each scan cost more than a process. */
const worthwhile = 50

function unread(model: IndexModel): number {
  return [...model.values()].filter(entry => entry.look === null).length
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

/** Files that are tracked in spite of an ignore rule (`git add -f`): a scan does not name them as new. */
async function forcedFiles(
  repository: Repository,
  seen: { userIndex: UserIndex | null; model: IndexModel | null; lines: string[] },
): Promise<string[]> {
  const { userIndex, model, lines } = seen
  if (userIndex === null) return []
  const found = new Set(lines.map(line => line.slice(2)))
  const ours = model && unlessOnlyGit(() => forcedWithoutGit(repository, model, found))
  return ours ?? newForcedFiles(repository, userIndex)
}

/** By git: one process, when the user's index has changed. */
async function newForcedFiles(repository: Repository, userIndex: UserIndex): Promise<string[]> {
  const known = repository.cache.forced
  const paths = known?.hash === userIndex.hash ? known.paths : await listForcedFiles(repository)
  const there = paths.filter(path => {
    const stat = statOf(repository.top, path)
    return (stat?.isFile() || stat?.isSymbolicLink()) && !isBehindLink(repository, path)
  })
  repository.cache.forced = { hash: userIndex.hash, paths, there }
  const before = new Set(known?.there)
  return there.filter(path => !before.has(path))
}

async function listForcedFiles(repository: Repository): Promise<string[]> {
  const rules = ['--exclude-per-directory=.gitignore', '-X', excludeFile(repository)]
  const args = ['ls-files', '-z', '-c', '-i', ...rules, ...pathspec(repository)]
  const listed = await git(realDir(repository), args)
  // An index that the agent broke names no files; it is put back with everything else.
  return fields(listed.stdout).filter(path => !inScratch(repository, path))
}
