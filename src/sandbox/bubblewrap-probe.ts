import { execFile } from 'node:child_process'
import { accessSync, constants, readFileSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { perlLauncher } from './box-launcher.ts'
import { confinement, systemView } from './bubblewrap-argv.ts'
import type { SandboxProbe } from './sandbox.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The program and what it can do; null where there is none. */
type Bubblewrap = { path: string; version: string; forbidsNested: boolean }

const probeTime = 10_000

/** Starts a box for real, with all that a run will use. */
export async function probeBubblewrap(env: Env): Promise<SandboxProbe> {
  const no = (problem: string, fix: string, version: string | null = null) => ({
    ok: false,
    version,
    problem,
    fix,
  })
  if (process.platform !== 'linux')
    return no('bubblewrap is for Linux alone', 'On this system use sbx (Docker Sandboxes).')
  const path = findBubblewrap(env)
  if (path === null)
    return no(
      'bubblewrap is not installed',
      'Install it: sudo apt-get install bubblewrap (or dnf, pacman, apk).',
    )
  const asked = run(path, ['--version'])
  // Whether further namespaces can be forbidden is not known yet, and no matter of whether it works.
  const started = await run(path, [
    ...systemView({ hiding: false }),
    ...confinement(false),
    '--',
    ...launch('', ['true']),
  ])
  const version = versionOf((await asked).stdout)
  if (started.code === 0) return { ok: true, version, problem: null, fix: null }
  const said = started.stderr.trim().split('\n').at(-1)?.slice(0, 300) || `it ended with ${started.code}`
  return no(`no box can be made here: ${said}`, fixFor(said), version)
}

export async function lookAtBubblewrap(env: Env): Promise<Bubblewrap | null> {
  const path = process.platform === 'linux' ? findBubblewrap(env) : null
  if (path === null) return null
  const version = versionOf((await run(path, ['--version'])).stdout) ?? '0'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return { path, version, forbidsNested: major > 0 || minor >= 8 }
}

/** How the first program in a box is started; `folder` holds the launchers and the sockets. */
export function launch(folder: string, program: readonly string[], ports: readonly number[] = []): string[] {
  const told = [folder, ports.join(','), ...program]
  if (hasPerl())
    return folder === '' ? [perl, '-e', perlLauncher, ...told] : [perl, `${folder}/launch.pl`, ...told]
  return folder === '' ? [...program] : [process.execPath, `${folder}/launch.cjs`, ...told]
}

const perl = '/usr/bin/perl'

function hasPerl(): boolean {
  return isExecutable(perl)
}

/** Only by whole paths: a relative one would lead into the project. */
function findBubblewrap(env: Env): string | null {
  const folders = (env.PATH ?? '/usr/bin:/bin').split(delimiter).filter(isAbsolute)
  return folders.map(folder => join(folder, 'bwrap')).find(isExecutable) ?? null
}

function fixFor(said: string): string {
  if (
    setting('kernel/apparmor_restrict_unprivileged_userns') === '1' &&
    /uid map|permission|namespace|loopback/i.test(said)
  )
    return 'Allow user namespaces: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu 24.04 forbids them).'
  if (setting('kernel/unprivileged_userns_clone') === '0')
    return 'Allow user namespaces: sudo sysctl -w kernel.unprivileged_userns_clone=1.'
  if (setting('user/max_user_namespaces') === '0')
    return 'Allow user namespaces: sudo sysctl -w user.max_user_namespaces=15000.'
  return 'In a container, start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or with --privileged; then `ralph doctor` tries again.'
}

function setting(name: string): string | null {
  try {
    return readFileSync(`/proc/sys/${name}`, 'utf8').trim()
  } catch {
    return null
  }
}

function versionOf(text: string): string | null {
  return /(\d+\.\d+(?:\.\d+)?)/.exec(text)?.[1] ?? null
}

function run(
  file: string,
  args: string[],
): Promise<{ code: number | string; stdout: string; stderr: string }> {
  return new Promise(resolve => {
    const options = { timeout: probeTime, env: { PATH: '/usr/bin:/bin', PERL_BADLANG: '0' }, cwd: '/' }
    execFile(file, args, options, (error, stdout, stderr) => {
      resolve({
        code: error ? (error.code ?? error.signal ?? 1) : 0,
        stdout,
        stderr: stderr || (error?.message ?? ''),
      })
    })
  })
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
