import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll } from 'vitest'
import type { AgentOutcome, Outcome } from '../../src/core/outcome.ts'
import {
  createProject,
  type Ended,
  type RunningRalph,
  ralph,
  startRalph,
  type TestProject,
} from '../helpers/ralph.ts'
import type { LoggedRequest } from '../model-server/request-log.ts'
import type { Step } from '../model-server/scenario.ts'
import { type ModelServer, startModelServer } from '../model-server/server.ts'
import type { AgentConfig, RealCli } from './clis.ts'
import { storyFiles } from './story.ts'

/** Where `scripts/ensure.mjs agents` puts the CLIs. */
export const bin = fileURLToPath(new URL('../../.cache/agents/node_modules/.bin', import.meta.url))

/** A project whose agents are real CLIs, and the model that they ask. */
export type Play = {
  project: TestProject
  /** What the model says from now on; each CLI has one of its own. */
  script(turns: Step[], cli?: string): void
  /** What the model was asked. */
  requests(cli?: string): LoggedRequest[]
  ralph(...args: string[]): Promise<Ended>
  start(...args: string[]): RunningRalph
  /** The agent calls that have ended, in order. */
  calls(): AgentOutcome[]
  /** Stops what a failed test has left running, and cleans up. */
  end(): Promise<void>
}

export type Scene = {
  stories?: string[]
  /** Further keys of ralph.config.yaml, made of the address of the usual CLI's model if need be. */
  config?: Record<string, unknown> | ((url: string) => Record<string, unknown>)
  files?: Record<string, string>
  /** In a sandbox from which only the model can be reached. */
  boxed?: boolean
  /** `agent:`, made of those of the CLIs; the first of them when not given. */
  agent?: (agents: Record<string, AgentConfig>) => unknown
}

/** One model server and one home per test file; a project of its own for each test. The first CLI is the usual one. */
export function useStage(...clis: [RealCli, ...RealCli[]]): (scene?: Scene) => Play {
  let server: ModelServer | null = null
  let home = ''
  let count = 0
  let plays: Play[] = []
  beforeAll(async () => {
    home = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'ralph-real-')))
    for (const cli of clis) cli.prepare?.(home)
    server = await startModelServer()
  })
  afterEach(async () => {
    for (const play of plays) await play.end()
    plays = []
  })
  afterAll(async () => {
    await server?.close()
    rmSync(home, { recursive: true, force: true })
  })
  return (scene = {}) => {
    if (!server) throw new Error('the server is started in beforeAll')
    const play = setStage({ server, home, clis, scene, number: ++count })
    plays.push(play)
    return play
  }
}

/** A time limit that is long enough for a call that takes so long when nothing is wrong. */
export function patience(pace: number): string {
  return `${Math.round(2 * pace + 3000)}ms`
}

type Setting = {
  server: ModelServer
  home: string
  clis: readonly [RealCli, ...RealCli[]]
  scene: Scene
  number: number
}

function setStage({ server, home, clis, scene, number }: Setting): Play {
  const nameOf = (cli: string) => `${cli}-${number}`
  const nothing = { turns: [{ text: 'Nothing was scripted.' }] }
  const led = clis.map(cli => ({ cli, url: server.scenario(nameOf(cli.name), nothing) }))
  const agents = Object.fromEntries(led.map(({ cli, url }) => [cli.name, cli.agent(url)]))
  const usual = clis[0].name
  const project = createProject({
    ...storyFiles(scene.stories ?? ['1.1']),
    // JSON is YAML too.
    'ralph.config.yaml': JSON.stringify({
      agent: scene.agent?.(agents) ?? agents[usual],
      verify: 'sh check.sh',
      sandbox: scene.boxed ? { use: 'bubblewrap', hosts: [new URL(server.url).host] } : 'none',
      ...(typeof scene.config === 'function' ? scene.config(led[0]?.url ?? '') : scene.config),
    }),
    ...scene.files,
  })
  // In Gemini's shell, git reads no configuration but the repository's own.
  project.git('config', 'user.name', 'Test')
  project.git('config', 'user.email', 'test@example.invalid')
  copyFileSync(path.join(project.home, '.gitconfig'), path.join(home, '.gitconfig'))
  // Not around the home: Codex's own sandbox would not start then.
  const scratch = path.join(path.dirname(project.root), 'tmp')
  mkdirSync(scratch)
  const env: Record<string, string> = {
    HOME: home,
    XDG_CONFIG_HOME: path.join(home, '.config'),
    TMPDIR: scratch,
    TERM: 'dumb',
    PATH: `${bin}${path.delimiter}${process.env.PATH ?? ''}`,
    ...Object.assign({}, ...led.map(({ cli, url }) => cli.env(url))),
  }
  const running: RunningRalph[] = []
  return {
    project,
    script: (turns, cli = usual) => void server.scenario(nameOf(cli), { turns }),
    requests: (cli = usual) => server.requests(nameOf(cli)),
    ralph: (...args) => ralph(project, args, { env, timeout: 280_000 }),
    start: (...args) => {
      const run = startRalph(project, args, { env })
      running.push(run)
      return run
    },
    calls: () => callsOf(project),
    end: async () => {
      for (const run of running) {
        run.kill('SIGTERM')
        await run.ended
      }
      project.cleanup()
    },
  }
}

/** From the files of the steps, which are there as soon as a step has ended. */
function callsOf(project: TestProject): AgentOutcome[] {
  const runs = path.join(project.root, '.ralph', 'runs')
  const results = existsSync(runs)
    ? readdirSync(runs, { recursive: true, encoding: 'utf8' }).filter(
        file => path.basename(file) === 'result.json',
      )
    : []
  return results
    .sort()
    .map(file => JSON.parse(readFileSync(path.join(runs, file), 'utf8')) as Outcome)
    .filter(outcome => outcome.kind === 'agent')
}
