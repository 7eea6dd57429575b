import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Agent } from '../agents/agent.ts'
import { allAgents, type Settings } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import { secretValues } from '../process/environment.ts'
import { type ProcessOptions, type ProcessResult, runProcess } from '../process/run-process.ts'
import type { Note } from '../reporters/reporter.ts'
import { type ChosenSandbox, chooseSandbox } from '../sandbox/registry.ts'
import type { Box, BoxedProgram, Sandbox } from '../sandbox/sandbox.ts'
import type { Context } from './context.ts'

/** Which sandbox the settings lead to on this machine; throws when they demand one and there is none. */
export async function sandboxFor(
  root: string,
  settings: Settings,
  env: Record<string, string | undefined>,
): Promise<ChosenSandbox> {
  const { use, reads, writes } = settings.sandbox
  if (use !== 'none') refuseHome([...reads, ...writes], env)
  return chooseSandbox(use, {
    root,
    agents: allAgents(settings.agents).map(choice => choice.name),
    worktrees: settings.workflow.git.worktree === 'task',
    env,
  })
}

/** What the agents of this run need, and what the user allows, is allowed in there; nothing else is. */
export async function openBox(options: {
  sandbox: Sandbox
  root: string
  home: string
  settings: Settings
  agents: Agent[]
  identity: { name: string; email: string }
  env: Record<string, string | undefined>
  cutOff: boolean
  note(note: Note): void
}): Promise<Box> {
  const { sandbox, root, home, settings, agents, identity, env, cutOff, note } = options
  const needs = agents.flatMap(agent => agent.needs?.(env) ?? [])
  const { hosts, reads, writes } = settings.sandbox
  const box = await orNoRoom(
    env,
    sandbox.open({
      root,
      home,
      agents: [...new Set(allAgents(settings.agents).map(choice => choice.name))],
      hosts: [...new Set([...needs.flatMap(one => one.hosts), ...hosts])],
      reads,
      writes,
      copies: needs.flatMap(one => one.copies),
      identity,
      env,
      cutOff,
      refused: what => note({ level: 'warning', text: `sandbox: refused ${what}` }),
    }),
  )
  note({ level: 'info', text: `sandbox: ${box.name}: ${box.allows}` })
  return box
}

/** A box lives in the temp folder, whose disk may be another one than that of the project. */
async function orNoRoom<T>(env: Record<string, string | undefined>, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const { code, path } = error as { code?: unknown; path?: unknown }
    if (code !== 'ENOSPC' || path !== undefined) throw error
    throw new UserError(
      `there is no room for a sandbox: the disk of ${env.TMPDIR ?? tmpdir()} is full`,
      'Free some space there, or name another folder in TMPDIR.',
    )
  }
}

/** Whoever opens the folder that holds the home has opened the home; that is no sandbox, and must not be called one. */
function refuseHome(paths: readonly string[], env: Record<string, string | undefined>): void {
  const home = `${resolve(env.HOME ?? homedir())}/`
  for (const path of paths) {
    const opened = path.startsWith('~/') ? join(home, path.slice(2)) : resolve(path)
    if (!home.startsWith(`${opened.replace(/\/$/u, '')}/`)) continue
    throw new UserError(
      `ralph.config.yaml: sandbox: ${path} holds your whole home folder`,
      'Name the folders in it that are needed, or use `--no-sandbox`.',
      2,
    )
  }
}

/** A box for gates alone, outside of a run; null where they run with the user's rights. */
export async function openGateBox(options: {
  root: string
  home: string
  settings: Settings
  env: Record<string, string | undefined>
  note(note: Note): void
}): Promise<Box | null> {
  const { root, settings, env } = options
  if (settings.sandbox.gates === 'outside') return null
  const { sandbox } = await sandboxFor(root, settings, env)
  if (!sandbox) return null
  const identity = { name: 'Ralph', email: 'ralph@localhost' }
  return openBox({ ...options, sandbox, agents: [], identity, cutOff: false })
}

/** What the box must know of a program besides how it is run. */
export type Boxed = Pick<BoxedProgram, 'agent' | 'reads' | 'readOnly'>

/** Runs a program in the box where there is one. It is under the same leash and the same clocks either way. */
export async function runBoxed(
  { box }: Pick<Context, 'box'>,
  program: Boxed,
  options: ProcessOptions,
): Promise<ProcessResult> {
  if (!box) return runProcess(options)
  const { argv, cwd, env, stdin } = options
  const entered = await box.enter({
    ...program,
    argv,
    cwd,
    env,
    stdin: stdin.type === 'file' ? stdin.path : null,
  })
  let ended = true
  try {
    const result = await runProcess({
      ...options,
      argv: entered.argv,
      cwd: entered.cwd,
      env: entered.env,
      stdin: entered.stdin === null ? { type: 'none' } : { type: 'file', path: entered.stdin },
      // The variables of the program are not always those of the process that takes it in there.
      secrets: [...(options.secrets ?? []), ...secretValues(env)],
    })
    ended = result.ended !== 'exit'
    return result
  } finally {
    await box.settle({ ended, program: entered })
  }
}

/** Gates run what agents wrote, so they belong into the same box. */
export function gateBox({ box, settings }: Pick<Context, 'box' | 'settings'>): Pick<Context, 'box'> {
  return { box: settings.sandbox.gates === 'inside' ? box : null }
}
