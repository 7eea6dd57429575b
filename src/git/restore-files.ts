import fs from 'node:fs'
import { fsPath, statOf } from './bytes.ts'
import { git, mustGit } from './git.ts'
import { rawDir } from './private-dir.ts'
import { rememberIndex } from './private-index.ts'
import type { Repository } from './repository-type.ts'
import { foldersAbove, isBehindLink } from './scope.ts'
import { submoduleMode } from './tree-diff.ts'
import type { Difference } from './tree-object.ts'

/**
 * Makes the working files what `to` says, byte for byte: two git processes. The private index must hold the `from`
 * side. Submodules are left alone. `since`: empty folders older than this were there before and stay.
 */
export async function restoreFiles(
  repository: Repository,
  differences: Difference[],
  since: number,
): Promise<void> {
  const wanted = differences.filter(
    ({ from, to }) => from?.mode !== submoduleMode && to?.mode !== submoduleMode,
  )
  if (wanted.length === 0) return
  const gone = wanted.filter(({ to }) => to === null)
  const back = wanted.filter(({ to }) => to !== null)
  openFolders(
    repository,
    wanted.map(({ path: name }) => name),
  )
  for (const { path: name } of gone) deleteFile(repository, name)
  deleteEmptyFolders(
    repository,
    gone.map(({ path: name }) => name),
    since,
  )
  // What goes away comes first, so that a file can take the place of a folder and the other way round.
  const lines = [...gone, ...back].map(
    ({ path: name, to }) => `${to ? to.mode : '0'} ${to ? to.id : zeroId(repository)}\t${name}\0`,
  )
  const raw = rawDir(repository)
  await mustGit(raw, ['update-index', '-z', '--replace', '--index-info'], { stdin: lines.join('') })
  const stdin = back.map(({ path: name }) => `${name}\0`).join('')
  // What could not be written is found and named by the caller, who looks again afterwards.
  if (stdin !== '') await git(raw, ['checkout-index', '-f', '-u', '-q', '-z', '--stdin'], { stdin })
  rememberIndex(repository, null)
}

/** An agent may have taken the rights away from a folder, and git could then neither write nor delete in it. */
function openFolders(repository: Repository, names: string[]): void {
  const folders = new Set(names.flatMap(name => foldersAbove(repository, name)))
  for (const folder of [...folders].sort((a, b) => a.length - b.length)) {
    const stat = statOf(repository.top, folder)
    if (stat?.isDirectory() && (stat.mode & 0o700) !== 0o700)
      fs.chmodSync(fsPath(repository.top, folder), stat.mode | 0o700)
  }
}

export function zeroId(repository: Repository): string {
  return '0'.repeat(repository.objectFormat === 'sha256' ? 64 : 40)
}

/** Never through a symbolic link that stands where a folder was. */
export function deleteFile(repository: Repository, name: string): void {
  const file = fsPath(repository.top, name)
  if (isBehindLink(repository, name)) return
  try {
    fs.unlinkSync(file)
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

export function deleteEmptyFolders(repository: Repository, names: string[], since: number): void {
  const folders = new Set(names.flatMap(name => foldersAbove(repository, name)))
  const deepestFirst = [...folders].sort((a, b) => b.length - a.length)
  for (const folder of deepestFirst) {
    const place = fsPath(repository.top, folder)
    try {
      const { birthtimeMs } = fs.statSync(place)
      if (birthtimeMs > 0 && birthtimeMs < since) continue
      fs.rmdirSync(place)
    } catch {
      // Not empty, or gone already.
    }
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}
