import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { TaskState } from '../../src/core/state.ts'
import { type Health, isSound } from '../../src/store/check.ts'
import type { Log } from '../../src/store/log.ts'
import { openStore } from '../../src/store/sqlite.ts'
import type { TestProject } from '../helpers/ralph.ts'

/**
 * Everything a run leaves that must be the same however often it was cut off: the preset's files, the folds, the
 * commits, the user's own things. Left out are times, durations, and what differs between any two runs.
 */
export async function endState(project: TestProject): Promise<EndState> {
  const store = openStore(path.join(project.root, '.ralph', 'ralph.db'))
  try {
    const health = store.check()
    const tasks = await store.log.tasks()
    return {
      journal: isSound(health) ? 'sound' : health,
      tasks: Object.fromEntries(tasks.map(({ id, state }) => [id, foldOf(state)])),
      kept: await keptWork(project, store.log),
      state: JSON.parse(project.read('.ralph/state.json')),
      progress: project
        .read('progress.txt')
        .split('\n')
        .map(line => line.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/u, '<time>')),
      files: contents(project.root),
      commits: project.git('log', '--format=%T %an %s').trim().split('\n'),
      branch: project.git('branch', '--show-current').trim(),
      references: project.git('for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/tags', 'refs/stash'),
      stash: project.git('stash', 'list'),
      status: project.git('status', '--porcelain', '-uall'),
      staged: project.git('diff', '--cached'),
      litter: litter(project.root),
    }
  } finally {
    store.close()
  }
}

export type EndState = {
  journal: 'sound' | Health
  tasks: Record<string, unknown>
  kept: string[]
  state: unknown
  progress: string[]
  files: Record<string, string>
  commits: string[]
  branch: string
  references: string
  stash: string
  status: string
  staged: string
  litter: string[]
}

/** A fold without what time and object names make different. */
export function foldOf(state: TaskState): unknown {
  const { evidence, spent, ...rest } = state
  const { status, stage, next, step, pass, failures, visits, taken, base, stuck, learnings, faults } = rest
  return {
    ...{ status, stage, next, step, pass, failures, visits, taken, stuck, learnings, faults },
    base: base?.branch,
    ...{ steering: state.steering, note: state.note, calls: spent.calls },
    baseline: state.baseline?.map(({ command, exit, own }) => ({ command, exit, own })),
    recent: state.recent.map(({ at: _, tree: __, ...failure }) => failure),
    history: state.history.map(({ at: _, ...row }) => row),
    evidence: {
      files: evidence.change?.files,
      commits: evidence.change?.commits.length,
      gates: evidence.gates?.results.map(({ command, exit, own, ended }) => ({ command, exit, own, ended })),
      notes: evidence.gates?.notes,
      unverified: evidence.gates?.unverified,
      recorded: evidence.recorded,
      review: evidence.review,
    },
  }
}

/** What came of each failed attempt's work: the files that differ from the branch it was made on. */
async function keptWork(project: TestProject, log: Log): Promise<string[]> {
  const found: string[] = []
  for await (const { stream, event } of log.events()) {
    if (event.type !== 'step.finished' || event.outcome.kind !== 'restore') continue
    const { kept } = event.outcome
    const files =
      kept === null ? 'nothing' : project.git('diff', '--name-only', 'main', kept, '--', 'work', 'src')
    found.push(`${stream}: ${files}`)
  }
  return found
}

/** Every file of the project, byte for byte, but those that hold times or belong to git. */
export function contents(root: string): Record<string, string> {
  const skipped = /^(?:\.git|\.ralph)(?:\/|$)|^progress\.txt$|^ralph\.log$/u
  return Object.fromEntries(
    allFiles(root)
      .filter(name => !skipped.test(name))
      .map(name => [name, readFileSync(path.join(root, name), 'latin1')]),
  )
}

/** Half-written files and locks that somebody would stumble over. Ralph's own folders of a step may hold remains. */
export function litter(root: string): string[] {
  return allFiles(root).filter(
    name => /\.tmp$|\.lock$|\.ralph-\d+$/u.test(name) && !/^\.ralph\/(?:git|runs)\//u.test(name),
  )
}

function allFiles(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => path.relative(root, path.join(entry.parentPath, entry.name)))
    .sort()
}
