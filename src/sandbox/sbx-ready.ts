import { existsSync } from 'node:fs'
import path from 'node:path'
import { UserError } from '../core/errors.ts'
import type { BoxPolicy } from './sandbox.ts'
import { type Cli, callCli } from './sbx-cli.ts'
import { type Listed, listSandboxes } from './sbx-list.ts'
import { sandboxNames } from './sbx-name.ts'
import { allowHosts } from './sbx-network.ts'
import { readRecord, writeRecord } from './sbx-record.ts'
import { setUp, stateFolder } from './sbx-setup.ts'

/** The template is pulled for the first one. */
const createPatience = 15 * 60_000
const stopPatience = 60_000
const bootPatience = 120_000

/** `mounts` as they were given at its creation: those that end in `:ro` are only read. */
export type Ready = { name: string; mounts: string[] }

/** Creates the sandbox of a project and an agent, or takes the one that is there; sets it up where that was not done. */
export async function makeReady(cli: Cli, policy: BoxPolicy, agent: string): Promise<Ready> {
  const state = cli.kind === 'docker' && agent === 'claude' ? stateFolder(policy.env) : null
  const mounts = mountsOf(policy, state)
  const listed = await mustList(cli)
  const names = sandboxNames(cli.kind, policy.root, agent)
  const there = names.map(name => listed.find(one => isOurs(one, name, policy.root, agent))).find(Boolean)
  const name = there?.name ?? (await create({ cli, agent, mounts, names: free(names, listed) }))
  const record = there ? readRecord(policy.home, name) : null
  if (record && !sameSet(record.mounts, mounts)) throw otherMounts(cli, name)
  if (there?.running) await calm(cli, name, policy)
  if (!record) await setUp({ cli, name, identity: policy.identity, state })
  const hosts = [...policy.hosts].sort()
  await allowHosts({ cli, name, hosts, before: record?.hosts ?? null })
  writeRecord(policy.home, name, { mounts, hosts })
  return { name, mounts }
}

/** H-14: the very name, never one that only begins with it; and of this project and agent, where the listing tells. */
function isOurs(one: Listed, name: string, root: string, agent: string): boolean {
  const here = one.workspaces.length === 0 || one.workspaces[0] === root
  return one.name === name && here && (one.agent === null || one.agent === agent)
}

function free(names: readonly string[], listed: Listed[]): string[] {
  return names.filter(name => !listed.some(one => one.name === name))
}

/**
 * One that still runs. An engine that was cut off may have left an agent in there. And the plugin took its copy of the
 * files when it was started: who knows what was changed outside since.
 */
async function calm(cli: Cli, name: string, { cutOff }: BoxPolicy): Promise<void> {
  if (cli.kind === 'docker') return restart(cli, name)
  if (cutOff) await stop(cli, name)
}

async function create(options: {
  cli: Cli
  agent: string
  mounts: string[]
  names: string[]
}): Promise<string> {
  const { cli, agent, mounts, names } = options
  const [name, ...others] = names
  if (name === undefined)
    throw new UserError(
      'the names of the sandbox of this project are taken by other projects',
      `Look at \`${cli.argv.join(' ')} ls\` and remove what is not needed.`,
    )
  const apart = await isolation(cli)
  const args = ['create', '--name', name, ...apart, agent, ...mounts]
  const end = await callCli(cli, { args, timeout: createPatience })
  if (end.type === 'ok') return name
  // The plugin of Desktop 4.60 takes no dot, which the seed's name may have.
  if (others.length > 0 && /invalid (?:VM|sandbox) name/iu.test(end.text))
    return create({ ...options, names: others })
  const policy = /policy/iu.test(end.text) && cli.kind === 'sbx'
  throw new UserError(
    `the sandbox ${name} could not be created: ${end.detail}`,
    policy
      ? 'Run `sbx policy init balanced` once.'
      : `Try it yourself: \`${[...cli.argv, ...args].join(' ')}\`.`,
  )
}

/** Skills are a folder that all sandboxes of a user write to, unless it is refused; not all versions know the word. */
async function isolation(cli: Cli): Promise<string[]> {
  if (cli.kind !== 'sbx') return []
  const help = await callCli(cli, { args: ['create', '--help'], timeout: 10_000 })
  return help.text.includes('--no-share-skills') ? ['--no-share-skills'] : []
}

/** S1-40: the project first, for it is where commands begin. The same paths as outside. */
function mountsOf({ root, reads, writes, env }: BoxPolicy, state: string | null): string[] {
  const home = env.HOME ?? ''
  const whole = (given: string) => path.resolve(root, given.replace(/^~(?=\/|$)/u, home))
  const outside = (folder: string) => folder !== root && existsSync(folder) && !isInside(folder, root)
  const written = writes.map(whole).filter(outside)
  const read = reads
    .map(whole)
    .filter(outside)
    .filter(folder => !written.includes(folder))
  return [...new Set([root, ...(state === null ? [] : [state]), ...written, ...read.map(one => `${one}:ro`)])]
}

/** Whether a path is there in a sandbox with these folders. */
export function isSeen(file: string, mounts: readonly string[]): boolean {
  return mounts.some(mount => isInside(file, mount.replace(/:ro$/u, '')))
}

function isInside(folder: string, parent: string): boolean {
  return folder === parent || folder.startsWith(parent.endsWith('/') ? parent : `${parent}/`)
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every(one => b.includes(one))
}

function otherMounts(cli: Cli, name: string): UserError {
  return new UserError(
    `the sandbox ${name} was created with other folders than the configuration names now`,
    `Remove it with \`${cli.argv.join(' ')} rm ${name}\`; the next run makes a new one.`,
  )
}

async function mustList(cli: Cli): Promise<Listed[]> {
  const listing = await listSandboxes(cli)
  if (listing.ok) return listing.sandboxes
  const called = cli.argv.join(' ')
  throw new UserError(`\`${called} ls\` failed: ${listing.detail}`, 'Run `ralph doctor`.')
}

/** Ends all that runs in there; to kill the client outside ends nothing inside. Its files stay. */
export async function stop(cli: Cli, name: string): Promise<void> {
  const end = await callCli(cli, { args: ['stop', name], timeout: stopPatience })
  if (end.type === 'ok') return
  const listing = await listSandboxes(cli)
  if (listing.ok && !listing.sandboxes.some(one => one.name === name && one.running)) return
  throw new UserError(
    `the sandbox ${name} could not be stopped, so something may still run in there: ${end.detail}`,
    `Run \`${cli.argv.join(' ')} stop ${name}\`.`,
  )
}

/** S1-49: the only way to have the plugin look at the files outside anew. */
export async function restart(cli: Cli, name: string): Promise<void> {
  await stop(cli, name)
  await wake(cli, name)
}

/** A command starts a stopped sandbox; that is said of `sbx` only, so for the plugin there is a second way. */
export async function wake(cli: Cli, name: string): Promise<void> {
  const end = await callCli(cli, { args: ['exec', name, 'true'], timeout: bootPatience })
  if (end.type === 'ok') return
  const started =
    cli.kind === 'docker' ? await callCli(cli, { args: ['run', '-d', name], timeout: bootPatience }) : end
  if (started.type !== 'ok')
    throw new UserError(
      `the sandbox ${name} did not start: ${started.detail}`,
      `Try \`${cli.argv.join(' ')} exec ${name} true\`.`,
    )
}
