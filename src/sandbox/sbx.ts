import { setTimeout as delay } from 'node:timers/promises'
import { UserError } from '../core/errors.ts'
import type { Box, BoxPolicy, Sandbox } from './sandbox.ts'
import { type Cli, callCli } from './sbx-cli.ts'
import { enterSandbox } from './sbx-enter.ts'
import { environmentFiles } from './sbx-environment.ts'
import { type FoundCli, findCli, unfit } from './sbx-find.ts'
import { isSeen, makeReady, type Ready, restart, stop, wake } from './sbx-ready.ts'

/** S1-26: how long the plugin may take to bring the files out that were written in there. */
export const syncTime = 2_500

export type SbxSettings = { syncTime?: number }

/** Docker's microVMs: `sbx`, or the older `docker sandbox`, which keeps a copy of the files that is synced. */
export function sbx(settings: SbxSettings = {}): Sandbox {
  let found: FoundCli | null = null
  return {
    name: 'sbx',
    probe: async context => {
      const reason = unfit(context)
      if (reason) return { ok: false, version: null, ...reason }
      found = await findCli(context.env, context.root)
      if (!found.ok) {
        const { version, problem, fix } = found
        return { ok: false, version, problem, fix }
      }
      const several = tooMany(found.cli, context.agents)
      if (several) return { ok: false, version: found.version, ...several }
      return { ok: true, version: found.version, problem: null, fix: null }
    },
    open: async policy => {
      found ??= await findCli(policy.env, policy.root)
      if (!found.ok) throw new UserError(`sandbox sbx: ${found.problem}`, found.fix)
      const several = tooMany(found.cli, policy.agents)
      if (several) throw new UserError(`sandbox sbx: ${several.problem}`, several.fix)
      return openBox({ cli: found.cli, version: found.version, policy, wait: settings.syncTime ?? syncTime })
    },
  }
}

/** Each agent has a sandbox of its own, and with the plugin each of them a copy of the files that the others never see. */
function tooMany(cli: Cli, agents: readonly string[]): { problem: string; fix: string } | null {
  if (cli.kind === 'sbx' || new Set(agents).size < 2) return null
  return {
    problem: '`docker sandbox` gives each agent its own copy of the files, so only one agent can be used',
    fix: 'Use one agent for all stages, or install `sbx`.',
  }
}

async function openBox(options: {
  cli: Cli
  version: string | null
  policy: BoxPolicy
  wait: number
}): Promise<Box> {
  const { cli, version, policy, wait } = options
  const ready = new Map<string, Ready>()
  for (const agent of policy.agents.length > 0 ? new Set(policy.agents) : ['claude'])
    ready.set(agent, await makeReady(cli, policy, agent))
  const [first] = ready.values()
  if (!first) throw new Error('no sandbox')
  const files = environmentFiles(first.name)
  files.remove()
  const used = new Set<string>()
  const stopped = new Set<string>()

  const awake = async (name: string) => {
    if (!stopped.delete(name) || cli.kind === 'sbx') return
    await wake(cli, name)
  }
  const box: Box = {
    name: [...(cli.kind === 'sbx' ? ['sbx'] : ['docker sandbox']), ...(version ? [version] : [])].join(' '),
    allows: allowsText(cli, policy, first),
    holdsReaders: false,
    enter: async program => {
      const chosen = program.agent === null ? first : ready.get(program.agent)
      if (!chosen)
        throw new UserError(
          `there is no sandbox for the agent '${program.agent}'`,
          'Name it in the configuration.',
        )
      if (!isSeen(program.cwd, chosen.mounts))
        throw new UserError(
          `${program.cwd} is not seen in the sandbox`,
          'Name it under `sandbox: writes`, or run the verify commands with `gates: outside`.',
        )
      await awake(chosen.name)
      used.add(chosen.name)
      return enterSandbox({ cli, ready: chosen, program, files })
    },
    settle: async ({ ended }) => {
      files.remove()
      const names = [...used]
      used.clear()
      if (ended)
        for (const name of names) {
          await stop(cli, name)
          stopped.add(name)
        }
      if (cli.kind === 'docker') await delay(wait)
    },
    close: async () => {
      files.remove()
      for (const { name } of ready.values()) await stop(cli, name)
    },
  }
  if (cli.kind === 'sbx') return box
  return {
    ...box,
    changedOutside: async () => {
      stopped.delete(first.name)
      await restart(cli, first.name)
    },
    put: async (path, content) => {
      await awake(first.name)
      await put(cli, first.name, path, content)
    },
  }
}

/** S1-50: a file that the plugin has synced once stays in there as it is, whatever is written outside. */
async function put(cli: Cli, name: string, path: string, content: Uint8Array): Promise<void> {
  const script = 'mkdir -p "$(dirname "$1")" && cat > "$1.ralph" && mv -f "$1.ralph" "$1"'
  const args = ['exec', '-i', name, 'sh', '-c', script, 'put', path]
  const end = await callCli(cli, { args, timeout: 30_000, stdin: content })
  if (end.type !== 'ok')
    throw new UserError(
      `${path} could not be written in the sandbox ${name}: ${end.detail}`,
      `Try \`${cli.argv.join(' ')} exec ${name} true\`.`,
    )
}

function allowsText(cli: Cli, { hosts }: BoxPolicy, { mounts }: Ready): string {
  const read = mounts.filter(mount => mount.endsWith(':ro')).map(mount => mount.slice(0, -3))
  const written = mounts.filter(mount => !mount.endsWith(':ro'))
  const files = [
    `reads and writes ${written.join(', ')}`,
    ...(read.length > 0 ? [`reads ${read.join(', ')}`] : []),
  ]
  const named = hosts.length === 0 ? 'no host' : hosts.join(', ')
  // `sbx` lets nobody take away in one sandbox what the user allowed to all but by naming each host.
  const network = cli.kind === 'sbx' ? `what \`sbx policy ls\` allows, and ${named}` : named
  return [...files, `network: ${network}`].join('; ')
}
