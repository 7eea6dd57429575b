import { existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { UserError } from '../core/errors.ts'
import { absolute, type BoxHome, isBelow } from './box-home.ts'
import { isSystem, secretPlaces, toolPaths } from './box-tools.ts'
import { fits, hideFolder, type Mount, masks, mountArgv, shown } from './bubblewrap-argv.ts'
import { type BoxRepository, findLinked, gitMounts } from './bubblewrap-git.ts'
import type { BoxedProgram, BoxPolicy } from './sandbox.ts'

/** What of this machine a program sees besides the system: its home, its tools, the project. */
export function programMounts(options: {
  policy: BoxPolicy
  program: BoxedProgram
  /** The user's home, and the box's own that lies there. */
  home: string
  own: BoxHome
  repository: BoxRepository | null
}): string[] {
  const { policy, program, home, own, repository } = options
  const outside = (paths: readonly string[]) => paths.map(path => absolute(path, home))
  const [reads, writes] = [outside(policy.reads), outside(policy.writes)]
  const needed = outside(program.reads).filter(path => !isBelow(path, policy.root))
  const tools = shown([...toolPaths({ ...program, home }), ...needed], home)
  const homes: Mount[] = own.folders.map(({ from, at }) => ({ path: at, from, writable: true }))
  const told: Mount[] = [
    ...reads.map(path => ({ path, writable: false, maybe: true as const })),
    ...writes.map(path => ({ path, writable: true, maybe: true as const })),
  ]
  const caches = cacheMounts(policy, program, home).filter(mount => fits(mount, [...homes, ...tools]))
  const open = [...tools, ...told].map(({ path }) => path)
  return [
    ...mountArgv([...homes, ...tools, ...caches, ...told]),
    ...masks(secretPlaces(home, program.env), open, [...reads, ...writes]),
    ...projectArgv(policy, program, repository),
  ]
}

/** The user's home as the program knows it. */
export function homeOf(env: Readonly<Record<string, string | undefined>>): string {
  const home = env.HOME && isAbsolute(env.HOME) ? join(env.HOME, '.') : homedir()
  return home === '/' || isSystem(home) ? '/home/user' : home
}

/** A box around the home folder, or around the whole machine, would hold nothing back. */
export function checkRoot(root: string, home: string): void {
  if (root !== home && !isBelow(home, root)) return
  throw new UserError(
    `the project ${root} holds your home folder, so a sandbox cannot keep the two apart`,
    'Move the project into a folder of its own, or use `--no-sandbox`.',
  )
}

/** What tools download is kept for the next program, apart for agents and for gates: no agent prepares a gate's tools. */
function cacheMounts(policy: BoxPolicy, program: BoxedProgram, home: string): Mount[] {
  const kept = join(policy.home, 'box', 'cache', program.agent === null ? 'gates' : 'agents')
  const places = cacheNames.map(name => ({
    name,
    from: join(kept, name.replaceAll('/', '-').replace(/^\./, '')),
  }))
  if (places.some(({ from }) => !existsSync(from)))
    for (const { from } of places) mkdirSync(from, { recursive: true })
  return places.map(({ name, from }) => ({ path: join(home, name), from, writable: true }))
}

const cacheNames = [
  ...['.cache', '.npm', '.cargo/registry', '.cargo/git', 'go/pkg', '.m2/repository', '.gradle/caches'],
  ...['.gradle/wrapper', '.nuget/packages', '.bun/install/cache', '.local/share/pnpm/store', '.yarn/berry'],
]

/**
 * The project at its own path. A program that works elsewhere (in the worktree of a task, in a clean checkout) writes
 * there, and only reads the project.
 */
function projectArgv(policy: BoxPolicy, program: BoxedProgram, repository: BoxRepository | null): string[] {
  const { root, home } = policy
  const within =
    program.cwd === root ||
    (isBelow(program.cwd, root) && program.cwd !== home && !isBelow(program.cwd, home))
  const linked = within || !repository ? null : findLinked(program.cwd, home, repository.commonDir)
  const place = within ? root : (linked?.top ?? program.cwd)
  const above: Mount[] =
    repository && repository.top !== root ? [{ path: repository.top, writable: false }] : []
  return [
    ...mountArgv(above),
    ...mountArgv([{ path: root, writable: within && !program.readOnly }]),
    // Git wants to look at the repository, even where nothing may be written.
    ...(repository && (within || !linked)
      ? mountArgv(gitMounts(repository, program.readOnly || !within))
      : []),
    ...mountArgv([{ path: home, writable: false }]),
    ...hideFolder(join(home, 'box')),
    ...(within ? [] : mountArgv([{ path: place, writable: !program.readOnly }])),
    ...(linked ? mountArgv(gitMounts(linked, program.readOnly)) : []),
  ]
}
