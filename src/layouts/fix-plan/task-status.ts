import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TaskState } from '../../core/state.ts'
import { writeFileAtomic } from '../../store/atomic-file.ts'
import { parseFrontMatter, setFrontMatterField } from '../front-matter.ts'
import type { JournalView } from '../layout.ts'
import { isDone } from './position.ts'
import { isFile } from './task-file.ts'

/**
 * `status: completed` and the day for what was just proven; `pending` again for what is to be done anew (S0-68). Every
 * other byte of the file stays. What the files themselves recorded as done is left as it is.
 */
export async function writeStatuses(root: string, { events }: JournalView): Promise<void> {
  const last = new Map(events.map(({ task, after }) => [task, after]))
  const again = new Set(
    events.flatMap(({ task, event }) =>
      event.type === 'task.reopened' || event.type === 'task.moved' ? [task] : [],
    ),
  )
  for (const [id, state] of last) {
    if (isDone(state)) {
      if (state.evidence.recorded === undefined && state.status !== 'removed')
        await edit(root, state, completed)
    } else if (again.has(id) && state.status === 'open') await edit(root, state, pending)
  }
}

async function edit(
  root: string,
  state: TaskState,
  change: (text: string, state: TaskState) => string,
): Promise<void> {
  const path = join(root, state.task.spec)
  if (!isFile(path)) return
  const bytes = readFileSync(path)
  const utf8 = bytes.toString('utf8')
  // A file that is not UTF-8 is edited byte by byte, or it would come back changed.
  const encoding = Buffer.from(utf8).equals(bytes) ? 'utf8' : 'latin1'
  const text = bytes.toString(encoding)
  const changed = change(text, state)
  if (changed !== text) await writeFileAtomic(path, Buffer.from(changed, encoding))
}

function completed(text: string, { evidence, endedAt }: TaskState): string {
  if (statusIn(text) === 'completed') return text
  // The day the gates proved it: the same before and after the commit, whatever the clock says then.
  const day = new Date(evidence.gates?.at ?? endedAt).toISOString().slice(0, 10)
  return setFrontMatterField(setFrontMatterField(text, 'status', 'completed'), 'completed_date', day)
}

function pending(text: string): string {
  if (!/^(?:completed|done)$/iu.test(statusIn(text))) return text
  const open = setFrontMatterField(text, 'status', 'pending')
  const end = text.length - parseFrontMatter(text).body.length
  // The block may have become shorter or longer by a few letters; the field stands before its end in any case.
  const head = open.slice(0, Math.max(0, end + open.length - text.length))
  return head.replace(/^completed_date:.*\r?\n/mu, '') + open.slice(head.length)
}

function statusIn(text: string): string {
  return (parseFrontMatter(text).fields.get('status')?.items[0] ?? '').trim()
}
