import fs from 'node:fs'
import { statOf } from './bytes.ts'
import { type IndexEntry, parseIndex, serializeIndex } from './index-file.ts'
import type { ObjectStore } from './object-store.ts'
import { OnlyGitKnows, unlessOnlyGit } from './only-git.ts'
import { privateIndex } from './private-dir.ts'
import { isIndexReady, rememberIndex } from './private-index.ts'
import type { Repository } from './repository-type.ts'
import { type IndexModel, readContent, scanLimit } from './scan.ts'
import { inScratch, isBehindLink } from './scope.ts'
import { type Entry, editTree, listTree } from './tree-object.ts'

/** The private index in memory. Throws `OnlyGitKnows` when it holds something out of the ordinary. */
export function loadModel(repository: Repository): IndexModel {
  const { cache } = repository
  if (!isIndexReady(repository)) throw new OnlyGitKnows()
  const known = cache.model?.identity === cache.indexIdentity ? cache.model : null
  const entries = known?.entries ?? new Map(readIndex(privateIndex(repository), repository.trees.objects))
  if (known === null) {
    if (!isIndexReady(repository)) throw new OnlyGitKnows()
    cache.model = { identity: cache.indexIdentity ?? '', entries }
  }
  for (const { special, mode } of entries.values())
    if (special || !fileModes.has(mode)) throw new OnlyGitKnows()
  return entries
}

/**
 * Makes the private index anew from HEAD, without git. `trusted`: what an index that an earlier process left knows of
 * how files looked is believed. Files that are not in HEAD are found by the scan that follows. False when git must do it.
 */
export async function buildWithoutGit(repository: Repository, trusted: boolean): Promise<boolean> {
  const { trees, cache, head, prefix } = repository
  const tree = cache.headTrees.get(head)
  if (tree === undefined || prefix !== '') return false
  const listed = await listTree(trees, tree, scanLimit)
  if (!listed) return false
  const before = trusted ? readLooks(repository) : new Map<string, IndexEntry>()
  const entries: IndexModel = new Map()
  for (const { path, mode, id } of listed) {
    const old = before.get(path)
    const look = old?.id === id && old.mode === mode ? old.look : null
    entries.set(path, { path, mode, id, look, special: false })
  }
  const saved = unlessOnlyGit(() => saveModel(repository, entries, tree))
  cache.forced = null
  return saved !== null
}

/**
 * Takes files as they lie in the folder into the private index and gives the tree that follows; those that are gone are
 * taken out of it. Null when git must do it; then nothing has changed.
 */
export async function storeWithoutGit(
  repository: Repository,
  paths: { add: string[]; remove: string[] },
): Promise<string | null> {
  try {
    return await store(repository, paths)
  } catch (error) {
    if (error instanceof OnlyGitKnows) return null
    throw error
  }
}

async function store(repository: Repository, paths: { add: string[]; remove: string[] }): Promise<string> {
  const { cache, trees } = repository
  const model = loadModel(repository)
  if (cache.tree === null || model.size > mostEntries || paths.add.length > mostEntries)
    throw new OnlyGitKnows()
  const entries = new Map(model)
  const changes = new Map<string, Entry>()
  const drop = (name: string) => {
    if (entries.delete(name)) changes.set(name, null)
  }
  for (const name of paths.remove) drop(name)
  for (const name of paths.add) {
    if (isBehindLink(repository, name)) throw new OnlyGitKnows()
    const content = readContent(repository.top, name)
    if (!content) {
      // A folder is there: whether it is a repository is for git to say.
      if (statOf(repository.top, name)) throw new OnlyGitKnows()
      drop(name)
      continue
    }
    const { body, mode, look } = content
    const id = writeBlob(repository, body)
    if (!entries.has(name)) for (const taken of inTheWay(entries, name)) drop(taken)
    entries.set(name, { path: name, mode, id, look, special: false })
    changes.set(name, { mode, id })
  }
  const tree = await editTree(trees, cache.tree, inOrder(changes)).catch(() => null)
  if (tree === null) throw new OnlyGitKnows()
  saveModel(repository, entries, tree)
  return tree
}

/** Files of the user's index that the private one does not have although they are there: tracked in spite of an ignore rule. */
export function forcedWithoutGit(repository: Repository, model: IndexModel, found: Set<string>): string[] {
  const { userIndex, trackedNames } = repository.cache
  if (!userIndex) return []
  const known = trackedNames?.hash === userIndex.hash ? trackedNames.names : namesIn(repository, userIndex)
  repository.cache.trackedNames = { hash: userIndex.hash, names: known }
  return known.filter(name => {
    if (model.has(name) || found.has(name)) return false
    if (!name.startsWith(repository.prefix) || inScratch(repository, name)) return false
    const stat = statOf(repository.top, name)
    return (stat?.isFile() || stat?.isSymbolicLink()) && !isBehindLink(repository, name)
  })
}

/** Above this git is quicker. */
const mostEntries = 5_000
/** The entries of an index by path; how they looked only where it can be relied on. */
export function* readIndex(file: string, objects: ObjectStore): Generator<[string, IndexEntry]> {
  const written = fs.statSync(file, { bigint: true, throwIfNoEntry: false })?.mtimeNs
  const parsed = written === undefined ? null : parseIndex(fs.readFileSync(file), objects.idSize)
  if (!parsed || written === undefined) throw new OnlyGitKnows()
  for (const entry of parsed) {
    // As git has it: what was changed in the very moment the index was written may have changed again.
    if (entry.look && entry.look.mtimeNs >= written) entry.look = null
    yield [entry.path, entry]
  }
}

function readLooks(repository: Repository): IndexModel {
  try {
    return new Map(readIndex(privateIndex(repository), repository.trees.objects))
  } catch {
    return new Map()
  }
}

const fileModes = new Set(['100644', '100755', '120000'])

function namesIn(repository: Repository, index: { bytes: Buffer }): string[] {
  const parsed = parseIndex(index.bytes, repository.trees.objects.idSize)
  if (!parsed) throw new OnlyGitKnows()
  return [...new Set(parsed.filter(entry => fileModes.has(entry.mode)).map(entry => entry.path))]
}

function writeBlob(repository: Repository, body: Buffer): string {
  try {
    return repository.trees.objects.write('blob', body)
  } catch {
    // git says better what is wrong.
    throw new OnlyGitKnows()
  }
}

/** A file cannot stand beside a folder of the same name. */
function inTheWay(entries: IndexModel, name: string): string[] {
  const above: string[] = []
  for (let cut = name.lastIndexOf('/'); cut > 0; cut = name.lastIndexOf('/', cut - 1))
    above.push(name.slice(0, cut))
  const below = [...entries.keys()].filter(one => one.startsWith(`${name}/`))
  return [...above.filter(one => entries.has(one)), ...below]
}

/** What is taken away comes first, so that it does not take away what has come in its place. */
function inOrder(changes: Map<string, Entry>): Map<string, Entry> {
  return new Map([...changes].sort(([, a], [, b]) => Number(a !== null) - Number(b !== null)))
}

/** On disk as well, where git and the next process find it. */
function saveModel(repository: Repository, entries: IndexModel, tree: string): void {
  const file = privateIndex(repository)
  try {
    // Not in one move: a file that is replaced is written to the disk at once. A torn one betrays itself and is made anew.
    fs.rmSync(file, { force: true })
    const bytes = serializeIndex(entries.values(), repository.trees.objects.idSize)
    fs.writeFileSync(file, bytes, { flag: 'wx' })
  } catch {
    throw new OnlyGitKnows()
  }
  rememberIndex(repository, tree)
  repository.cache.model = { identity: repository.cache.indexIdentity ?? '', entries }
}
