import { UserError } from '../core/errors.ts'
import { git } from './git.ts'
import { realDir } from './private-dir.ts'
import type { Repository } from './repository-type.ts'
import { zeroId } from './restore-files.ts'

/** Keeps failed work on a branch of its own. Nothing is checked out, nothing is pushed. Returns the branch. */
export async function failureBranch(
  repository: Repository,
  task: string,
  at: Date,
  commit: string,
): Promise<string> {
  const wanted = failureBranchName(task, at)
  for (let count = 1; ; count++) {
    const name = count === 1 ? wanted : `${wanted}-${count}`
    const args = [
      'update-ref',
      '-m',
      'ralph: failed work',
      '--create-reflog',
      `refs/heads/${name}`,
      commit,
      zeroId(repository),
    ]
    const result = await git(realDir(repository), args)
    if (result.code === 0) return name
    const taken = await git(realDir(repository), ['show-ref', '--verify', '-q', `refs/heads/${name}`])
    if (taken.code === 0) continue
    throw new UserError(
      `The branch ${name} could not be made: ${result.stderr.trim().split('\n')[0]}`,
      'A branch called `wip` stands in the way of `wip/…`: rename it with `git branch -m wip wip-old`.',
    )
  }
}

/** `wip/ralph-fail-<task>-YYYYMMDD-HHMMSS`, in local time. */
export function failureBranchName(task: string, at: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${at.getFullYear()}${two(at.getMonth() + 1)}${two(at.getDate())}`
  const time = `${two(at.getHours())}${two(at.getMinutes())}${two(at.getSeconds())}`
  return `wip/ralph-fail-${refSafe(task)}-${day}-${time}`
}

/** Any text as a part of a reference's name: git forbids spaces, `..`, `~^:?*[\`, control characters and more. */
export function refSafe(text: string): string {
  const safe = text
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/\.{2,}/gu, '.')
    .replace(/^[.-]+|[.-]+$/gu, '')
    .replace(/\.lock$/u, '-lock')
  return [...safe].slice(0, 60).join('') || 'task'
}
