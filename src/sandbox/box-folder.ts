import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pidSpace } from '../process/process-table.ts'

/** The folder of one open box: sockets, and what each program has for a home and for `/tmp`. Nobody else may look in. */
export function makeBoxFolder(env: Readonly<Record<string, string | undefined>>): string {
  const above = realpathSync(places(env).find(place => existsSync(place)) ?? '/tmp')
  sweep(above)
  const folder = mkdtempSync(join(above, prefix))
  writeFileSync(join(folder, 'owner'), owner(process.pid))
  mkdirSync(join(folder, 'run'))
  mkdirSync(join(folder, 'programs'))
  return folder
}

/** With all that is in it, whatever rights a program has left on its folders. Links are not followed. */
export function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    openUp(path)
    rmSync(path, { recursive: true, force: true, maxRetries: 2 })
  }
}

const prefix = 'ralph-box-'
/** The path of a socket may have 107 bytes; ours needs about 40 below this. */
const longest = 60

function places(env: Readonly<Record<string, string | undefined>>): string[] {
  return [env.TMPDIR ?? tmpdir(), tmpdir(), '/tmp'].filter(place => Buffer.byteLength(place) <= longest)
}

/** What an engine left that was killed. */
function sweep(above: string): void {
  for (const name of readdirSync(above).filter(one => one.startsWith(prefix))) {
    const folder = join(above, name)
    try {
      const [space, pid] = readFileSync(join(folder, 'owner'), 'utf8').split('\n')
      const gone = space === pidSpace() && readFileSync(join(folder, 'owner'), 'utf8') !== owner(Number(pid))
      if (gone && lstatSync(folder).uid === process.getuid?.()) removeTree(folder)
    } catch {
      // Somebody else's, or just being made.
    }
  }
}

/** Names a process for ever: where its pid means something, the pid, and when it began; empty when there is none. */
function owner(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? '' : `${pidSpace()}\n${pid}\n${fields[19]}\n`
  } catch {
    return ''
  }
}

function openUp(path: string): void {
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (!there?.isDirectory()) return
  chmodSync(path, 0o700)
  for (const name of readdirSync(path)) openUp(join(path, name))
}
