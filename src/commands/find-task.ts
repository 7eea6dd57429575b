import { nearest } from '../agents/nearest.ts'
import { UserError } from '../core/errors.ts'
import type { Log, StoredTask } from '../store/log.ts'

/** The task of that id or label, or an error that names those which were perhaps meant. */
export async function findTask(log: Log, id: string): Promise<StoredTask> {
  const found = (await log.task(id)) ?? (await findByLabel(log, id))
  if (found) return found
  throw unknownTask(
    id,
    (await log.tasks()).map(task => task.id),
  )
}

/** `TASK-036` for `001-feature/TASK-036`, as long as only one is called so. */
export async function findByLabel(log: Log, label: string): Promise<StoredTask | null> {
  const named = (await log.tasks()).filter(
    ({ state }) => state.task.label === label && state.status !== 'removed',
  )
  if (named.length < 2) return named[0] ?? null
  throw new UserError(
    `there are several tasks ${label}`,
    `Say which: ${named.map(task => task.id).join(', ')}.`,
    2,
  )
}

export function unknownTask(id: string, known: string[]): UserError {
  const meant = nearIds(id, known)
  const hint = meant.length > 0 ? `Did you mean ${meant.join(' or ')}? ` : ''
  return new UserError(`there is no task ${id}`, `${hint}\`ralph status --all\` lists them.`)
}

/** At most five: those that begin alike, else the one that is nearest in spelling. */
export function nearIds(id: string, known: string[]): string[] {
  for (let length = id.length; length > 0; length--) {
    const alike = known.filter(one => one.startsWith(id.slice(0, length)))
    if (alike.length > 0) return alike.slice(0, 5)
  }
  const one = nearest(id, known)
  return one === null ? [] : [one]
}
