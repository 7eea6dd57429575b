import { existsSync, lstatSync } from 'node:fs'
import path from 'node:path'
import type { SandboxProbeContext } from './sandbox.ts'
import { type Cli, type CliKind, callCli, cliOf } from './sbx-cli.ts'
import { listSandboxes } from './sbx-list.ts'

/** Agents that both tools have a template for and Ralph has an adapter for. */
export const templateAgents: readonly string[] = ['claude', 'codex', 'copilot', 'gemini', 'opencode']

export type FoundCli =
  | { ok: true; cli: Cli; version: string | null }
  | { ok: false; version: string | null; problem: string; fix: string }

/** H-17: `sbx` first, then the older plugin. What is installed but does not work is told before what is not there. */
export async function findCli(env: SandboxProbeContext['env'], root: string): Promise<FoundCli> {
  let told: FoundCli | null = null
  for (const kind of ['sbx', 'docker'] as const) {
    const found = await look(kind, env, root)
    if (found?.ok) return found
    told ??= found
  }
  if (told) return told
  return { ok: false, version: null, problem: 'not installed', fix: installText(thisMachine()) }
}

/** null: there is no such program. */
async function look(kind: CliKind, env: SandboxProbeContext['env'], root: string): Promise<FoundCli | null> {
  const cli = cliOf(kind, env, root)
  const called = cli.argv.join(' ')
  const told = await callCli(cli, { args: ['version'], timeout: 10_000 })
  if (told.type === 'missing') return null
  const version = /\bv?(\d+\.\d+\.\d+\S*)/u.exec(told.stdout)?.[1] ?? null
  if (told.type !== 'ok') {
    // Docker itself is on many machines, without a plugin that was ever there.
    if (/not a docker command|unknown command/iu.test(told.text))
      return {
        ok: false,
        version,
        problem:
          '`sbx` is not installed, and this `docker` has no `sandbox` command (removed in Desktop 4.80)',
        fix: installText(thisMachine()),
      }
    return broken(version, `\`${called} version\` failed: ${told.detail}`, called)
  }
  const listing = await listSandboxes(cli)
  if (listing.ok) return { ok: true, cli, version }
  if (notSignedIn.test(listing.text))
    return {
      ok: false,
      version,
      problem: `not signed in to Docker (\`${called} ls\`: ${listing.detail})`,
      fix: kind === 'sbx' ? 'Run `sbx login`.' : 'Sign in to Docker Desktop.',
    }
  return broken(version, `\`${called} ls\` failed: ${listing.detail}`, called)
}

/** As sbx 0.25 to 0.43 say it; with a closed stdin it may also begin to wait for a browser. */
const notSignedIn =
  /not (?:signed|logged) in|sign[- ]in|please sign|sbx login|not authenticated|401 unauthorized|session has expired|confirmation code/iu

function broken(version: string | null, problem: string, called: string): FoundCli {
  const fix =
    called === 'sbx'
      ? 'Run `sbx diagnose`; `sbx daemon restart` helps when nothing answers.'
      : 'Start Docker Desktop, or install `sbx`, which has taken the place of `docker sandbox`.'
  return { ok: false, version, problem, fix }
}

export type Machine = { platform: string; arch: string; kvm: boolean }

function thisMachine(): Machine {
  return { platform: process.platform, arch: process.arch, kvm: existsSync('/dev/kvm') }
}

/** G-06: whoever cannot use it is told so, and not sent to install it. */
export function installText({ platform, arch, kvm }: Machine): string {
  if (platform === 'darwin' && arch !== 'arm64')
    return 'sbx needs a Mac with Apple silicon; use another sandbox here.'
  if (platform === 'linux' && !kvm)
    return 'sbx needs KVM (/dev/kvm), which is not here; use bubblewrap or a container here.'
  return 'Install `sbx` (docs.docker.com/ai/sandboxes), then run `sbx login` and `sbx policy init balanced`.'
}

/** Why this project or these agents cannot be in such a sandbox at all. */
export function unfit({
  root,
  agents,
  worktrees,
}: SandboxProbeContext): { problem: string; fix: string } | null {
  const strange = agents.find(agent => !templateAgents.includes(agent))
  if (strange !== undefined)
    return {
      problem: `it has no template for the agent '${strange}'`,
      fix: `Use ${templateAgents.join(', ')}, or another sandbox.`,
    }
  if (worktrees || gitOf(root) === 'elsewhere')
    return {
      problem: 'the repository lies outside the folder it would see, so there is no git in there',
      fix: 'Run Ralph in the main checkout without worktrees, or use another sandbox.',
    }
  return null
}

/** Where the repository of a folder is: a linked worktree has a file that leads away, a folder below it has nothing. */
function gitOf(root: string): 'here' | 'elsewhere' | 'none' {
  const found = lstatSync(path.join(root, '.git'), { throwIfNoEntry: false })
  if (found) return found.isDirectory() ? 'here' : 'elsewhere'
  for (let folder = path.dirname(root); ; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, '.git'))) return 'elsewhere'
    if (folder === path.dirname(folder)) return 'none'
  }
}
