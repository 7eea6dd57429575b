import { refSafe } from './failure-branch.ts'
import { git } from './git.ts'
import { realDir } from './private-dir.ts'
import { moveRefs, type RefMove, readRefs } from './refs.ts'
import type { Repository } from './repository-type.ts'

const failed = 'refs/heads/wip/ralph-fail-'

/**
 * Branches of failures that are past, because their task is tried again: `wip/ralph-fail-…` becomes
 * `archive/ralph-fail-…`. Returns the new names. Safe to repeat; a branch that is checked out stays.
 */
export async function archiveFailures(
  repository: Repository,
  askTasks: () => Promise<readonly string[]>,
): Promise<string[]> {
  const { refs, branch } = await readRefs(repository)
  const found = [...refs].filter(([name]) => name.startsWith(failed) && name !== `refs/heads/${branch}`)
  if (found.length === 0) return []
  const tasks = await askTasks()
  const old = found.filter(([name]) => tasks.some(task => isOf(task, name)))
  const made: string[] = []
  for (const [name, id] of old) {
    const to = freeName(`refs/heads/archive/ralph-fail-${name.slice(failed.length)}`, refs)
    const moves: RefMove[] = [
      { name: to, from: null, to: id },
      { name, from: id, to: null },
    ]
    // Made before the other goes: cut off in between, the work has two names and not none.
    for (const move of moves) await moveRefs(repository, [move], 'ralph: archive')
    await git(realDir(repository), [
      'config',
      '--remove-section',
      `branch.${name.slice('refs/heads/'.length)}`,
    ])
    refs.set(to, id)
    made.push(to.slice('refs/heads/'.length))
  }
  return made
}

/** `-20260121-103045`, and perhaps `-2`, after the task's own name: `auth` must not take what belongs to `auth-mail`. */
function isOf(task: string, name: string): boolean {
  const start = `${failed}${refSafe(task)}`
  return name.startsWith(start) && /^-\d{8}-\d{6}(?:-\d+)?$/u.test(name.slice(start.length))
}

function freeName(wanted: string, refs: ReadonlyMap<string, string>): string {
  if (!refs.has(wanted)) return wanted
  for (let count = 2; ; count++) if (!refs.has(`${wanted}-${count}`)) return `${wanted}-${count}`
}
