import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { UserError } from '../core/errors.ts'
import type { BoxPolicy } from './sandbox.ts'
import { type Cli, type CliEnd, callCli } from './sbx-cli.ts'

/** The sandbox boots for the first of these. */
const patience = 120_000

/**
 * Once after it was created. The stock template stays as it is (S1-44): a sandbox has an image store of its own, in
 * which an image that was built here is not found.
 */
export async function setUp(options: {
  cli: Cli
  name: string
  identity: BoxPolicy['identity']
  /** The folder in which Claude's login outlives the sandbox; null where the login is kept by others. */
  state: string | null
}): Promise<void> {
  const { cli, name, identity, state } = options
  const exec = async (args: string[]) => {
    const end = await callCli(cli, { args: ['exec', ...args], timeout: patience })
    if (end.type !== 'ok') throw setUpError(cli, name, end)
  }
  if (state !== null) await exec(['-u', 'root', name, 'bash', '-c', links, 'setup', state])
  // Git in there knows neither the user nor his configuration (S1-42).
  const { name: user, email } = isKnown(identity) ? identity : nobody
  await exec([name, 'bash', '-c', gitIdentity, 'setup', email, user])
}

const nobody = { name: 'Ralph Loop', email: 'ralph@localhost' }

/** Not where the engine itself had to make one up. */
function isKnown({ name, email }: BoxPolicy['identity']): boolean {
  return name !== '' && email !== '' && email !== nobody.email
}

/** S1-41. Paths come as arguments, so that no character of a home folder can end a quotation. */
const links = `
rm -rf /home/agent/.claude /home/agent/.claude.json 2>/dev/null || true
ln -s "$1/.claude" /home/agent/.claude
ln -s "$1/.claude.json" /home/agent/.claude.json
chown -h agent:agent /home/agent/.claude /home/agent/.claude.json 2>/dev/null || true
`

const gitIdentity = 'git config --global user.email "$1" && git config --global user.name "$2"'

function setUpError(cli: Cli, name: string, end: CliEnd): UserError {
  const called = cli.argv.join(' ')
  return new UserError(
    `the sandbox ${name} could not be set up: ${end.detail}`,
    `Try \`${called} exec ${name} true\`; when that fails too, remove it with \`${called} rm ${name}\` and start again.`,
  )
}

/**
 * S1-46: the folder that is mounted in place of `~/.claude`, which is never mounted itself. An empty `.claude.json`, as
 * `touch` leaves it, would break every start of the agent.
 */
export function stateFolder(env: BoxPolicy['env']): string {
  const folder = path.join(env.HOME || os.homedir(), '.dclaude_state')
  mkdirSync(path.join(folder, '.claude'), { recursive: true, mode: 0o700 })
  const file = path.join(folder, '.claude.json')
  const text = textOf(file)
  if (text.trim() === '') writeFileSync(file, '{}\n', { mode: 0o600 })
  else if (!isJson(text))
    throw new UserError(
      `${file} is not JSON, and the agent in the sandbox would not start with it`,
      "Mend it, or write `{}` into it and log in again in the sandbox's agent.",
    )
  return folder
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
