import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'

/** A state of the project's files: the folder as it is now, or a tree of git. Paths are from the root, with slashes. */
export type TreeReader = {
  /** The text of a file; null when there is none that can be read as text. */
  read(path: string): string | null | Promise<string | null>
  /** The names in a folder (`''` is the root), folders with a slash at the end; empty when there is no such folder. */
  list(folder: string): string[] | Promise<string[]>
}

/** Beyond this a file is no script and no configuration; it reads as if it were not there. */
const maxBytes = 1_000_000

/** The folder as it is now. */
export function folderTree(root: string): {
  read(path: string): string | null
  list(folder: string): string[]
} {
  return {
    read(path) {
      const file = join(root, path)
      try {
        const stat = statSync(file)
        return stat.isFile() && stat.size <= maxBytes ? readFileSync(file, 'utf8') : null
      } catch {
        return null
      }
    },
    list(folder) {
      try {
        return readdirSync(join(root, folder), { withFileTypes: true }).map(entry =>
          entry.isDirectory() ? `${entry.name}/` : entry.name,
        )
      } catch {
        return []
      }
    },
  }
}

/** A reader that asks for each file and folder once, and knows what is a file from the listings. */
export type Tree = {
  read(path: string): Promise<string | null>
  list(folder: string): Promise<string[]>
  isFile(path: string): Promise<boolean>
}

export function cached(reader: TreeReader): Tree {
  const texts = new Map<string, Promise<string | null>>()
  const folders = new Map<string, Promise<string[]>>()
  const list = (folder: string): Promise<string[]> => {
    const known = folders.get(folder)
    if (known) return known
    const names = look(folder)
    folders.set(folder, names)
    return names
  }
  // A folder is listed only when its parent names it: most paths asked for do not exist.
  const look = async (folder: string): Promise<string[]> => {
    if (folder === '') return reader.list('')
    const parent = await list(parentOf(folder))
    return parent.includes(`${posix.basename(folder)}/`) ? reader.list(folder) : []
  }
  const isFile = async (path: string) => (await list(parentOf(path))).includes(posix.basename(path))
  return {
    list,
    isFile,
    read(path) {
      const known = texts.get(path)
      if (known) return known
      const text = isFile(path).then(file => (file ? reader.read(path) : null))
      texts.set(path, text)
      return text
    },
  }
}

function parentOf(path: string): string {
  const parent = posix.dirname(path)
  return parent === '.' ? '' : parent
}

/** A path as a command names it, from the root of the project; null when it leads outside. */
export function inside(folder: string, path: string): string | null {
  if (path === '' || path.startsWith('/') || path.startsWith('~')) return null
  const full = posix.normalize(posix.join(folder, path)).replace(/\/$/u, '')
  return full === '.' ? '' : full.startsWith('..') ? null : full
}
