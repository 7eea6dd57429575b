import { any, star } from './marks.ts'
import type { GuardContext } from './verdict.ts'

/** Where a path leads, without looking at the disk. */
export type Place = {
  /** Absolute, without `.` and `..`; as far as it is known. */
  path: string
  zone: 'workspace' | 'workspace-root' | 'temp' | 'temp-root' | 'outside'
  /** From the workspace, when it lies in there. */
  relative: string
  /** Some of it may be anything; `path` ends before that, `full` does not. */
  uncertain: boolean
  full: string
}

export function placeOf(text: string, cwd: string, context: GuardContext): Place {
  // Unknown text at the start may hold a slash of its own.
  const isWhole = /^[/\uE000\uE003\uE004\uE007]/u.test(text)
  const whole = isWhole ? text : `${cwd}/${text}`
  const cut = whole.search(/[\uE000\uE003\uE004\uE007]/u)
  // What stands before the unknown part, up to its last slash: the rest of the name may go on in it.
  const known = cut === -1 ? whole : whole.slice(0, whole.lastIndexOf('/', cut) + 1)
  const path = normal(known)
  return { path, ...zoneOf(path, context), uncertain: cut !== -1, full: normal(whole) }
}

/** The places of a path from every folder that the shell may be in. */
export function placesOf(text: string, cwds: readonly string[], context: GuardContext): Place[] {
  return (text.startsWith('/') ? ['/'] : cwds).map(cwd => placeOf(text, cwd, context))
}

function zoneOf(path: string, context: GuardContext): Pick<Place, 'zone' | 'relative'> {
  const workspace = normal(context.workspace)
  if (path === workspace) return { zone: 'workspace-root', relative: '' }
  if (isBelow(path, workspace)) return { zone: 'workspace', relative: path.slice(workspace.length + 1) }
  // A folder that holds the workspace is never a place for temporary files.
  if (isBelow(workspace, path)) return { zone: 'outside', relative: '' }
  for (const folder of context.temp.map(normal)) {
    if (path === folder) return { zone: 'temp-root', relative: '' }
    if (isBelow(path, folder) && !isSpared(path, workspace, context)) return { zone: 'temp', relative: '' }
  }
  return { zone: 'outside', relative: '' }
}

/** A home among the temporary files is a home; and where a worktree lies in Ralph's own folder, the rest of it is not the agent's. */
function isSpared(path: string, workspace: string, { home }: GuardContext): boolean {
  if (isBelow(`${path}/`, normal(home))) return true
  const at = `${workspace}/`.indexOf('/.ralph/')
  return at !== -1 && isBelow(`${path}/`, workspace.slice(0, at + '/.ralph'.length))
}

export function isBelow(path: string, folder: string): boolean {
  return folder === '/' ? path !== '/' : path.startsWith(`${folder}/`)
}

export function normal(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** What a glob that takes everything would take: `dir/*`, `.*`, `*.*` → dir. Other paths are themselves. */
export function emptied(path: string): string {
  let at = path
  for (;;) {
    const slash = at.lastIndexOf('/')
    const last = at.slice(slash + 1)
    if (!/[\uE001\uE002]/u.test(last) || !/^[.\uE001\uE002]+$/u.test(last)) return at || '/'
    at = at.slice(0, slash)
    if (at === '') return '/'
  }
}

export function baseName(path: string): string {
  const trimmed = path.replace(/\/+$/u, '')
  return trimmed.slice(trimmed.lastIndexOf('/') + 1) || path.slice(0, 1)
}

export function dirName(path: string): string {
  const trimmed = path.replace(/\/+$/u, '')
  const slash = trimmed.lastIndexOf('/')
  if (slash === -1) return '.'
  return slash === 0 ? '/' : trimmed.slice(0, slash)
}

/** A pattern with globs as a regular expression; used on short names only. Of a path, a star takes no slash and no dot at the start. */
export function globPattern(text: string, kind: 'path' | 'text' = 'path'): RegExp {
  const short = text.replace(/\uE001+/gu, star)
  // Many stars make matching slow; then it matches, and the guard objects.
  if (short.split(star).length > mostStars + 1) return /^/u
  const escaped = [...short].map((char, index) => {
    const hidden = kind === 'path' && (index === 0 || short[index - 1] === '/') ? '(?!\\.)' : ''
    if (char === star) return kind === 'path' ? `${hidden}[^/]*` : '.*'
    if (char === any) return kind === 'path' ? `${hidden}[^/]` : '.'
    return char.replace(/[\\^$.*+?()[\]{}|/]/u, '\\$&')
  })
  return new RegExp(`^${escaped.join('')}$`, 'su')
}

const mostStars = 4

export function hasGlob(text: string): boolean {
  return text.includes(star) || text.includes(any)
}
