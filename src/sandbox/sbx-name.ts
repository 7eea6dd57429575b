import { createHash } from 'node:crypto'
import type { CliKind } from './sbx-cli.ts'

/** Ours: a name is also a folder, a part of a socket's path and a host name, and 63 is what the shortest of them takes. */
const longest = 63

/**
 * The names a project's sandbox may have, in order. The first is that of the seed: `ralph-` and the project's folder. It
 * loses something (`/a_b` and `/a/b` are one), and it may belong to another agent already; the second is for then.
 */
export function sandboxNames(kind: CliKind, root: string, agent: string): [string, ...string[]] {
  const plain = named(kind, `ralph-${root.replace(/[^A-Za-z0-9._-]/gu, '_')}`)
  const hash = createHash('sha256').update(`${root}\n${agent}`).digest('hex').slice(0, 8)
  const tail = `-${agent}-${hash}`
  // No dots here: the plugin of Docker Desktop 4.60 refuses them, and this is also the name that is tried after that.
  const apart = `${plain.replaceAll('.', '-').slice(0, longest - tail.length)}${tail}`
  return plain.length > longest ? [apart] : [plain, apart]
}

/** `sbx` takes letters, digits, hyphens and dots, so there the seed's `_` becomes `-`. */
function named(kind: CliKind, name: string): string {
  return kind === 'sbx' ? name.replaceAll('_', '-') : name
}
