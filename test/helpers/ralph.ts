import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The built program; `npm test` builds it first. */
export const program =
  process.env.RALPH_PROGRAM ?? fileURLToPath(new URL('../../dist/ralph.js', import.meta.url))

export type TestProject = {
  root: string
  /** A home folder of its own, so that nobody's configuration of git or of an agent has a say. */
  home: string
  read(file: string): string
  write(file: string, content: string, mode?: number): void
  exists(file: string): boolean
  git(...args: string[]): string
  cleanup(): void
}

/** A project in a folder of its own; with `git` (the default) a repository whose first commit holds the files. */
export function createProject(
  files: Record<string, string> = {},
  options: { git?: boolean } = {},
): TestProject {
  const base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'ralph-test-')))
  const root = path.join(base, 'project')
  const home = path.join(base, 'home')
  mkdirSync(root)
  mkdirSync(home)
  writeFileSync(
    path.join(home, '.gitconfig'),
    '[user]\n  name = Test\n  email = test@example.invalid\n[init]\n  defaultBranch = main\n[commit]\n  gpgsign = false\n',
  )
  const project: TestProject = {
    root,
    home,
    read: file => readFileSync(path.join(root, file), 'utf8'),
    write: (file, content, mode) => {
      mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
      writeFileSync(path.join(root, file), content, mode === undefined ? {} : { mode })
    },
    exists: file => existsSync(path.join(root, file)),
    git: (...args) =>
      execFileSync('git', args, { cwd: root, env: environment(home), encoding: 'utf8', stdio: 'pipe' }),
    cleanup: () => rmSync(base, { recursive: true, force: true }),
  }
  for (const [file, content] of Object.entries(files)) project.write(file, content)
  if (options.git !== false) {
    project.git('init', '-q')
    project.git('add', '-A')
    project.git('commit', '-q', '--allow-empty', '-m', 'first')
  }
  return project
}

export type Ended = { code: number | null; stdout: string; stderr: string }

export type RalphOptions = { env?: Record<string, string>; input?: string; timeout?: number; cwd?: string }

/** Runs the built CLI in the project and waits for its end. One that takes longer than `timeout` is killed (`code` null). */
export async function ralph(
  project: TestProject,
  args: string[],
  options: RalphOptions = {},
): Promise<Ended> {
  const running = startRalph(project, args, options)
  const timer = setTimeout(() => running.kill('SIGKILL'), options.timeout ?? 30_000)
  try {
    return await running.ended
  } finally {
    clearTimeout(timer)
  }
}

export type RunningRalph = {
  pid: number
  ended: Promise<Ended>
  /** What was printed so far. */
  stdout(): string
  stderr(): string
  kill(signal: NodeJS.Signals): void
}

/** Starts the built CLI and lets it run. */
export function startRalph(project: TestProject, args: string[], options: RalphOptions = {}): RunningRalph {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: options.cwd ?? project.root,
    env: { ...environment(project.home), ...options.env },
    stdio: 'pipe',
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  // A program that ends without reading its input is none of our business.
  child.stdin.on('error', () => undefined).end(options.input ?? '')
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve({ code, stdout, stderr }))
  })
  return {
    pid: child.pid ?? 0,
    ended,
    stdout: () => stdout,
    stderr: () => stderr,
    kill: signal => void child.kill(signal),
  }
}

/** Waits until `look` gives something true; fails with `what` after `timeout` ms. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  timeout = 15_000,
): Promise<NonNullable<T>> {
  const end = Date.now() + timeout
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() > end) throw new Error(`waited ${timeout} ms in vain for: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** Little more than a PATH: neither the machine's settings nor a caller's RALPH_* and agent variables come through. */
export function environment(home: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, '.config'),
    GIT_CONFIG_NOSYSTEM: '1',
    TMPDIR: os.tmpdir(),
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    NO_COLOR: '1',
  }
}
