import { UserError } from '../core/errors.ts'
import { type Cli, callCli } from './sbx-cli.ts'

/**
 * Which hosts may be reached from in there. The plugin starts with all allowed and is turned to deny; `sbx` starts with
 * what the user chose for this machine (`sbx policy init`), to which rules for this sandbox alone are added. Never a rule
 * for all sandboxes: they are not ours.
 */
export async function allowHosts(options: {
  cli: Cli
  name: string
  hosts: readonly string[]
  /** Those allowed so far; null: nothing was set yet. */
  before: readonly string[] | null
}): Promise<void> {
  const { cli, name, hosts, before } = options
  const added = hosts.filter(host => !before?.includes(host))
  const dropped = (before ?? []).filter(host => !hosts.includes(host))
  if (before && added.length === 0 && dropped.length === 0) return
  for (const args of calls(cli, name, added, dropped)) {
    const end = await callCli(cli, { args, timeout: 30_000 })
    if (end.type !== 'ok')
      throw new UserError(
        `the network rules of the sandbox ${name} could not be set: ${end.detail}`,
        cli.kind === 'sbx'
          ? 'Run `sbx policy init balanced` if you never chose a policy, or update sbx (0.32 or later).'
          : `Try \`docker sandbox network proxy ${name} --policy deny\`.`,
      )
  }
}

function calls(cli: Cli, name: string, added: string[], dropped: string[]): string[][] {
  if (cli.kind === 'docker')
    return [
      [
        ...['network', 'proxy', name, '--policy', 'deny'],
        ...added.flatMap(withPorts).flatMap(host => ['--allow-host', host]),
        ...dropped.flatMap(withPorts).flatMap(host => ['--block-host', host]),
      ],
    ]
  const scope = ['network', '--sandbox', name]
  return [
    ...(added.length > 0 ? [['policy', 'allow', ...scope, added.flatMap(withPorts).join(',')]] : []),
    ...dropped.flatMap(withPorts).map(host => ['policy', 'rm', ...scope, '--resource', host]),
  ]
}

/** Without a port both tools would allow every port of the host; we mean the web's. */
function withPorts(host: string): string[] {
  return /:\d+$/u.test(host) ? [host] : [`${host}:443`, `${host}:80`]
}
