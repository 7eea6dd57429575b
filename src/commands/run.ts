import { setFlagsFromString } from 'node:v8'
import type { Overrides, Settings } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import type { Rules } from '../core/transition.ts'
import type { Scope } from '../engine/choose-task.ts'
import { oneStep, type RunResult, runLoop } from '../engine/engine.ts'
import { onInterrupt } from '../engine/interrupt.ts'
import { openEngine, type Prepared, prepareBacklog, verifyCommands } from '../engine/open.ts'
import { dryRun } from './dry-run.ts'
import { checkPrerequisites, preflight } from './preflight.ts'
import { type ProjectOption, projectRoot, projectSettings } from './project.ts'
import { createReporters } from './reporters.ts'
import { endText, startText } from './run-text.ts'
import { enterWorktree } from './worktree.ts'

export type RunOptions = ProjectOption & {
  once: boolean
  agentArgs: string[]
  maxIterations?: number
  model?: string
  verbose?: boolean
  timeout?: number
  idleTimeout?: number
  log?: string
  task?: string
  story?: string
  from?: string
  dryRun?: boolean
  preset?: string
  agent?: string
  script?: string
  attempts?: number
  maxCost?: number
  verify?: string[]
  sandbox?: string | boolean
  worktree?: string
  branch?: string
  cleanGates?: boolean
  inPlace?: boolean
  keepRetries?: boolean
  strictDeps?: boolean
  interval?: number
  wait?: boolean
  json?: boolean
}

/** `ralph run` and `ralph step`: the same code path, repeated or once. */
export async function run(options: RunOptions): Promise<void> {
  const home = projectRoot(options)
  const root = options.worktree === undefined ? home : await enterWorktree(home, options.worktree)
  const settings = await projectSettings(root, overrides(options))
  const verify = verifyCommands(settings, root)
  const rules: Rules = { workflow: settings.workflow, verify: verify.commands }
  if (!options.dryRun) await checkPrerequisites(root, settings)
  const prepared = await prepareBacklog(root, settings)
  const scope = scopeOf(options, settings, prepared)
  if (options.dryRun)
    return dryRun({ root, settings, rules, prepared, scope, limit: options.maxIterations ?? null })

  const reporters = createReporters({
    root,
    settings,
    json: options.json === true,
    verbose: options.verbose === true,
  })
  await preflight({ root, settings, prepared, verify, report: reporters.report })
  const interrupt = onInterrupt()
  try {
    const engine = await openEngine({
      root,
      settings,
      layout: prepared.layout,
      project: prepared.project,
      backlog: prepared,
      rules,
      report: reporters.report,
      stop: interrupt.signal,
      inPlace: options.inPlace === true,
      what: options.once ? 'ralph step' : 'ralph run',
      attach: options.once,
      wait: options.wait === true,
      keepRetries: options.keepRetries === true,
      env: process.env,
      options: {
        task: options.task ?? null,
        from: options.from ?? null,
        iterations: options.maxIterations ?? null,
      },
    })
    const { context } = engine
    // An agent that prints a hundred megabytes makes garbage faster than it is looked through, and V8 would answer by
    // growing its nursery. It need not: the lines are gone at once.
    setFlagsFromString('--semi-space-growth-factor=1')
    try {
      if (!options.once) reporters.print(startText(context, scope, options))
      const result = options.once
        ? await step(context, scope)
        : await runLoop(context, scope, { interval: options.interval ?? 0 })
      if (result)
        await context.journal.recordRun({
          type: 'run.finished',
          reason: result.reason,
          message: result.message,
        })
      if (result) reporters.print(await endText(context, result))
      process.exitCode = exitCode(result, interrupt.received())
    } finally {
      await engine.close()
    }
  } finally {
    interrupt.dispose()
    await reporters.end()
  }
}

/** Exit code 0 means that a step was done or that all is done; 1 that it cannot go on. */
async function step(context: Parameters<typeof oneStep>[0], scope: Scope): Promise<RunResult | null> {
  const turn = await oneStep(context, scope)
  if (turn.type === 'end') return turn.result
  if (turn.type === 'wait')
    context.report.note({
      level: 'info',
      text: `nothing to do before ${new Date(turn.until).toISOString()}: ${turn.why}`,
    })
  return null
}

function exitCode(result: RunResult | null, signal: NodeJS.Signals | null): number {
  if (signal) return signal === 'SIGTERM' ? 143 : 130
  return result === null || result.reason === 'complete' ? 0 : 1
}

function overrides(options: RunOptions): Overrides {
  const set = <K extends keyof Overrides>(key: K, value: Overrides[K] | undefined) =>
    value === undefined ? {} : { [key]: value }
  const sandbox = options.sandbox === false ? 'none' : options.sandbox === true ? 'required' : options.sandbox
  const verify = options.verify?.length === 1 && options.verify[0] === 'none' ? 'none' : options.verify
  return {
    ...set('preset', options.preset),
    ...set('agent', options.agent),
    ...set('script', options.script),
    ...set('model', options.model),
    ...set('iterations', options.maxIterations),
    ...set('attempts', options.attempts),
    ...set('timeout', options.timeout),
    ...set('idle', options.idleTimeout),
    ...set('cost', options.maxCost),
    ...set('log', options.log),
    ...set('sandbox', sandbox),
    ...set('branch', options.branch),
    ...set('cleanGates', options.cleanGates),
    ...set('verify', verify),
    extraArgs: options.agentArgs,
  }
}

function scopeOf(options: RunOptions, settings: Settings, prepared: Prepared): Scope {
  const strict = options.strictDeps === true || settings.strictDependencies
  const ids = prepared.tasks.map(task => task.id)
  const asked = options.task ?? options.story
  if (asked !== undefined) {
    if (!ids.includes(asked)) throw unknownTask(asked, ids)
    return { only: new Set([asked]), strict }
  }
  if (options.from !== undefined) {
    const at = ids.indexOf(options.from)
    if (at < 0) throw unknownTask(options.from, ids)
    return { only: new Set(ids.slice(at)), strict }
  }
  return { only: null, strict }
}

function unknownTask(id: string, ids: string[]): UserError {
  return new UserError(
    `no story ${id} in the backlog`,
    ids.length > 0
      ? `Known: ${ids.slice(0, 12).join(', ')}${ids.length > 12 ? ', …' : ''}.`
      : 'The backlog is empty: `ralph new story 1.1 "…"`.',
    2,
  )
}
