import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type ProcessResult, runProcess } from '../../src/process/run-process.ts'
import { bubblewrap } from '../../src/sandbox/bubblewrap.ts'
import type { Box, BoxedProgram, BoxPolicy } from '../../src/sandbox/sandbox.ts'

export type Ran = ProcessResult & { output: string }

export type BoxProject = {
  base: string
  root: string
  home: string
  /** Puts a file below `base`. */
  write(path: string, text: string): string
  read(path: string): string
  git(...args: string[]): string
  policy(more?: Partial<BoxPolicy>): BoxPolicy
  open(more?: Partial<BoxPolicy>): Promise<Box>
  /** Runs a shell script in the box under a real leash. */
  run(
    box: Box,
    script: string,
    more?: Partial<BoxedProgram & { signal: AbortSignal; grace: number }>,
  ): Promise<Ran>
  refused: string[]
  cleanup(): Promise<void>
}

const resolve = async (host: string) => (host.endsWith('.test') ? (addresses[host] ?? ['127.0.0.1']) : [])
const addresses: Record<string, string[]> = { 'rebound.test': ['169.254.169.254'] }

/** A project with a repository, a home with a secret in it, and boxes around them. */
export function createBoxProject(): BoxProject {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-bwrap-')))
  const [root, home] = [join(base, 'project'), join(base, 'home')]
  const boxes: Box[] = []
  const refused: string[] = []
  let count = 0
  const env = { PATH: process.env.PATH ?? '', HOME: home }
  const project: BoxProject = {
    ...{ base, root, home, refused },
    write: (path, text) => {
      mkdirSync(dirname(join(base, path)), { recursive: true })
      writeFileSync(join(base, path), text)
      return join(base, path)
    },
    read: path => readFileSync(join(base, path), 'utf8'),
    git: (...args) =>
      execFileSync('git', args, {
        cwd: root,
        encoding: 'utf8',
        stdio: 'pipe',
        env: { ...env, ...committer },
      }),
    policy: more => ({
      ...{
        root,
        home: join(root, '.ralph'),
        agents: ['scripted'],
        hosts: [],
        reads: [],
        writes: [],
        copies: [],
      },
      identity: { name: 'Ann "A" Agent', email: 'ann@example.invalid' },
      env,
      cutOff: false,
      refused: what => refused.push(what),
      ...more,
    }),
    open: async more => {
      const box = await bubblewrap({ resolve }).open(project.policy(more))
      boxes.push(box)
      return box
    },
    run: async (box, script, more = {}) => {
      const { signal = new AbortController().signal, grace = 2_000, ...program } = more
      const entered = await box.enter({
        argv: ['sh', '-c', script],
        ...{ cwd: root, env, agent: 'scripted', stdin: null, reads: [], readOnly: false },
        ...program,
      })
      const [outputFile, processFile] = [join(base, `output-${++count}`), join(base, `processes-${count}`)]
      const stdin =
        entered.stdin === null
          ? ({ type: 'none' } as const)
          : ({ type: 'file', path: entered.stdin } as const)
      const limits = { timeout: 30_000, idle: 0, grace, leash: 10_000 }
      const { argv, cwd, env: its } = entered
      const result = await runProcess({
        argv,
        cwd,
        env: its,
        stdin,
        outputFile,
        processFile,
        ...limits,
        signal,
      })
      await box.settle({ ended: result.ended !== 'exit', program: entered })
      return { ...result, output: readFileSync(outputFile, 'utf8') }
    },
    cleanup: async () => {
      for (const box of boxes) await box.close()
      rmSync(base, { recursive: true, force: true })
    },
  }
  project.write('home/canary', 'secret of the home')
  project.write('project/readme.md', 'hello\n')
  project.write('project/.gitignore', '.ralph/\n')
  project.write('project/.ralph/state', 'engine')
  project.git('init', '-q', '-b', 'main')
  project.git('add', '-A')
  project.git('commit', '-qm', 'start')
  return project
}

const committer = Object.fromEntries(
  ['AUTHOR', 'COMMITTER'].flatMap(who => [
    [`GIT_${who}_NAME`, 'Test'],
    [`GIT_${who}_EMAIL`, 'test@example.invalid'],
  ]),
)

/** Processes of this machine whose command line holds this word. */
export function processesWith(word: string): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => {
      try {
        return pid !== process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word)
      } catch {
        return false
      }
    })
}
