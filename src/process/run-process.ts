import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { errorText } from '../core/errors.ts'
import { type Clocks, startClocks } from './clocks.ts'
import { type Descendants, watchDescendants } from './descendants.ts'
import { endProcesses, send } from './end-processes.ts'
import { secretValues } from './environment.ts'
import { type Leashed, startLeashed } from './leash.ts'
import { attempt, openOutput } from './output.ts'
import { openRecord } from './process-record.ts'
import type { ProcessEntry } from './process-table.ts'
import { startProblem } from './start-problem.ts'

/** How a program is run: its own process group, a leash, two clocks, output to a file as it comes. */
export type ProcessOptions = {
  argv: [string, ...string[]]
  cwd: string
  /** The whole environment; nothing is inherited. */
  env: Record<string, string>
  /** What the program reads on stdin; it is always closed afterwards. */
  stdin: { type: 'none' } | { type: 'file'; path: string }
  /** Everything the program prints goes here, redacted, as it comes. */
  outputFile: string
  /** Written while it runs: pid and start time of the program and of every descendant seen, so that a later engine can end them. */
  processFile: string
  /** Milliseconds; 0 = no limit. */
  timeout: number
  idle: number
  /** From TERM to KILL. */
  grace: number
  /** The program's whole tree is ended when the engine has been dead or frozen for this long. */
  leash: number
  /** While this says no, the engine counts as frozen: no sign of life is sent to the leash. */
  mayBeat?: () => boolean
  signal: AbortSignal
  /** Getting ready takes a while, so it may start early: the program begins when this says yes, and never on a no. */
  begin?: Promise<boolean>
  /** Called with decoded, redacted lines (without the newline, cut at `maxLine`) as they come. */
  onLine?: (line: string, stream: 'stdout' | 'stderr') => void
  /** Called about every second while it runs. */
  onTick?: (now: { elapsed: number; quiet: number }) => void
  /** Values to redact, besides those of variables in `env` whose names say that they are secret. */
  secrets?: readonly string[]
  /** Bytes, 8 MiB unless told. While such a line is read, it takes some four times of that in memory. */
  maxLine?: number
  /** Bytes after which output is counted but no longer written. */
  maxOutput?: number
}

export type ProcessResult = {
  exit: number | null
  killed: string | null
  ended: 'exit' | 'timeout' | 'idle' | 'stopped'
  /** The program could not be started at all. */
  spawnError: string | null
  ms: number
  bytes: number
  /** Descendants that were still alive after the end and had to be killed. */
  leftovers: number
}

/** Agents that print JSON put a whole tool result, of some megabytes at times, into one line; a cut one says nothing. */
const longestLine = 8 * 1024 * 1024
/** What outlives the program may go by itself for a moment, then gets a TERM, and a little later a KILL. */
const settleTime = 250
const leftoverGrace = 1_000
/** How long the look before a TERM may take. */
const lastLookTime = 1_000

/**
 * Runs a program to its end and leaves nothing of it behind. What the program does is a result, never an exception;
 * what hinders the engine itself (a full disk, a fault in `onLine`) ends the program and is thrown.
 */
export async function runProcess(options: ProcessOptions): Promise<ProcessResult> {
  const problem = startProblem(options)
  if (problem !== null) return notStarted(problem)
  if (options.signal.aborted) return { ...notStarted(null), ended: 'stopped' }

  const begin = options.begin ?? Promise.resolve(true)
  const run: Run = {
    ended: 'exit',
    over: false,
    stopping: Promise.resolve(),
    descendants: null,
    clocks: null,
    failure: null,
  }
  const stop = (why: ProcessResult['ended']) => {
    if (run.over || run.ended !== 'exit') return
    run.ended = why
    run.stopping = endTree({ pid: child.pid, exit, look, grace: options.grace })
  }
  const fail = (error: unknown) => {
    run.failure ??= { error }
    stop('stopped')
  }

  const record = openRecord(options.processFile)
  const output = openOutput({
    file: options.outputFile,
    secrets: [...secretValues(options.env), ...(options.secrets ?? [])],
    maxLine: options.maxLine ?? longestLine,
    maxOutput: options.maxOutput ?? 256 * 1024 * 1024,
    onLine: options.onLine ?? (() => undefined),
    onData: () => {
      run.clocks?.sawOutput()
      run.descendants?.hurry()
    },
    onError: fail,
  })
  const leashed = start(options, begin)
  if (typeof leashed === 'string') {
    record.close()
    await output.close()
    return notStarted(leashed)
  }
  const { child } = leashed
  const exit = exitOf(child)
  if (child.stdout) output.read(child.stdout, 'stdout')
  if (child.stderr) output.read(child.stderr, 'stderr')
  const leashOn = leashed.on.then(on => {
    if (!on || child.pid === undefined) return
    if (on.pipes) {
      output.read(on.pipes.stdout, 'stdout')
      output.read(on.pipes.stderr, 'stderr')
    }
    run.descendants = watchDescendants({ root: child.pid, leash: on.watcher, record })
  }, fail)
  const look = async () => {
    await leashOn
    return run.descendants?.look() ?? []
  }
  const stopped = () => stop('stopped')
  options.signal.addEventListener('abort', stopped)
  if (!(await begin)) stop('stopped')
  const from = performance.now()
  run.clocks = startClocks({
    timeout: options.timeout,
    idle: options.idle,
    excused: output.stalled,
    onTick: now => attempt(() => options.onTick?.(now), fail),
    onUp: stop,
  })

  const { exit: code, killed, spawnError } = await exit
  run.over = true
  run.clocks.stop()
  options.signal.removeEventListener('abort', stopped)
  // The programs of an engine that was silent for too long are ended by the leash, however they took it.
  if (run.ended === 'exit' && leashed.lapsed()) run.ended = 'stopped'
  const ms = performance.now() - from
  let leftovers = 0
  try {
    await run.stopping
    const grace = Math.min(options.grace, leftoverGrace)
    leftovers = (await endProcesses({ look, settle: settleTime, grace })).size
    await output.drain()
  } finally {
    run.descendants?.stop()
    await Promise.all([leashed.release(), output.close()])
    record.close()
  }
  if (run.failure) throw run.failure.error
  return { exit: code, killed, ended: run.ended, spawnError, ms, bytes: output.bytes(), leftovers }
}

type Run = {
  ended: ProcessResult['ended']
  over: boolean
  stopping: Promise<void>
  descendants: Descendants | null
  clocks: Clocks | null
  failure: { error: unknown } | null
}

/** TERM for the group, so that the program may tidy up its own children; after the grace a KILL for all ever seen. */
async function endTree(options: {
  pid: number | undefined
  exit: Promise<unknown>
  look: () => Promise<ProcessEntry[]>
  grace: number
}): Promise<void> {
  const { pid, exit, look, grace } = options
  if (pid === undefined) return
  // A last look while all are still in their places; a start that hangs must not keep us from ending it.
  await Promise.race([look(), delay(lastLookTime, undefined, { ref: false })])
  send(-pid, 'SIGTERM')
  const gone = await Promise.race([exit.then(() => true), delay(grace, false, { ref: false })])
  if (gone) return
  await endProcesses({ look, settle: 0, grace: 0 })
  // What multiplies faster than it is ended one by one is ended as a group, the leash with it.
  if ((await look()).length > 0) send(-pid, 'SIGKILL')
}

function start(options: ProcessOptions, begin: Promise<boolean>): Leashed | string {
  let stdin: number | 'ignore' = 'ignore'
  try {
    if (options.stdin.type === 'file') stdin = openSync(options.stdin.path, 'r')
    const { argv, cwd, env, processFile, leash } = options
    return startLeashed({
      argv,
      cwd,
      env,
      stdin,
      processFile,
      leash,
      mayBeat: options.mayBeat ?? (() => true),
      begin,
    })
  } catch (error) {
    return errorText(error)
  } finally {
    if (typeof stdin === 'number') closeSync(stdin)
  }
}

type Exit = Pick<ProcessResult, 'exit' | 'killed' | 'spawnError'>

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise(resolve => {
    child.once('exit', (exit, killed) => resolve({ exit, killed, spawnError: null }))
    child.once('error', error => {
      if (child.pid === undefined) resolve({ exit: null, killed: null, spawnError: errorText(error) })
    })
  })
}

function notStarted(spawnError: string | null): ProcessResult {
  return { exit: null, killed: null, ended: 'exit', spawnError, ms: 0, bytes: 0, leftovers: 0 }
}
