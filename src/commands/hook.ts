import { existsSync, lstatSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import { git } from '../git/git.ts'
import { judgeStop } from '../hooks/stop.ts'

export type HookOptions = { event: string; ralphDir?: string }

/**
 * `ralph hook stop`: called by the agent's CLI when it wants to end its turn. Says nothing when it may; blocks with a
 * reason otherwise. A hook that breaks must not let anything through (H-13): an error is a block, too, by exit code 2.
 */
export async function hook(options: HookOptions): Promise<void> {
  if (options.event !== 'stop') throw new UserError(`there is no hook '${options.event}'`, 'Known: stop.', 2)
  try {
    await stop(options.ralphDir ?? 'ralph')
  } catch (error) {
    process.stderr.write(`ralph: the stop hook failed: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 2
  }
}

type Call = { cwd?: unknown; session_id?: unknown }

async function stop(ralphDir: string): Promise<void> {
  const call = JSON.parse(readStdin() || '{}') as Call
  const root = process.env.CLAUDE_PROJECT_DIR ?? (typeof call.cwd === 'string' ? call.cwd : process.cwd())
  const markerFile = join(root, '.ralph-active')
  const marker = read(markerFile)
  if (marker === null) return
  const counter = join(tmpdir(), `ralph-stop-${String(call.session_id ?? 'none').replace(/[^\w-]/gu, '_')}`)
  const blocks = Number(read(counter) ?? '0') || 0
  const { block, warnings } = judgeStop({
    marker,
    tasks: read(join(root, ralphDir, 'tasks.json')),
    uncommitted: await uncommittedFiles(root, markerFile),
    blocks,
  })
  for (const warning of warnings) process.stderr.write(`ralph: ${warning}\n`)
  if (block === null) return
  writeFileSync(counter, String(blocks + 1))
  process.stdout.write(`${JSON.stringify({ decision: 'block', reason: block })}\n`)
}

/** What lay about before this iteration began is the user's; the marker is written when one begins. */
async function uncommittedFiles(root: string, marker: string): Promise<string[]> {
  const begun = statSync(marker).mtimeMs
  const { stdout, code, stderr } = await git({ cwd: root }, ['status', '--porcelain', '-z', '-uall'])
  if (code !== 0) throw new Error(stderr.trim())
  const own = /^(?:\.ralph(?:-active$|\/)|ralph\.log)/u
  return stdout
    .split('\0')
    .filter(line => /^[ MADRCU?!]{2} /u.test(line))
    .map(line => line.slice(3))
    .filter(file => !own.test(file) && isNewer(join(root, file), begun))
}

function isNewer(file: string, than: number): boolean {
  const stat = lstatSync(file, { throwIfNoEntry: false })
  // Deleted: nobody can tell when, so it counts.
  return !stat || stat.ctimeMs >= than
}

function read(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}

function readStdin(): string {
  return process.stdin.isTTY ? '' : readFileSync(0, 'utf8')
}
