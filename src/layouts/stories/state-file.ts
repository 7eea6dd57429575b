import { join } from 'node:path'
import { isRecord } from '../../core/backlog-document.ts'
import type { TaskState } from '../../core/state.ts'
import { writeFileAtomic } from '../../store/atomic-file.ts'
import { backUp } from '../back-up.ts'
import { readJsonFile } from '../json-file.ts'
import type { Problem } from '../layout.ts'

export const stateFile = '.ralph/state.json'

/** What the seed keeps: which stories are done, in the order they were completed, and where it is. */
export type StoryState = { completed_stories: string[]; current_story: string | null; retry_count: number }

export type StoredState =
  | { kind: 'absent' }
  /** `value` keeps fields that somebody's own script added. */
  | { kind: 'ok'; state: StoryState; value: Record<string, unknown> }
  | { kind: 'corrupt'; line: number | null; message: string }

export function readStateFile(root: string): StoredState {
  const file = readJsonFile(join(root, stateFile))
  if (file.kind === 'absent') return { kind: 'absent' }
  if (file.kind === 'corrupt') return file
  const { value } = file
  if (!isRecord(value)) return { kind: 'corrupt', line: 1, message: 'is not a JSON object' }
  const completed = value.completed_stories
  if (!Array.isArray(completed) || !completed.every(id => typeof id === 'string')) {
    return { kind: 'corrupt', line: null, message: "has no list of texts 'completed_stories'" }
  }
  const { current_story, retry_count } = value
  const state = {
    completed_stories: [...new Set<string>(completed)],
    current_story: typeof current_story === 'string' ? current_story : null,
    retry_count: typeof retry_count === 'number' ? retry_count : 0,
  }
  return { kind: 'ok', state, value }
}

export function stateFileProblem(root: string): Problem[] {
  const stored = readStateFile(root)
  if (stored.kind !== 'corrupt') return []
  const fix =
    'Repair it, or delete it: it is then rebuilt from the journal and progress.txt. Ralph keeps a copy as state.json.bak before it writes.'
  return [{ severity: 'error', file: stateFile, line: stored.line, message: stored.message, fix }]
}

/** Writes only when something changed, so that a file in another format stays as it is until then (S4-64). */
export async function writeStateFile(root: string, tasks: TaskState[]): Promise<void> {
  const stored = readStateFile(root)
  const earlier = stored.kind === 'ok' ? stored.state : null
  const state = storyState(tasks, earlier)
  if (earlier && JSON.stringify(earlier) === JSON.stringify(state)) return
  if (stored.kind === 'corrupt') backUp(join(root, stateFile))
  const value = stored.kind === 'ok' ? { ...stored.value, ...state } : state
  // As `jq` prints it.
  await writeFileAtomic(join(root, stateFile), `${JSON.stringify(value, null, 2)}\n`)
}

/** The seed's state after the journal's last event. `earlier` gives the order of what was completed before this journal. */
export function storyState(tasks: TaskState[], earlier: StoryState | null): StoryState {
  const open = new Set<string>()
  const done: TaskState[] = []
  for (const state of tasks) {
    if (isCompleted(state)) done.push(state)
    else if (state.status !== 'removed') open.add(state.task.id)
  }
  const before = (earlier?.completed_stories ?? []).filter(id => !open.has(id))
  const known = new Set(before)
  const added = done.filter(state => !known.has(state.task.id)).sort((a, b) => a.endedAt - b.endedAt)
  const latest = latestTouched(tasks)
  return {
    completed_stories: [...before, ...added.map(state => state.task.id)],
    ...(latest
      ? position(latest)
      : { current_story: earlier?.current_story ?? null, retry_count: earlier?.retry_count ?? 0 }),
  }
}

function isCompleted({ status, evidence }: TaskState): boolean {
  return (
    status === 'done' ||
    (status === 'removed' && (evidence.head !== undefined || evidence.recorded !== undefined))
  )
}

/** The story that was worked on last; null before any work of this journal. */
function latestTouched(tasks: TaskState[]): TaskState | null {
  let latest: TaskState | null = null
  let when = 0
  for (const state of tasks) {
    if (state.startedAt === 0) continue
    const touched = Math.max(
      state.step?.at ?? 0,
      state.endedAt,
      state.history.at(-1)?.at ?? 0,
      state.startedAt,
    )
    if (touched < when) continue
    latest = state
    when = touched
  }
  return latest
}

/** S4-47 to S4-50. A new story begins with no failures of its own, which is the reset of C-41. */
function position(state: TaskState): Pick<StoryState, 'current_story' | 'retry_count'> {
  const ended = state.status === 'done' || state.status === 'cancelled' || state.status === 'removed'
  return ended
    ? { current_story: null, retry_count: 0 }
    : { current_story: state.task.id, retry_count: state.failures }
}
