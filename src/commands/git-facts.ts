import type { Settings } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import { matchesAny } from '../core/glob.ts'
import { layoutOf } from '../engine/prepare.ts'
import { git } from '../git/git.ts'

/** What a looker wants to know of the repository. Nothing is opened for work, nothing is written. */
export type GitFacts = {
  version: string | null
  /** Why Ralph cannot work here; null when it can. */
  problem: { message: string; fix: string } | null
  branch: string | null
  /** Tracked files with uncommitted changes, from the project's folder. */
  dirty: string[]
}

/** `ignore`: globs of files that may differ, as the engine's own records do. */
export async function gitFacts(root: string, ignore: string[] = []): Promise<GitFacts> {
  const facts: GitFacts = { version: null, problem: null, branch: null, dirty: [] }
  const broken = (message: string, fix: string): GitFacts => ({ ...facts, problem: { message, fix } })
  try {
    const { stdout } = await git({ cwd: root }, ['version'])
    facts.version = /\d+(?:\.\d+)+/u.exec(stdout)?.[0] ?? null
  } catch (error) {
    if (error instanceof UserError) return broken(error.message.replace(/\.$/u, ''), error.fix)
    throw error
  }
  const own = { userConfig: true }
  const inside = await git({ cwd: root }, ['rev-parse', '--is-inside-work-tree'], own)
  if (inside.stdout.trim() !== 'true') {
    return inside.stderr.includes('dubious ownership')
      ? broken('the repository belongs to another user', `git config --global --add safe.directory '${root}'`)
      : broken('not a git repository', 'git init && git add -A && git commit -m "Start"')
  }
  const head = await git({ cwd: root }, ['rev-parse', '--verify', '-q', 'HEAD^{commit}'], own)
  if (head.code !== 0)
    return broken('the repository has no commit yet', 'git add -A && git commit -m "Start"')
  const branch = await git({ cwd: root }, ['symbolic-ref', '-q', '--short', 'HEAD'], own)
  const { stdout: prefix } = await git({ cwd: root }, ['rev-parse', '--show-prefix'], own)
  const args = ['status', '--porcelain', '-z', '--untracked-files=no', '--no-renames', '.']
  const status = await git({ cwd: root }, args, own)
  return {
    ...facts,
    branch: branch.code === 0 ? branch.stdout.trim() : null,
    dirty: status.stdout
      .split('\0')
      .filter(Boolean)
      // Two letters and a blank, then the path from the top of the worktree.
      .map(line => line.slice(3 + prefix.trimEnd().length))
      .filter(path => !matchesAny(path, ignore)),
  }
}

/** What `ralph run` does not mind either: the engine's own files, and those no agent may change. */
export async function toleratedFiles(root: string, settings: Settings): Promise<string[]> {
  const { layout, project } = await layoutOf(root, settings)
  return [...layout.owned, settings.log, ...settings.protect, ...(layout.protects?.(project) ?? [])]
}
