import { encode } from './bytes.ts'
import type { ObjectStore } from './object-store.ts'
import type { Identity } from './settings.ts'

/** Writes a commit as `git commit-tree` does. Null when git must do it: a name or a message it would change or refuse. */
export function writeCommit(
  objects: ObjectStore,
  commit: { tree: string; parents: string[]; message: string; identity: Identity },
): string | null {
  const { tree, parents, message, identity } = commit
  if (!isPlain(identity.name) || !isPlain(identity.email) || message.includes('\0')) return null
  const who = `${identity.name} <${identity.email}> ${timeStamp(new Date())}`
  const header = [
    `tree ${tree}`,
    ...parents.map(parent => `parent ${parent}`),
    `author ${who}`,
    `committer ${who}`,
  ]
  const text = message === '' || message.endsWith('\n') ? message : `${message}\n`
  try {
    return objects.write('commit', encode(`${header.join('\n')}\n\n${text}`))
  } catch {
    // git says better what is wrong.
    return null
  }
}

/** git takes some signs away, at the ends more than in the middle. These it leaves alone. */
function isPlain(text: string): boolean {
  return /^[\p{L}\p{N}](?:[\p{L}\p{N} _@+.-]*[\p{L}\p{N}])?$/u.test(text)
}

function timeStamp(now: Date): string {
  const minutes = -now.getTimezoneOffset()
  const two = (value: number) => String(value).padStart(2, '0')
  const zone = `${two(Math.floor(Math.abs(minutes) / 60))}${two(Math.abs(minutes) % 60)}`
  return `${Math.floor(now.getTime() / 1000)} ${minutes < 0 ? '-' : '+'}${zone}`
}
