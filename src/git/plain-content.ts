import fs from 'node:fs'
import path from 'node:path'
import { statOf } from './bytes.ts'
import { unlessOnlyGit } from './only-git.ts'
import type { Repository } from './repository-type.ts'
import { readContent } from './scan.ts'
import { isBehindLink } from './scope.ts'
import { type Entry, editTree, readTree } from './tree-object.ts'

/**
 * The tree of a commit with some files as they lie in the folder, when git would store them just so: no attribute and no
 * setting changes line ends, encodings or anything else. Null when git must do it.
 */
export async function treeWithFiles(
  repository: Repository,
  tree: string,
  paths: string[],
): Promise<string | null> {
  if (!isPlain(repository)) return null
  const changes = new Map<string, Entry>()
  for (const name of paths) {
    if (isBehindLink(repository, name) || (await hasAttributes(repository, tree, name))) return null
    const entry = unlessOnlyGit(() => storedAs(repository, name))
    if (entry === null) return null
    changes.set(name, entry === 'gone' ? null : entry)
  }
  return editTree(repository.trees, tree, changes).catch(() => null)
}

/** Nothing outside the working files changes content. */
function isPlain({ settings, prefix }: Repository): boolean {
  const { core, attributes, attributesFile } = settings
  const is = (key: string, usual: string) => (core[key] ?? usual) === usual
  return (
    prefix === '' &&
    settings.filters.length === 0 &&
    is('core.autocrlf', 'false') &&
    is('core.filemode', 'true') &&
    is('core.symlinks', 'true') &&
    is('core.ignorecase', 'false') &&
    is('core.precomposeunicode', 'false') &&
    attributes.trim() === '' &&
    !fs.existsSync(attributesFile)
  )
}

/** Beside the file or in a folder above it, in the folder or in the commit: git takes the one where the other is missing. */
async function hasAttributes(repository: Repository, tree: string, name: string): Promise<boolean> {
  const parts = name.split('/').slice(0, -1)
  let id: string | null = tree
  for (let depth = 0; depth <= parts.length; depth++) {
    const folder = parts.slice(0, depth).join('/')
    if (statOf(repository.top, path.posix.join(folder, '.gitattributes'))) return true
    if (id === null) continue
    const entries = await readTree(repository.trees, id)
    if (!entries || entries.some(entry => entry.name === '.gitattributes')) return true
    const next = entries.find(entry => entry.name === parts[depth])
    id = next?.mode === '40000' ? next.id : null
  }
  return false
}

/** Null: a folder or something else stands there. */
function storedAs(repository: Repository, name: string): Entry | 'gone' {
  const content = readContent(repository.top, name)
  if (!content) return statOf(repository.top, name) ? null : 'gone'
  try {
    return { mode: content.mode, id: repository.trees.objects.write('blob', content.body) }
  } catch {
    return null
  }
}
