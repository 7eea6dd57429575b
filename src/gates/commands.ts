import { join } from 'node:path'
import type { CommandResult } from '../core/outcome.ts'
import { allowedEnvironment } from '../process/environment.ts'
import type { ProcessOptions, ProcessResult } from '../process/run-process.ts'
import { walkCommands } from './definition-walk.ts'
import { createOutputTail } from './output-tail.ts'
import { createTestCounter } from './test-count.ts'
import { cached, folderTree } from './tree.ts'
import type { GateCommand } from './verify.ts'

export type RunCommandsOptions = {
  commands: readonly GateCommand[]
  cwd: string
  /** Each command's whole output goes to `gate-<n>.log` in here. */
  outputDir: string
  processFile: string
  /** The environment Ralph was started with, and the names of further variables a gate may see. */
  env: Readonly<Record<string, string | undefined>>
  allow?: readonly string[]
  /** Milliseconds for all commands together; 0 = no limit. */
  timeout: number
  /** Milliseconds without output; 0 = no limit. */
  idle?: number
  grace?: number
  leash: number
  mayBeat?: () => boolean
  secrets?: readonly string[]
  signal: AbortSignal
  run(options: ProcessOptions): Promise<ProcessResult>
  onLine?: (line: string) => void
}

/**
 * Runs the verify commands in order, all of them even when one fails, so that an agent sees everything at once. There
 * is one result for each command: one that was never started for want of time, or because of a stop, says so, for a
 * missing result could be taken for a gate that needed nothing.
 */
export async function runCommands(options: RunCommandsOptions): Promise<CommandResult[]> {
  const results: CommandResult[] = []
  let spent = 0
  for (const [index, command] of options.commands.entries()) {
    const left = options.timeout - spent
    if (options.signal.aborted) results.push(notRun(command, 'stopped'))
    else if (options.timeout > 0 && left <= 0) results.push(notRun(command, 'timeout'))
    else {
      const result = await runCommand(options, command, index + 1, options.timeout > 0 ? left : 0)
      spent += result.ms
      results.push(result)
    }
  }
  return results
}

async function runCommand(
  options: RunCommandsOptions,
  { command, own }: GateCommand,
  number: number,
  timeout: number,
): Promise<CommandResult> {
  const { programs } = await walkCommands([command], cached(folderTree(options.cwd)))
  const counter = createTestCounter({ caches: programs.has('turbo') })
  const tail = createOutputTail()
  const result = await options.run({
    // One stream keeps what stands in a terminal in its order, which makes two equal runs equal.
    argv: ['sh', '-c', `exec 2>&1\n${command}`],
    cwd: options.cwd,
    env: gateEnvironment(options.env, options.allow),
    stdin: { type: 'none' },
    outputFile: join(options.outputDir, `gate-${number}.log`),
    processFile: options.processFile,
    timeout,
    idle: options.idle ?? 0,
    grace: options.grace ?? 5_000,
    leash: options.leash,
    ...(options.mayBeat && { mayBeat: options.mayBeat }),
    ...(options.secrets && { secrets: options.secrets }),
    signal: options.signal,
    onLine(line) {
      counter.line(line)
      tail.line(line)
      options.onLine?.(line)
    },
  })
  if (result.spawnError !== null) tail.line(`could not be started: ${result.spawnError}`)
  const exit = result.spawnError === null ? result.exit : couldNotStart
  const failed = exit !== 0 || result.ended !== 'exit'
  return {
    command,
    own,
    exit,
    ended: result.ended,
    ms: result.ms,
    tests: counter.end(),
    fingerprint: failed ? tail.fingerprint() : '',
    tail: tail.text(),
  }
}

/** What a shell gives for a program that is not there. */
const couldNotStart = 127

function notRun({ command, own }: GateCommand, ended: 'stopped' | 'timeout'): CommandResult {
  const tail = ended === 'stopped' ? '(not run: stopped before)' : '(not run: the time was up before)'
  return { command, own, exit: null, ended, ms: 0, tests: null, fingerprint: '', tail }
}

/**
 * What a gate sees: the allowed variables, no colours, and `CI=true`. With it runners end instead of watching, write no
 * missing snapshots (a test that has none fails instead of passing for ever), and many refuse a forgotten `.only`. What
 * the user allows by name wins.
 */
export function gateEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  allow: readonly string[] = [],
): Record<string, string> {
  const fixed = { CI: 'true', NO_COLOR: '1', FORCE_COLOR: '0', TERM: 'dumb' }
  const allowed = allowedEnvironment(env, allow)
  const chosen = Object.fromEntries(Object.entries(allowed).filter(([name]) => allow.includes(name)))
  return { ...allowed, ...fixed, ...chosen }
}
