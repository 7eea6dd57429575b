import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { afterEach } from 'vitest'
import type { Agent, AgentEvent, AgentReport } from '../../../src/agents/agent.ts'
import { classify } from '../../../src/core/fault.ts'
import type { Fault } from '../../../src/core/outcome.ts'
import { createLines } from '../../../src/process/lines.ts'

export const noon = Date.UTC(2026, 10, 15, 12)

export type Played = {
  exit: number | null
  killed: string | null
  report: AgentReport
  events: AgentEvent[]
  fault: Fault | null
  argv: string[]
}

export type PlayOptions = {
  cwd: string
  prompt?: string
  env?: Record<string, string>
  readOnly?: boolean
  extraArgs?: string[]
  model?: string
}

/** Runs one attempt with a real process, as the engine does: prompt by file on stdin, lines to the reader, then `classify`. */
export async function play(agent: Agent, options: PlayOptions): Promise<Played> {
  const promptFile = path.join(options.cwd, 'prompt.txt')
  writeFileSync(promptFile, options.prompt ?? 'Do the work.')
  const { argv, env, stdin } = agent.command({
    promptFile,
    cwd: options.cwd,
    readOnly: options.readOnly ?? false,
    extraArgs: options.extraArgs ?? [],
    env: {},
    root: false,
    ...(options.model === undefined ? {} : { model: options.model }),
  })
  const [program, ...args] = argv
  const input = stdin === 'prompt' ? openSync(promptFile, 'r') : ('ignore' as const)
  const reader = agent.reader()
  const events: AgentEvent[] = []
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { PATH: process.env.PATH ?? '', HOME: options.cwd, ...env, ...options.env },
    stdio: [input, 'pipe', 'pipe'],
  })
  if (typeof input === 'number') closeSync(input)
  const take = (line: string, stream: 'stdout' | 'stderr') => {
    const told = reader.line(line, stream)
    if (events.length < 1000) events.push(...told)
  }
  const outputs = Promise.all([
    eachLine(child.stdout ?? null, line => take(line, 'stdout')),
    eachLine(child.stderr ?? null, line => take(line, 'stderr')),
  ])
  const [code, killed] = await new Promise<[number | null, string | null]>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (exit, signal) => resolve([exit, signal]))
  })
  await outputs
  const report = reader.end({ code, killed })
  const fault = faultOf(agent, report, { code, killed })
  return { exit: code, killed, report, events, fault, argv }
}

/** How an attempt that ended by itself is judged, at noon. */
export function faultOf(
  agent: Agent,
  report: AgentReport,
  { code: exit, killed }: { code: number | null; killed: string | null },
): Fault | null {
  const { fault: reported, message, tail } = report
  return classify({
    ...{ exit, killed, ended: 'exit', reported, message, tail },
    patterns: agent.patterns,
    now: noon,
  })
}

async function eachLine(stream: NodeJS.ReadableStream | null, take: (line: string) => void): Promise<void> {
  if (!stream) return
  const decoder = new StringDecoder('utf8')
  const lines = createLines(1024 * 1024, take)
  for await (const chunk of stream) lines.text(decoder.write(chunk as Buffer))
  lines.text(decoder.end())
  lines.end()
}

/** A fresh folder per test. */
export function useFolder(): () => string {
  const folders: string[] = []
  afterEach(() => {
    for (const folder of folders.splice(0))
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  })
  return () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'ralph-agent-'))
    folders.push(folder)
    return folder
  }
}
