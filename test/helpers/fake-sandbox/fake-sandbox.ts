import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** What the stand-in is like; all may be changed later with `configure`. */
export type FakeOptions = {
  signedIn?: boolean
  /** `docker`: false = one that has no `sandbox` command. */
  plugin?: boolean
  /** `shared` (the default) = one tree; `synced` = a copy that drops what is overwritten outside. */
  files?: 'shared' | 'synced'
  /** `synced`: milliseconds until what was written in there comes out. */
  syncDelay?: number
  /** false = `exec` refuses a stopped sandbox. */
  execStarts?: boolean
  /** As the plugin of Docker Desktop 4.60. */
  refusesDots?: boolean
  /** Lines about the daemon come before the listing. */
  daemonStopped?: boolean
  /** Knows `--no-share-skills`. */
  sharesSkills?: boolean
  /** false = nobody has run `sbx policy init`. */
  policyChosen?: boolean
  /** PATH in there; the agents' programs must be on it. */
  path?: string
}

export type FakeCall = {
  program: 'sbx' | 'docker'
  args: string[]
  env: Record<string, string | undefined>
  cwd: string
  stdin: string | null
  /** What the file of `--env-file` said. */
  envFile: string | null
}

export type FakeMachine = {
  name: string
  agent: string
  status: 'running' | 'stopped'
  workspaces: string[]
  policy: 'allow' | 'deny'
  allowed: string[]
  blocked: string[]
}

export type FakeSandbox = {
  /** Put this folder in front of PATH. */
  path: string
  /** All calls so far, oldest first. `docker` has `sandbox` as its first argument. */
  calls(): FakeCall[]
  /** Those of one sub-command, without `sandbox` and the sub-command itself. */
  called(command: string): string[][]
  machines(): FakeMachine[]
  /** A file of the home folder in there. */
  home(name: string, file: string): string
  /** Where a file of a `synced` workspace lies in there. */
  inside(name: string, file: string): string
  configure(options: FakeOptions): void
  /** Ends whatever still runs in there. */
  end(): void
}

/** A `docker` whose `sandbox` plugin is a stand-in; state, calls and the program lie in `dir`. */
export function fakeDocker(dir: string, options: FakeOptions = {}): FakeSandbox {
  return fake(dir, 'docker', options)
}

export function fakeSbx(dir: string, options: FakeOptions = {}): FakeSandbox {
  return fake(dir, 'sbx', options)
}

function fake(dir: string, kind: 'sbx' | 'docker', options: FakeOptions): FakeSandbox {
  const program = fileURLToPath(new URL('./fake-cli.mjs', import.meta.url))
  const bin = path.join(dir, 'bin')
  const place = path.join(dir, kind)
  const machine = (name: string) => path.join(place, 'vms', name)
  mkdirSync(bin, { recursive: true })
  mkdirSync(place, { recursive: true })
  const configFile = path.join(place, 'config.json')
  let config: FakeOptions = { path: process.env.PATH ?? '' }
  const configure = (more: FakeOptions) => {
    config = { ...config, ...more }
    writeFileSync(configFile, JSON.stringify(config))
  }
  configure(options)
  const starter = path.join(bin, kind)
  writeFileSync(starter, `#!/bin/sh\nexec '${process.execPath}' '${program}' '${dir}' ${kind} "$@"\n`)
  chmodSync(starter, 0o755)

  const calls = () =>
    filesOf(path.join(place, 'calls')).map(file => JSON.parse(readFileSync(file, 'utf8')) as FakeCall)
  return {
    path: bin,
    calls,
    called: command =>
      calls()
        .map(({ args }) => (kind === 'docker' ? args.slice(1) : args))
        .filter(([first]) => first === command)
        .map(args => args.slice(1)),
    machines: () =>
      filesOf(path.join(place, 'vms')).map(
        folder => JSON.parse(readFileSync(path.join(folder, 'vm.json'), 'utf8')) as FakeMachine,
      ),
    home: (name, file) => path.join(machine(name), 'home', file),
    inside: (name, file) => path.join(machine(name), 'files', file),
    configure,
    end: () => {
      for (const vm of filesOf(path.join(place, 'vms')))
        for (const job of filesOf(path.join(vm, 'jobs'))) endGroup(path.join(job, 'group'))
    },
  }
}

function filesOf(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .sort()
    .map(name => path.join(folder, name))
}

function endGroup(file: string): void {
  const group = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  if (group <= 1) return
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // It is over.
  }
}
