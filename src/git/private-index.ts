import fs from 'node:fs'
import { fields, git, mustGit } from './git.ts'
import { privateIndex, rawDir } from './private-dir.ts'
import type { Repository } from './repository-type.ts'
import { inScratch } from './scope.ts'
import { fileIdentity } from './user-index.ts'

/**
 * The private index is our memory of the working tree: which file had which content, and how it looked on disk then.
 * It is kept between calls and runs, so that only files that changed are read again.
 */
export async function prepareIndex(repository: Repository, dropIgnored: boolean): Promise<void> {
  // In this process nobody but us writes it. Another hand could hide changes in it, so it is built anew.
  const first = repository.cache.indexIdentity === null
  const adopted =
    first && fs.existsSync(privateIndex(repository)) && (await adoptIndex(repository, dropIgnored))
  if (!adopted) await buildIndex(repository)
}

/** True when it is as we left it. */
export function isIndexReady(repository: Repository): boolean {
  const { indexIdentity } = repository.cache
  return indexIdentity !== null && indexIdentity === fileIdentity(privateIndex(repository))
}

/** Reads again what only looks changed, so that the next scan need not. */
export async function refreshIndex(repository: Repository): Promise<void> {
  await git(rawDir(repository), ['update-index', '-q', '--refresh'])
  rememberIndex(repository, repository.cache.tree)
}

/** To be called after each change of the private index. */
export function rememberIndex(repository: Repository, tree: string | null): void {
  repository.cache.indexIdentity = fileIdentity(privateIndex(repository))
  repository.cache.tree = tree
}

export async function buildIndex(repository: Repository): Promise<void> {
  const raw = rawDir(repository)
  fs.rmSync(privateIndex(repository), { force: true })
  const whole = repository.prefix === '' && repository.head !== ''
  const seeded = whole && (await git(raw, ['read-tree', repository.head])).code === 0
  if (!seeded) await mustGit(raw, ['read-tree', '--empty'])
  if (!seeded && repository.head !== '') {
    const list = await git(raw, [
      'ls-tree',
      '-r',
      '-z',
      '--full-tree',
      repository.head,
      '--',
      repository.prefix,
    ])
    await mustGit(raw, ['update-index', '-z', '--index-info'], { stdin: list.stdout })
  }
  await git(raw, ['update-index', '-q', '--refresh'])
  repository.cache.forced = null
  rememberIndex(repository, null)
}

/** An index that an earlier process left. False when it is of no use. */
async function adoptIndex(repository: Repository, dropIgnored: boolean): Promise<boolean> {
  const raw = rawDir(repository)
  const refreshed = await git(raw, ['update-index', '-q', '--refresh'])
  if (refreshed.code > 1) return false
  const [missing, ignored] = await Promise.all([
    pathsWithoutContent(repository),
    dropIgnored
      ? git(raw, ['ls-files', '-z', '-c', '-i', '--exclude-standard']).then(result => fields(result.stdout))
      : [],
  ])
  const stale = [...missing, ...ignored]
  if (stale.length > 0) await removeFromIndex(repository, stale)
  rememberIndex(repository, null)
  return true
}

/** Takes the names out of the private index; the files stay. */
export async function removeFromIndex(repository: Repository, paths: string[]): Promise<void> {
  const stdin = paths.map(path => `${path}\0`).join('')
  await mustGit(rawDir(repository), ['update-index', '-z', '--force-remove', '--stdin'], { stdin })
}

/** What is not in HEAD's tree may have been swept away by `git gc` since. */
async function pathsWithoutContent(repository: Repository): Promise<string[]> {
  if (repository.head === '') return []
  const raw = rawDir(repository)
  const listed = await git(raw, ['diff-index', '--cached', '--raw', '-z', '--no-renames', repository.head])
  if (listed.code !== 0) return []
  const parts = fields(listed.stdout)
  const entries: { id: string; path: string }[] = []
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [, mode = '', , id = ''] = (parts[at] ?? '').split(' ')
    const path = parts[at + 1] ?? ''
    if (mode !== '000000' && mode !== '160000' && !inScratch(repository, path)) entries.push({ id, path })
  }
  if (entries.length === 0) return []
  const check = await mustGit(raw, ['cat-file', '--batch-check'], {
    stdin: entries.map(entry => `${entry.id}\n`).join(''),
  })
  const lines = check.split('\n')
  return entries.filter((_, index) => lines[index]?.endsWith(' missing')).map(entry => entry.path)
}
