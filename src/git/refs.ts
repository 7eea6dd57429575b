import fs from 'node:fs'
import path from 'node:path'
import { UserError } from '../core/errors.ts'
import { git, mustGit } from './git.ts'
import { realDir } from './private-dir.ts'
import { type RefList, readRefFiles } from './ref-files.ts'
import type { Repository } from './repository-type.ts'

/** Where HEAD and the references stand. */
export type Refs = {
  /** Empty when the branch has no commit. */
  head: string
  branch: string | null
  /** By full name, without those of Ralph and of remotes. */
  refs: Map<string, string>
  /** Those that are not this worktree's business, and so are neither judged nor put back. */
  foreign: Set<string>
  /** What the references under `refs/ralph/` point to. */
  kept: Set<string>
}

/** From the files where they lie in files, else from git: one process. */
export async function readRefs(repository: Repository): Promise<Refs> {
  const listed = readRefFiles(repository, namespaces)
  if (listed) return sorted(listed)
  const hasWorktrees = fs.existsSync(path.join(repository.commonDir, 'worktrees'))
  const format = `%(HEAD) %(objectname) %(refname)${hasWorktrees ? ' %(worktreepath)' : ''}`
  const output = await mustGit(realDir(repository), ['for-each-ref', `--format=${format}`, ...namespaces])
  const told: RefList = { head: '', branch: null, refs: new Map(), elsewhere: new Set() }
  for (const line of output.split('\n')) {
    const [, star, id = '', name = '', worktree = ''] = /^(.) (\S+) (\S+) ?(.*)$/u.exec(line) ?? []
    if (star === undefined) continue
    if (star === '*') Object.assign(told, { head: id, branch: name.slice('refs/heads/'.length) })
    told.refs.set(name, id)
    if (worktree !== '' && star !== '*') told.elsewhere.add(name)
  }
  const found = sorted(told)
  return found.branch === null ? { ...found, ...(await readDetachedHead(repository)) } : found
}

function sorted({ head, branch, refs: all, elsewhere }: RefList): Refs {
  const found: Refs = { head, branch, refs: new Map(), foreign: new Set(), kept: new Set() }
  for (const [name, id] of all) {
    if (name.startsWith('refs/ralph/')) {
      found.kept.add(id)
      continue
    }
    found.refs.set(name, id)
    if (elsewhere.has(name) || own.some(start => name.startsWith(start))) found.foreign.add(name)
  }
  return found
}

export type RefMove = { name: string; from: string | null; to: string | null }

/**
 * The references that moved and are an attempt's to answer for. In a linked worktree that is its own branch alone: the
 * others belong to people and agents who work elsewhere at the same time.
 */
export function refMoves(repository: Repository, from: RefView, to: RefView): RefMove[] {
  const linked = repository.gitDir !== repository.commonDir
  const names = linked ? [`refs/heads/${from.branch}`] : new Set([...from.refs.keys(), ...to.refs.keys()])
  return [...names]
    .filter(name => linked || !(from.foreign.has(name) || to.foreign.has(name)))
    .map(name => ({ name, from: from.refs.get(name) ?? null, to: to.refs.get(name) ?? null }))
    .filter(move => move.from !== move.to)
}

export type RefView = Pick<Refs, 'branch' | 'refs' | 'foreign'>

/** Each only if it still stands where `from` says. What is taken away goes first: `a` and `a/b` cannot both exist. */
export async function moveRefs(repository: Repository, moves: RefMove[], reason: string): Promise<void> {
  const lines = (list: RefMove[]) => list.map(updateLine).join('')
  for (const group of [moves.filter(move => move.to === null), moves.filter(move => move.to !== null)]) {
    if (group.length === 0) continue
    const args = ['update-ref', '-m', reason, '--create-reflog', '--no-deref', '-z', '--stdin']
    const result = await git(realDir(repository), args, { stdin: lines(group) })
    if (result.code === 0) continue
    throw new UserError(
      `References could not be moved: ${result.stderr.trim().split('\n')[0]}`,
      'Somebody else works in this repository, or a *.lock file was left in .git. See to it, then run Ralph again.',
    )
  }
}

/** A new reference of Ralph's own, where no git has to be asked whether somebody else is moving it. */
export async function createRef(repository: Repository, name: string, id: string): Promise<void> {
  if (!writeLooseRef(repository, name, id)) await mustGit(realDir(repository), ['update-ref', name, id])
}

/** As git does it, but without a process. False when git should do it: another store, an odd name, something in the way. */
function writeLooseRef(repository: Repository, name: string, id: string): boolean {
  const plainName =
    /^refs\/ralph(?:\/[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)+$/u.test(name) && !name.includes('.lock')
  if (!plainName || fs.existsSync(path.join(repository.commonDir, 'reftable'))) return false
  const file = path.join(repository.commonDir, name)
  const lock = `${file}.lock`
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(lock, `${id}\n`, { flag: 'wx' })
  } catch {
    return false
  }
  try {
    fs.renameSync(lock, file)
    return true
  } catch {
    fs.rmSync(lock, { force: true })
    return false
  }
}

/** Makes HEAD name a branch, or a commit when there is none. The files are not touched. */
export async function moveHead(
  repository: Repository,
  to: { head: string; branch: string | null },
  reason: string,
): Promise<void> {
  const args = to.branch
    ? ['symbolic-ref', '-m', reason, 'HEAD', `refs/heads/${to.branch}`]
    : ['update-ref', '-m', reason, '--no-deref', 'HEAD', to.head]
  await mustGit(realDir(repository), args)
}

const namespaces = ['refs/heads', 'refs/tags', 'refs/stash', 'refs/notes', 'refs/replace', 'refs/ralph']

/** Branches that Ralph makes itself: they may appear while an attempt is being judged. */
const own = ['refs/heads/wip/ralph-fail-', 'refs/heads/archive/ralph-fail-']

async function readDetachedHead(repository: Repository): Promise<{ head: string; branch: string | null }> {
  const text = fs.readFileSync(path.join(repository.gitDir, 'HEAD'), 'utf8').trim()
  if (/^[0-9a-f]{40,}$/u.test(text)) return { head: text, branch: null }
  // A branch without a commit, or references that are not kept in files.
  const [commit, name] = await Promise.all([
    git(realDir(repository), ['rev-parse', '-q', '--verify', 'HEAD^{commit}']),
    git(realDir(repository), ['symbolic-ref', '-q', 'HEAD']),
  ])
  const branch = name.stdout.trim()
  return {
    head: commit.code === 0 ? commit.stdout.trim() : '',
    branch: branch.startsWith('refs/heads/') ? branch.slice('refs/heads/'.length) : null,
  }
}

function updateLine(move: RefMove): string {
  if (move.to === null) return `delete ${move.name}\0${move.from ?? ''}\0`
  if (move.from === null) return `create ${move.name}\0${move.to}\0`
  return `update ${move.name}\0${move.to}\0${move.from}\0`
}
