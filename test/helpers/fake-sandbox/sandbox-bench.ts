import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { BoxedProgram, BoxPolicy, EnteredProgram } from '../../../src/sandbox/sandbox.ts'
import { type FakeOptions, type FakeSandbox, fakeDocker, fakeSbx } from './fake-sandbox.ts'

/** A project, a home, stand-ins for the five agents, and a stand-in for the tool. */
export type SandboxBench = {
  root: string
  home: string
  /** The engine's own folder. */
  ralph: string
  fake: FakeSandbox
  env: Record<string, string>
  policy(more?: Partial<BoxPolicy>): BoxPolicy
  program(more?: Partial<BoxedProgram>): BoxedProgram
  /** A file outside the project. */
  file(name: string, content: string): string
  cleanup(): void
}

export function createBench(
  kind: 'sbx' | 'docker',
  options: FakeOptions & { project?: string } = {},
): SandboxBench {
  const base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'ralph-box-')))
  const root = path.join(base, options.project ?? 'project')
  const home = path.join(base, "us'er")
  const agents = path.join(base, 'agents')
  for (const folder of [root, home, agents]) mkdirSync(folder, { recursive: true })
  execFileSync('git', ['init', '-q'], { cwd: root })
  const script = `#!${process.execPath}\n${agentScript}`
  for (const name of ['claude', 'codex', 'copilot', 'gemini', 'opencode'])
    writeFileSync(path.join(agents, name), script, { mode: 0o755 })
  const inside = `${agents}:${process.env.PATH ?? ''}`
  const { project: _, ...fakeOptions } = options
  const make = kind === 'sbx' ? fakeSbx : fakeDocker
  const fake = make(path.join(base, 'tool'), { path: inside, ...fakeOptions })
  const ralph = path.join(root, '.ralph')
  const env = { PATH: fakePath(fake), HOME: home, LANG: 'C.UTF-8' }
  return {
    root,
    home,
    ralph,
    fake,
    env,
    policy: more => ({
      ...{ root, home: ralph, agents: ['claude'], hosts: [], reads: [], writes: [], copies: [] },
      ...{ identity: { name: '', email: '' }, env, cutOff: false, refused: () => undefined },
      ...more,
    }),
    program: more => ({
      ...{
        argv: ['sh', '-c', 'true'],
        cwd: root,
        env: {},
        agent: null,
        stdin: null,
        reads: [],
        readOnly: false,
      },
      ...more,
    }),
    file: (name, content) => {
      const file = path.join(base, name)
      writeFileSync(file, content)
      return file
    },
    cleanup: () => {
      fake.end()
      rmSync(base, { recursive: true, force: true })
      // What a test entered and did not settle.
      for (const left of readdirSync(os.tmpdir()).filter(name => name.includes(path.basename(base))))
        rmSync(path.join(os.tmpdir(), left), { recursive: true, force: true })
    },
  }
}

/** Only the stand-in and what a shell needs: a real `docker` or `sbx` of this machine has no say. */
export function fakePath(fake: FakeSandbox): string {
  return `${fake.path}:/usr/bin:/bin`
}

/** Writes down how it was called. */
const agentScript = `
const fs = require('node:fs')
const argv = process.argv.slice(2)
fs.writeFileSync('seen.json', JSON.stringify({ argv, stdin: fs.readFileSync(0, 'utf8'), env: process.env }))
console.log('OK')
`

export type Seen = { argv: string[]; stdin: string; env: Record<string, string> }

export function seen(root: string): Seen {
  return JSON.parse(readFileSync(path.join(root, 'seen.json'), 'utf8')) as Seen
}

export function start(entered: EnteredProgram): ChildProcess {
  const [program, ...args] = entered.argv
  const stdin = entered.stdin === null ? 'ignore' : openSync(entered.stdin, 'r')
  return spawn(program, args, { cwd: entered.cwd, env: entered.env, stdio: [stdin, 'pipe', 'pipe'] })
}

export async function run(entered: EnteredProgram): Promise<{ code: number | null; output: string }> {
  const child = start(entered)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
  const code = await new Promise<number | null>(resolve => child.on('close', resolve))
  return { code, output }
}
