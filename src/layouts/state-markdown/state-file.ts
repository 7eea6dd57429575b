import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isBegun } from '../../core/select.ts'
import type { AttemptRow, Failure, TaskState } from '../../core/state.ts'
import { writeFileAtomic } from '../../store/atomic-file.ts'
import { type FrontMatter, parseFrontMatter } from '../front-matter.ts'
import { stageNamed } from './gate-names.ts'
import { stateText } from './state-text.ts'

export const stateFile = '.ralph_state.md'

/** There is one state file: of the task under work, else of the one that was given up last. */
export async function writeStateFile(root: string, tasks: TaskState[], attempts: number): Promise<void> {
  const path = join(root, stateFile)
  const now = readOr(path)
  const owner = ownerOf(tasks)
  if (owner) {
    const text = stateText(owner, attempts)
    if (text !== now) await writeFileAtomic(path, text)
    return
  }
  // That of a task nobody knows here is not ours to delete.
  const stored = now === null ? null : parseState(now)
  if (stored && tasks.some(state => state.task.id === stored.id)) rmSync(path, { force: true })
}

export function ownerOf(tasks: TaskState[]): TaskState | null {
  const tried = tasks.filter(state => state.history.length > 0)
  const under = tried.filter(({ status }) => status === 'open' || status === 'held')
  const lost = tried.filter(({ status }) => status === 'failed' || status === 'halted')
  return under.find(isBegun) ?? latest(under) ?? latest(lost)
}

function latest(tasks: TaskState[]): TaskState | null {
  const when = (state: TaskState) => state.history.at(-1)?.at ?? 0
  return tasks.reduce<TaskState | null>(
    (best, state) => (best && when(best) > when(state) ? best : state),
    null,
  )
}

export type StoredState = {
  id: string
  iteration: number
  most: number
  history: AttemptRow[]
  recent: Failure[]
}

/** What an earlier loop wrote, Ralph's or the seed's own. Null when there is none, or nothing that can be read. */
export function readStateFile(root: string): StoredState | null {
  const text = readOr(join(root, stateFile))
  return text === null ? null : parseState(text)
}

export function parseState(text: string): StoredState | null {
  const front = parseFrontMatter(text)
  const id = fieldOf(front, 'task_id')
  if (id === '') return null
  const at = Date.parse(fieldOf(front, 'timestamp')) || 0
  const history = rowsOf(front.body, at)
  return {
    id,
    iteration: Number(fieldOf(front, 'iteration')) || history.length,
    most: Number(fieldOf(front, 'max_iterations')) || 0,
    history,
    recent: blocksOf(front.body, history, at),
  }
}

function fieldOf({ fields }: FrontMatter, name: string): string {
  return fields.get(name)?.items[0] ?? ''
}

const row = /^\|[ \t]*(\d{1,6})[ \t]*\|([^|\n]{1,200})\|[ \t]*([0-9a-f]{8})[ \t]*\|[ \t]*(yes|no)[ \t]*\|/gmu

function rowsOf(body: string, at: number): AttemptRow[] {
  const table = body.slice(body.lastIndexOf('\n## Attempt History'))
  return [...table.matchAll(row)].slice(-100).map(([, attempt, gate = '', fingerprint = '', shift]) => ({
    attempt: Number(attempt),
    stage: stageNamed(gate),
    fingerprint,
    shift: shift === 'yes',
    reason: '',
    at,
  }))
}

/** The verbatim blocks, oldest first, each with the attempt it came from. */
function blocksOf(body: string, history: AttemptRow[], at: number): Failure[] {
  const found: Failure[] = []
  let stage = ''
  let attempt = 0
  let fence = ''
  let lines: string[] = []
  for (const line of body.split('\n')) {
    if (fence !== '' && line === fence) {
      const detail = lines.join('\n')
      const number = attempt || (history.findLast(one => one.stage === stage)?.attempt ?? 0)
      found.push({ attempt: number, stage, reason: lines[0] ?? '', detail, fault: null, at })
      fence = ''
      attempt = 0
    } else if (fence !== '') lines.push(line)
    else if (line.startsWith('## '))
      stage = stageNamed(/^## (.+) Output \(verbatim\)$/u.exec(line)?.[1] ?? '')
    else if (/^Attempt \d+:$/u.test(line)) attempt = Number(line.slice(8, -1))
    else if (stage !== '' && /^`{3,}$/u.test(line)) {
      fence = line
      lines = []
    }
  }
  return found.sort((a, b) => a.attempt - b.attempt).slice(-3)
}

function readOr(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
