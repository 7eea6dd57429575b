import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll } from 'vitest'
import type { AgentEvent, AgentReport, AgentRequest } from '../../src/agents/agent.ts'
import { findAgent } from '../../src/agents/registry.ts'
import { classify } from '../../src/core/fault.ts'
import type { Fault } from '../../src/core/outcome.ts'
import { allowedEnvironment } from '../../src/process/environment.ts'
import { type ProcessResult, runProcess } from '../../src/process/run-process.ts'
import type { LoggedRequest } from '../model-server/request-log.ts'
import type { Step } from '../model-server/scenario.ts'
import { type ModelServer, startModelServer } from '../model-server/server.ts'
import { textOf } from './asked.ts'
import type { RealCli } from './clis.ts'
import { bin } from './stage.ts'

/** One attempt of a real CLI, without an engine around it. */
export type Attempt = {
  result: ProcessResult
  report: AgentReport
  fault: Fault | null
  events: AgentEvent[]
  /** All that the model was asked, as text. */
  asked: string
  requests: LoggedRequest[]
}

export type Stand = {
  /** The project. */
  root: string
  home: string
  /** Where the model is. */
  url: string
  attempt(turns: Step[], more?: AttemptOptions): Promise<Attempt>
}

export type AttemptOptions = {
  request?: Partial<AgentRequest>
  /** Changes the user's environment; undefined takes something out of it. */
  env?: Record<string, string | undefined>
  prompt?: string
  timeout?: number
}

/** A model server for the file; a home and a project of its own for each stand. */
export function useStands(): (cli: RealCli) => Stand {
  let server: ModelServer | null = null
  const folders: string[] = []
  beforeAll(async () => {
    server = await startModelServer()
  })
  afterEach(() => {
    for (const folder of folders.splice(0))
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  })
  afterAll(() => server?.close())
  return cli => {
    if (!server) throw new Error('the server is started in beforeAll')
    const base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'ralph-stand-')))
    folders.push(base)
    return stand(server, cli, base)
  }
}

let count = 0

function stand(server: ModelServer, cli: RealCli, base: string): Stand {
  const name = `${cli.name}-${++count}`
  const url = server.scenario(name, { turns: [{ text: 'Nothing was scripted.' }] })
  const [root, home, scratch] = ['project', 'home', 'tmp'].map(folder => {
    mkdirSync(path.join(base, folder))
    return path.join(base, folder)
  }) as [string, string, string]
  cli.prepare?.(home)
  return {
    root,
    home,
    url,
    async attempt(turns, { request = {}, env = {}, prompt = 'Do the work.', timeout = 120_000 } = {}) {
      server.scenario(name, { turns })
      const before = server.requests(name).length
      const given = {
        HOME: home,
        TMPDIR: scratch,
        TERM: 'dumb',
        PATH: `${bin}${path.delimiter}${process.env.PATH ?? ''}`,
        ...cli.env(url),
        ...env,
      }
      const { name: agentName, model, args, ...settings } = cli.agent(url)
      const agent = await findAgent(agentName, settings)
      const promptFile = path.join(base, 'prompt.md')
      writeFileSync(promptFile, prompt)
      const { extraArgs = [], ...more } = request
      const command = agent.command({
        ...{ promptFile, cwd: root, readOnly: false, env: given, root: process.getuid?.() === 0 },
        ...(typeof model === 'string' ? { model } : {}),
        ...more,
        extraArgs: [...(args ?? []), ...extraArgs],
      })
      const reader = agent.reader()
      const events: AgentEvent[] = []
      const result = await runProcess({
        argv: command.argv,
        cwd: root,
        env: { ...allowedEnvironment(given), ...command.env, RALPH_WORKSPACE: root },
        stdin: command.stdin === 'prompt' ? { type: 'file', path: promptFile } : { type: 'none' },
        outputFile: path.join(base, 'output.log'),
        processFile: path.join(base, 'processes.jsonl'),
        ...{ timeout, idle: 0, grace: 2000, leash: 30_000, signal: new AbortController().signal },
        onLine: (line, stream) => events.push(...reader.line(line, stream)),
      })
      const report = reader.end({ code: result.exit, killed: result.killed })
      const fault = classify({
        ...{ exit: result.exit, killed: result.killed, ended: result.ended, ms: result.ms },
        ...{ reported: report.fault, message: report.message, tail: report.tail },
        ...{ spawnError: result.spawnError, patterns: agent.patterns, now: Date.now() },
      })
      const requests = server.requests(name).slice(before)
      return { result, report, fault, events, requests, asked: textOf(requests.map(asked => asked.body)) }
    },
  }
}
