import { type Cli, callCli } from './sbx-cli.ts'

export type Listed = {
  name: string
  /** null: this version does not tell. */
  agent: string | null
  running: boolean
  workspaces: string[]
}

export type Listing = { ok: true; sandboxes: Listed[] } | { ok: false; detail: string; text: string }

/** The first call of the day also starts the daemon. */
const patience = 30_000

/** All sandboxes of this machine. It fails for who is not signed in, so it is a probe as well. */
export async function listSandboxes(cli: Cli): Promise<Listing> {
  const end = await callCli(cli, { args: ['ls', '--json'], timeout: patience })
  if (end.type !== 'ok') return { ok: false, detail: end.detail, text: end.text }
  const sandboxes = readListing(end.stdout)
  if (sandboxes) return { ok: true, sandboxes }
  return { ok: false, detail: 'its listing has a form that is not known', text: end.text }
}

/**
 * `{"sandboxes":[…]}` of sbx, `{"vms":[…]}` of the plugin, a bare list of early versions. Lines about a daemon that had
 * to be started stand before it. null: something else; to take that for an empty list would create what is there.
 */
export function readListing(text: string): Listed[] | null {
  const start = text.search(/^[ \t]*[[{]/mu)
  if (start < 0) return null
  let found: unknown
  try {
    found = JSON.parse(text.slice(start))
  } catch {
    return null
  }
  const rows = Array.isArray(found) ? found : isRecord(found) ? (found.sandboxes ?? found.vms) : undefined
  if (!Array.isArray(rows)) return null
  const listed = rows.map(readRow)
  return listed.every(row => row !== null) ? listed : null
}

function readRow(row: unknown): Listed | null {
  if (!isRecord(row) || typeof row.name !== 'string') return null
  return {
    name: row.name,
    agent: typeof row.agent === 'string' && row.agent !== '' ? row.agent : null,
    running: row.status !== 'stopped',
    workspaces: Array.isArray(row.workspaces)
      ? row.workspaces.filter(path => typeof path === 'string').map(path => path.replace(/:ro$/u, ''))
      : [],
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
