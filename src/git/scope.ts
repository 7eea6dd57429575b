import path from 'node:path'
import { statOf } from './bytes.ts'
import type { Repository } from './repository-type.ts'

/** Inside, names are relative to the top of the worktree, as git has them; outside they are relative to the project. */
export function toTop(repository: Repository, name: string): string {
  return repository.prefix + name
}

export function fromTop(repository: Repository, name: string): string {
  if (name.startsWith(repository.prefix)) return name.slice(repository.prefix.length)
  return path.posix.relative(repository.prefix, name)
}

/** Limits a git command to the project folder. */
export function pathspec(repository: Repository): string[] {
  return repository.prefix === '' ? [] : ['--', repository.prefix]
}

export function inScratch(repository: Repository, name: string): boolean {
  const scratch = scratchFromTop(repository)
  return scratch !== null && (name === scratch || name.startsWith(`${scratch}/`))
}

/** An ignore pattern that keeps git out of Ralph's own folder, whatever `.gitignore` says. */
export function ownPatterns(repository: Repository): string[] {
  const scratch = scratchFromTop(repository)
  const files = repository.own.map(name => toTop(repository, name))
  const patterns = [...(scratch === null ? [] : [`${scratch}/`]), ...files]
  return patterns.flatMap(name => ['-x', `/${name.replace(/[\\*?[\]]/gu, '\\$&')}`])
}

/** The folders above a file, within the project. */
export function foldersAbove(repository: Repository, name: string): string[] {
  const list: string[] = []
  for (
    let folder = path.posix.dirname(name);
    `${folder}/`.length > repository.prefix.length;
    folder = path.posix.dirname(folder)
  ) {
    if (folder === '.') break
    list.push(folder)
  }
  return list
}

/** True when one of its folders is a link now: what would be reached through it is another file. */
export function isBehindLink(repository: Repository, name: string): boolean {
  return foldersAbove(repository, name).some(folder => statOf(repository.top, folder)?.isSymbolicLink())
}

function scratchFromTop(repository: Repository): string | null {
  const relative = path.relative(repository.top, repository.scratch).split(path.sep).join('/')
  return relative.startsWith('../') || relative === '' ? null : relative
}
