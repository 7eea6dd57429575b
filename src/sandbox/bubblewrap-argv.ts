import { existsSync, lstatSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isBelow } from './box-home.ts'
import { hiddenIn, isSystem } from './box-tools.ts'

/** One folder or file that is shown, later ones on top of earlier ones. `maybe`: no matter if it is gone meanwhile. */
export type Mount = { path: string; from?: string; writable: boolean; maybe?: true }

/**
 * Built up from nothing: the system to be read, with all hidden that not everybody may read; devices that do no harm;
 * processes of the box alone. What is not named here is not there. To look for what to hide takes some milliseconds.
 */
export function systemView({ hiding }: { hiding: boolean }): string[] {
  const argv = ['--ro-bind', '/usr', '/usr']
  for (const path of ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']) {
    const there = lstatSync(path, { throwIfNoEntry: false })
    if (there?.isSymbolicLink()) argv.push('--symlink', readlinkSync(path), path)
    else if (there) argv.push('--ro-bind', path, path)
  }
  for (const [path, depth] of [['/etc', 6] as const, ['/opt', 1] as const]) {
    if (!existsSync(path)) continue
    argv.push('--ro-bind', path, path)
    if (!hiding) continue
    const { files, folders } = hiddenIn(path, depth)
    argv.push(...files.flatMap(hideFile), ...folders.flatMap(hideFolder))
  }
  argv.push('--dev', '/dev', '--proc', '/proc', ...kernelSettings())
  return argv
}

/**
 * Root is root in here as far as the kernel's settings are concerned: it could name a program that runs outside whenever
 * one crashes. So everything in `/proc` but the processes is only to be read.
 */
function kernelSettings(): string[] {
  return readdirSync('/proc').flatMap(name => {
    const path = join('/proc', name)
    const there = /^\d+$/.test(name) ? undefined : lstatSync(path, { throwIfNoEntry: false })
    if (!there || there.isSymbolicLink()) return []
    return there.isDirectory() || (there.mode & 0o222) !== 0 ? ['--ro-bind-try', path, path] : []
  })
}

/** Namespaces and rights. `nested`: whether this bubblewrap can forbid further namespaces inside. */
export function confinement(nested: boolean): string[] {
  return [
    ...[
      '--unshare-user',
      '--unshare-pid',
      '--unshare-net',
      '--unshare-ipc',
      '--unshare-uts',
      '--unshare-cgroup-try',
    ],
    ...(nested ? ['--disable-userns'] : []),
    ...['--cap-drop', 'ALL', '--die-with-parent'],
  ]
}

/** Folders that are shown to be read, each once; nothing that holds the home or the whole machine. */
export function shown(paths: readonly string[], home: string): Mount[] {
  const whole = [...new Set(paths)]
    .map(path => (/^\/(?:nix|gnu)\//.test(path) ? path.split('/').slice(0, 2).join('/') : path))
    .filter(path => path !== '/' && path !== home && !isBelow(home, path) && !isSystem(path))
    .sort()
  const tops = whole.filter(path => !whole.some(other => isBelow(path, other)))
  return [...new Set(tops)].map(path => ({ path, writable: false, maybe: true }))
}

/** Secrets that a shown folder holds, unless the user named them himself. */
export function masks(
  secrets: readonly string[],
  folders: readonly string[],
  named: readonly string[],
): string[] {
  return secrets
    .filter(path => folders.some(folder => isBelow(path, folder)) && !named.includes(path))
    .flatMap(path => {
      const there = statSync(path, { throwIfNoEntry: false })
      if (!there) return []
      return there.isDirectory() ? hideFolder(path) : hideFile(path)
    })
}

/** A mount inside a folder that is only read needs a place that is there already. */
export function fits(mount: Mount, below: readonly Mount[]): boolean {
  const above = below.filter(other => isBelow(mount.path, other.path)).at(-1)
  return above === undefined || above.writable || existsSync(mount.path)
}

export function mountArgv(mounts: readonly Mount[]): string[] {
  return mounts.flatMap(({ path, from = path, writable, maybe }) => [
    `--${writable ? 'bind' : 'ro-bind'}${maybe ? '-try' : ''}`,
    from,
    path,
  ])
}

/** Empty to whoever looks in, whatever it is outside. */
export function hideFolder(path: string): string[] {
  return ['--tmpfs', path, '--remount-ro', path]
}

function hideFile(path: string): string[] {
  return ['--ro-bind-try', '/dev/null', path]
}
