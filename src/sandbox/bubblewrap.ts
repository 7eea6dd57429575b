import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import { makeBoxFolder, removeTree } from './box-folder.ts'
import { type BoxHome, makeHome } from './box-home.ts'
import { nodeLauncher, perlLauncher } from './box-launcher.ts'
import { confinement, systemView } from './bubblewrap-argv.ts'
import { boxEnvironment } from './bubblewrap-environment.ts'
import { findRepository, prepareGit, strayFiles } from './bubblewrap-git.ts'
import { checkRoot, homeOf, programMounts } from './bubblewrap-mounts.ts'
import { launch, lookAtBubblewrap, probeBubblewrap } from './bubblewrap-probe.ts'
import { createProxy, type ProxyOptions } from './proxy.ts'
import { portsHere, readRules } from './proxy-rules.ts'
import type { Box, BoxedProgram, BoxPolicy, EnteredProgram, Sandbox } from './sandbox.ts'

/**
 * Linux namespaces by `bwrap`: a file system made of what is allowed, processes and a network of its own, no rights. A
 * box costs milliseconds, so each program gets a new one; what stays open is the proxy, the only way out.
 */
export function bubblewrap(options: Pick<ProxyOptions, 'resolve'> = {}): Sandbox {
  return {
    name: 'bubblewrap',
    probe: ({ env }) => probeBubblewrap(env),
    open: policy => openBox(policy, options),
  }
}

type Inhabitant = { folder: string; own: BoxHome; strays: string[] }

async function openBox(policy: BoxPolicy, options: Pick<ProxyOptions, 'resolve'>): Promise<Box> {
  const rules = readRules(policy.hosts)
  const home = homeOf(policy.env)
  checkRoot(policy.root, home)
  const found = await lookAtBubblewrap(policy.env)
  if (!found)
    throw new UserError('bubblewrap is not installed', 'Install it: sudo apt-get install bubblewrap.')

  const repository = findRepository(policy.root)
  if (repository) prepareGit(repository)
  mkdirSync(join(policy.home, 'box'), { recursive: true })
  const folder = makeBoxFolder(policy.env)
  const run = join(folder, 'run')
  writeFileSync(join(run, 'launch.pl'), perlLauncher)
  writeFileSync(join(run, 'launch.cjs'), nodeLauncher)
  const machine = portsHere(rules)
  const proxyPort = freePort(machine)
  const proxy = createProxy({ rules, refused: policy.refused, env: policy.env, ...options })
  await proxy.listen(join(run, `${proxyPort}.sock`))
  for (const port of machine) await proxy.forward(join(run, `${port}.sock`), port)
  const system = systemView({ hiding: true })

  const inside = new Map<EnteredProgram, Inhabitant>()
  let count = 0
  const enter = (program: BoxedProgram): EnteredProgram => {
    const place = join(folder, 'programs', String(++count))
    mkdirSync(place)
    for (const name of ['tmp', 'var-tmp']) {
      mkdirSync(join(place, name))
      chmodSync(join(place, name), 0o1777)
    }
    const own = makeHome({
      place,
      home,
      // Gates run what agents wrote; they have no business with anybody's login.
      copies: program.agent === null ? [] : policy.copies,
      files: { '.gitconfig': gitConfig(policy.identity) },
    })
    const env = boxEnvironment(program.env, { home, proxyPort })
    const entered: EnteredProgram = {
      argv: [
        ...patient,
        found.path,
        ...system,
        ...['--bind', join(place, 'tmp'), '/tmp', '--bind', join(place, 'var-tmp'), '/var/tmp'],
        ...['--tmpfs', '/run', '--ro-bind', run, inBox, '--symlink', '/run', '/var/run'],
        ...programMounts({ policy, program: { ...program, env }, home, own, repository }),
        ...confinement(found.forbidsNested),
        ...['--chdir', program.cwd, '--'],
        ...launch(inBox, program.argv, [proxyPort, ...machine]),
      ],
      cwd: program.cwd,
      env: { ...env, PERL_BADLANG: '0' },
      stdin: program.stdin,
    }
    inside.set(entered, { folder: place, own, strays: repository ? strayFiles(repository) : [] })
    return entered
  }
  const leave = (entered: EnteredProgram) => {
    const one = inside.get(entered)
    if (!one) return
    inside.delete(entered)
    one.own.bringBack()
    for (const stray of one.strays) rmSync(stray, { recursive: true, force: true })
    removeTree(one.folder)
  }

  return {
    name: `bubblewrap ${found.version}`,
    allows: allowed(policy),
    holdsReaders: true,
    enter: async program => enter(program),
    settle: async ({ program }) => {
      if (program) return leave(program)
      const [only, ...others] = inside.keys()
      // Not named and not alone: its home goes when the box is closed.
      if (only && others.length === 0) return leave(only)
      for (const one of inside.values()) one.own.bringBack()
    },
    close: async () => {
      await proxy.close()
      for (const entered of inside.keys()) leave(entered)
      removeTree(folder)
    },
  }
}

/** A TERM for all is for the program; the box ends when the program has. Without this it would be killed at once. */
const patient: [string, ...string[]] = ['/bin/sh', '-c', `trap '' TERM; exec "$@"`, 'box']

/** Where launchers and sockets are found inside. */
const inBox = '/run/ralph'

const usualPort = 31_280

function freePort(taken: readonly number[]): number {
  let port = usualPort
  while (taken.includes(port)) port++
  return port
}

/** In there everything belongs to whoever owns the project outside, whatever the numbers say. */
function gitConfig({ name, email }: BoxPolicy['identity']): string {
  const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&').replace(/[\r\n]/g, ' ')}"`
  return `[user]\n\tname = ${quoted(name)}\n\temail = ${quoted(email)}\n[safe]\n\tdirectory = *\n`
}

function allowed({ root, hosts, writes, reads }: BoxPolicy): string {
  const parts = [
    `writes ${[root, ...writes].join(', ')}`,
    ...(reads.length > 0 ? [`reads ${reads.join(', ')}`] : []),
    hosts.length > 0 ? `reaches ${[...new Set(hosts)].join(', ')}` : 'reaches no host',
  ]
  return `${parts.join('; ')}; your home folder is hidden`
}
