import { decode, encode } from './bytes.ts'
import type { ObjectStore } from './object-store.ts'

/** One side of a difference; null: the path is not there. */
export type Entry = { mode: string; id: string } | null

/** Paths are relative to the top of the worktree. */
export type Difference = { path: string; from: Entry; to: Entry }

/** A line of a tree object. `mode` is as it is stored: `40000` for a folder. */
export type TreeEntry = { mode: string; name: string; id: string }

/** Reads and makes trees. `known`: trees that were read or made before, for the next time; `held`: their lines in all. */
export type Trees = { objects: ObjectStore; known: Map<string, TreeEntry[]>; held: number }

export function openTrees(objects: ObjectStore): Trees {
  return { objects, known: new Map(), held: 0 }
}

/** Null when git must be asked. */
export async function readTree(trees: Trees, id: string): Promise<TreeEntry[] | null> {
  const known = trees.known.get(id)
  if (known) return known
  const object = await trees.objects.read(id)
  if (object?.type !== 'tree') return null
  return remember(trees, id, parseTree(object.body, trees.objects.idSize))
}

/** The tree that a commit or a tree names. */
export async function treeIdOf(trees: Trees, id: string): Promise<string | null> {
  if (trees.known.has(id)) return id
  const object = await trees.objects.read(id)
  if (object?.type === 'tree') {
    remember(trees, id, parseTree(object.body, trees.objects.idSize))
    return id
  }
  return object?.type === 'commit' ? parseCommit(object.body).tree : null
}

export function parseCommit(body: Buffer): { tree: string; parents: string[] } {
  const end = body.indexOf('\n\n')
  const lines = body.toString('latin1', 0, end < 0 ? body.length : end).split('\n')
  const named = (word: string) =>
    lines.flatMap(line => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []))
  return { tree: named('tree')[0] ?? '', parents: named('parent') }
}

/**
 * The tree with some paths changed: null takes a path away. Only the folders above them are read and written. A file
 * takes the place of a folder and the other way round. Null when git must do it.
 */
export async function editTree(
  trees: Trees,
  id: string | null,
  changes: Map<string, Entry>,
): Promise<string | null> {
  const edited = await edit(trees, id, changes)
  if (edited === 'unknown') return null
  return edited ?? save(trees, [])
}

/** All files below a tree, by path. Null when there are more than `most`, or git must be asked. */
export async function listTree(
  trees: Trees,
  id: string,
  most: number,
  above = '',
): Promise<{ path: string; mode: string; id: string }[] | null> {
  const found: { path: string; mode: string; id: string }[] = []
  const entries = await readTree(trees, id)
  if (!entries) return null
  for (const entry of entries) {
    const path = above + entry.name
    const file = fileOf(entry)
    if (file) found.push({ path, ...file })
    else {
      const inner = await listTree(trees, entry.id, most - found.length, `${path}/`)
      if (!inner) return null
      for (const one of inner) found.push(one)
    }
    if (found.length > most) return null
  }
  return found
}

/** What differs between two trees, by path. Null when git must be asked. */
export async function compareTrees(trees: Trees, from: string, to: string): Promise<Difference[] | null> {
  const found: Difference[] = []
  const complete = await compare(trees, { from, to, above: '' }, found)
  return complete ? found.sort((a, b) => (a.path < b.path ? -1 : 1)) : null
}

async function edit(
  trees: Trees,
  id: string | null,
  changes: Map<string, Entry>,
): Promise<string | null | 'unknown'> {
  const old = id === null ? [] : await readTree(trees, id)
  if (old === null) return 'unknown'
  const entries = new Map(old.map(entry => [entry.name, entry]))
  const below = new Map<string, Map<string, Entry>>()
  for (const [path, entry] of changes) {
    const cut = path.indexOf('/')
    const name = cut < 0 ? path : path.slice(0, cut)
    if (cut >= 0) {
      const inner = below.get(name) ?? new Map<string, Entry>()
      below.set(name, inner.set(path.slice(cut + 1), entry))
    } else if (entry) entries.set(name, { ...entry, name })
    // A folder is not what was to be taken away.
    else if (!isFolder(entries.get(name))) entries.delete(name)
  }
  for (const [name, inner] of below) {
    const there = entries.get(name)
    const adds = [...inner.values()].some(entry => entry !== null)
    if (!isFolder(there) && !adds) continue
    const edited = await edit(trees, isFolder(there) ? (there?.id ?? null) : null, inner)
    if (edited === 'unknown') return edited
    if (edited === null) entries.delete(name)
    else entries.set(name, { mode: folderMode, name, id: edited })
  }
  return entries.size === 0 ? null : save(trees, [...entries.values()])
}

async function compare(
  trees: Trees,
  pair: { from: string | null; to: string | null; above: string },
  found: Difference[],
): Promise<boolean> {
  const from = pair.from === null ? [] : await readTree(trees, pair.from)
  const to = pair.to === null ? [] : await readTree(trees, pair.to)
  if (!from || !to) return false
  const before = new Map(from.map(entry => [entry.name, entry]))
  const after = new Map(to.map(entry => [entry.name, entry]))
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [old, now] = [before.get(name), after.get(name)]
    if (old && now && old.id === now.id && old.mode === now.mode) continue
    const path = pair.above + name
    const files = { path, from: fileOf(old), to: fileOf(now) }
    if (files.from || files.to) found.push(files)
    const folders = { from: folderOf(old), to: folderOf(now), above: `${path}/` }
    const inside = folders.from !== null || folders.to !== null
    if (inside && folders.from !== folders.to && !(await compare(trees, folders, found))) return false
  }
  return true
}

const folderMode = '40000'
/** So many lines of trees are kept: about ten megabytes. */
const most = 50_000

function isFolder(entry: TreeEntry | undefined): boolean {
  return entry?.mode === folderMode
}

function folderOf(entry: TreeEntry | undefined): string | null {
  return entry && isFolder(entry) ? entry.id : null
}

/** As git tells it: old repositories have modes like 100664. */
function fileOf(entry: TreeEntry | undefined): Entry {
  if (!entry || isFolder(entry)) return null
  const plain = entry.mode.startsWith('100')
  const mode = plain ? (Number.parseInt(entry.mode, 8) & 0o100 ? '100755' : '100644') : entry.mode
  return { mode, id: entry.id }
}

function save(trees: Trees, entries: TreeEntry[]): string {
  const { objects } = trees
  const sorted = entries
    .map(entry => ({ entry, key: encode(isFolder(entry) ? `${entry.name}/` : entry.name) }))
    .sort((a, b) => Buffer.compare(a.key, b.key))
    .map(({ entry }) => entry)
  const body = Buffer.concat(
    sorted.flatMap(({ mode, name, id }) => [encode(`${mode} ${name}\0`), Buffer.from(id, 'hex')]),
  )
  // Also when it is known: somebody may have cleared up since we saw it.
  const id = objects.write('tree', body)
  remember(trees, id, sorted)
  return id
}

function remember(trees: Trees, id: string, entries: TreeEntry[]): TreeEntry[] {
  if (trees.known.has(id)) return entries
  if (trees.held + entries.length > most) {
    trees.known.clear()
    trees.held = 0
  }
  trees.known.set(id, entries)
  trees.held += entries.length
  return entries
}

function parseTree(body: Buffer, idSize: number): TreeEntry[] {
  const entries: TreeEntry[] = []
  for (let at = 0; at < body.length; ) {
    const space = body.indexOf(32, at)
    const zero = body.indexOf(0, space)
    if (space < 0 || zero < 0) break
    entries.push({
      mode: body.toString('latin1', at, space),
      name: decode(body.subarray(space + 1, zero)),
      id: body.toString('hex', zero + 1, zero + 1 + idSize),
    })
    at = zero + 1 + idSize
  }
  return entries
}
