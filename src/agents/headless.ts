import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { allowedEnvironment } from '../process/environment.ts'
import { runProcess } from '../process/run-process.ts'
import type { Agent, AgentRequest, HeadlessStart } from './agent.ts'
import type { StandIn } from './stand-in.ts'

/** For a CLI that wants to see a key before it calls anybody. */
export const madeUpKey = 'made-up-by-ralph-doctor'

export type HeadlessTrial = {
  agent: Agent
  start: HeadlessStart
  standIn: StandIn
  request: Pick<AgentRequest, 'model' | 'extraArgs' | 'guard'>
  env: Record<string, string | undefined>
  /** Milliseconds. */
  patience: number
}

export type HeadlessEnd =
  | { type: 'arrived'; ms: number }
  | { type: 'silent'; ms: number; said: string }
  | { type: 'ended'; exit: string; said: string }

/**
 * Starts an agent as a run would, but with an empty home, an empty project and the stand-in for a model; ends it as soon
 * as its call with our prompt has arrived there.
 */
export async function tryHeadless(trial: HeadlessTrial): Promise<HeadlessEnd> {
  const base = realpathSync(mkdtempSync(path.join(tmpdir(), 'ralph-doctor-')))
  try {
    return await tryIn(base, trial)
  } finally {
    rmSync(base, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}

async function tryIn(base: string, trial: HeadlessTrial): Promise<HeadlessEnd> {
  const { agent, start, standIn, request, patience } = trial
  const mark = `ralph-doctor-${randomUUID()}`
  const place = (name: string) => path.join(base, name)
  for (const folder of ['home', 'project', 'tmp']) mkdirSync(place(folder))
  for (const [name, text] of Object.entries(start.files ?? {})) {
    mkdirSync(path.dirname(path.join(base, 'home', name)), { recursive: true })
    writeFileSync(path.join(base, 'home', name), text)
  }
  writeFileSync(place('prompt.md'), `Answer with the word ready. (${mark})\n`)
  const env = { ...plainEnvironment(trial.env), HOME: place('home'), TMPDIR: place('tmp'), ...start.env }
  const command = agent.command({
    promptFile: place('prompt.md'),
    cwd: place('project'),
    readOnly: false,
    env,
    root: process.getuid?.() === 0,
    ...request,
    ...(start.model === undefined ? {} : { model: start.model }),
    extraArgs: [...request.extraArgs, ...(start.args ?? [])],
  })
  const stop = new AbortController()
  let arrived = false
  void standIn.arrival(mark).then(() => {
    arrived = true
    stop.abort()
  })
  const reader = agent.reader()
  const { ms, exit, killed, ended, spawnError } = await runProcess({
    argv: command.argv,
    cwd: place('project'),
    env: { ...env, ...command.env },
    stdin: command.stdin === 'prompt' ? { type: 'file', path: place('prompt.md') } : { type: 'none' },
    outputFile: place('output.log'),
    processFile: place('processes.jsonl'),
    timeout: patience,
    idle: 0,
    grace: 2_000,
    leash: 15_000,
    signal: stop.signal,
    onLine: (line, stream) => void reader.line(line, stream),
  })
  if (arrived) return { type: 'arrived', ms }
  const { message, tail, fault } = reader.end({ code: exit, killed })
  const said = [fault?.message ?? '', tail, message].find(text => text.trim() !== '')?.trim() ?? ''
  if (ended === 'timeout') return { type: 'silent', ms, said }
  return { type: 'ended', exit: spawnError ?? (killed ? `killed by ${killed}` : `code ${exit}`), said }
}

/**
 * What any program gets, but for the ways to the user's home and to the outside. Programs that only lead to another
 * version of themselves look for it in the home, unless they are told.
 */
function plainEnvironment(env: Record<string, string | undefined>): Record<string, string> {
  const common = Object.entries(allowedEnvironment(env)).filter(([name]) => !/^XDG_|_proxy$/iu.test(name))
  const shims = Object.entries(managers)
    .map(([name, folder]) => [name, env[name] || path.join(env.HOME ?? '/', folder)] as const)
    .filter(([, folder]) => existsSync(folder))
  return { ...Object.fromEntries(common), ...Object.fromEntries(shims) }
}

const managers = {
  VOLTA_HOME: '.volta',
  ASDF_DATA_DIR: '.asdf',
  MISE_DATA_DIR: '.local/share/mise',
  PROTO_HOME: '.proto',
  NODENV_ROOT: '.nodenv',
}
