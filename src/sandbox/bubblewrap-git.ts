import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Mount } from './bubblewrap-argv.ts'

/** The repository a folder lies in, as git sees it. */
export type BoxRepository = {
  /** The top of its worktree. */
  top: string
  /** `.git` in there: the git directory itself, or the file that leads to it. */
  link: string
  gitDir: string
  /** That of the main worktree. */
  commonDir: string
}

/** By looking upwards, as git does; null where there is none. */
export function findRepository(folder: string): BoxRepository | null {
  for (let top = folder; ; top = dirname(top)) {
    const link = join(top, '.git')
    if (existsSync(link)) {
      const gitDir = gitDirOf(link)
      return gitDir === null ? null : { top, link, gitDir, commonDir: commonDirOf(gitDir) }
    }
    if (dirname(top) === top) return null
  }
}

/**
 * The worktree of a known repository that holds this folder. The file in it that leads to the repository is not
 * believed: an agent could have written it. The repository knows its worktrees itself.
 */
export function findLinked(folder: string, above: string, commonDir: string): BoxRepository | null {
  for (let top = folder; top !== above && dirname(top) !== top; top = dirname(top)) {
    const link = join(top, '.git')
    const names = foldersIn(join(commonDir, 'worktrees'))
    const name = names.find(one => textOf(join(commonDir, 'worktrees', one, 'gitdir')).trim() === link)
    if (name !== undefined) return { top, link, gitDir: join(commonDir, 'worktrees', name), commonDir }
  }
  return null
}

/**
 * Git runs what its configuration and its hooks say, outside as well: the next `git status` of the user would. So these
 * are never written in a box, and neither is what leads to them.
 */
export function gitMounts({ link, gitDir, commonDir }: BoxRepository, readOnly: boolean): Mount[] {
  const linked = gitDir !== commonDir
  const toLink = linked ? only(link) : []
  if (readOnly) return [{ path: commonDir, writable: false }, ...toLink]
  // Whoever works in a linked worktree has nothing to do with the files of the main one.
  const foreign = linked ? ['HEAD', 'index', 'ORIG_HEAD', 'worktrees'] : ['worktrees']
  return [
    ...writable(commonDir, foreign),
    ...submodules(join(commonDir, 'modules')),
    ...(linked ? writable(gitDir, ['gitdir', 'commondir']) : []),
    ...toLink,
  ]
}

/** What is to be guarded must be there: nobody can keep a file from being made in a folder that may be written. */
export function prepareGit({ commonDir }: BoxRepository): void {
  for (const name of ['hooks', 'info']) mkdirSync(join(commonDir, name), { recursive: true })
}

/**
 * Files that are not there, and that would lead git to another configuration if a program made them. They cannot be
 * guarded, so they are taken away when the program has ended.
 */
export function strayFiles({ gitDir, commonDir }: BoxRepository): string[] {
  const places = [
    join(commonDir, 'commondir'),
    join(commonDir, 'config.worktree'),
    join(gitDir, 'config.worktree'),
  ]
  return [...new Set(places)].filter(path => lstatSync(path, { throwIfNoEntry: false }) === undefined)
}

const guarded = ['config', 'config.worktree', 'hooks', 'info']

/** A mount of its own, so that it cannot be moved away with what is guarded in it. */
function writable(folder: string, more: readonly string[] = []): Mount[] {
  const guards = [...guarded, ...more].flatMap(name => only(join(folder, name)))
  return [{ path: folder, writable: true }, ...guards]
}

function only(path: string): Mount[] {
  return existsSync(path) ? [{ path, writable: false }] : []
}

/** They may lie in one another, and their names may hold slashes. */
function submodules(folder: string, depth = 3): Mount[] {
  return foldersIn(folder).flatMap(name => {
    const module = join(folder, name)
    if (!existsSync(join(module, 'HEAD'))) return depth > 0 ? submodules(module, depth - 1) : []
    return [...writable(module), ...(depth > 0 ? submodules(join(module, 'modules'), depth - 1) : [])]
  })
}

function gitDirOf(link: string): string | null {
  if (statSync(link).isDirectory()) return realpathSync(link)
  const [, path] = /^gitdir: (.+)$/m.exec(textOf(link)) ?? []
  const folder = path === undefined ? null : resolve(dirname(link), path.trim())
  return folder !== null && existsSync(folder) ? realpathSync(folder) : null
}

function commonDirOf(gitDir: string): string {
  const text = lstatSync(join(gitDir, 'commondir'), { throwIfNoEntry: false })
    ? textOf(join(gitDir, 'commondir')).trim()
    : ''
  return text === '' ? gitDir : realpathSync(resolve(gitDir, text))
}

function foldersIn(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(entry => entry.name)
  } catch {
    return []
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
