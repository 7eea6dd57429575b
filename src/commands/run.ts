import { setFlagsFromString } from 'node:v8'
import type { Overrides, Settings } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import type { Rules } from '../core/transition.ts'
import type { Scope } from '../engine/choose-task.ts'
import { oneStep, type RunResult, runLoop } from '../engine/engine.ts'
import { onInterrupt } from '../engine/interrupt.ts'
import { mendCutOff } from '../engine/mend.ts'
import { openEngine } from '../engine/open.ts'
import { layoutOf, type Prepared, prepareBacklog, verifyCommands } from '../engine/prepare.ts'
import { closeFiles, journalView } from '../engine/project-files.ts'
import type { ChosenSandbox } from '../sandbox/registry.ts'
import { dryRun } from './dry-run.ts'
import { heldFix } from './held-fix.ts'
import { printInstructions } from './instructions.ts'
import { checkPrerequisites, preflight } from './preflight.ts'
import { type ProjectOption, projectRoot, projectSettings } from './project.ts'
import { createReporters } from './reporters.ts'
import { resumeOrFresh } from './resume-or-fresh.ts'
import { endText, startText } from './run-text.ts'
import { storedView } from './stored-view.ts'
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
  skipReview?: boolean
  reviewCap?: number
  timeoutMultiplier?: number
  resume?: boolean
  fresh?: boolean
  action?: string
  spec?: string
  fromTask?: string
  toTask?: string
  ralphDir?: string
  plan?: string
  force?: boolean
  applySpecSync?: boolean
  style?: string
  asInstructions?: boolean
}

const nurseryGrowth = '--semi-space-growth-factor='

/** `ralph run` and `ralph step`: the same code path, repeated or once. */
export async function run(options: RunOptions): Promise<void> {
  const home = projectRoot(options)
  const root = options.worktree === undefined ? home : await enterWorktree(home, options.worktree)
  const { settings, sandbox } = await ready(root, options)
  const verify = verifyCommands(settings, root)
  const rules: Rules = { workflow: settings.workflow, verify: verify.commands }
  const prepared = await prepareBacklog(root, settings, sandbox.sandbox !== null)
  const scope = scopeOf(options, settings, prepared)
  if (options.dryRun)
    return dryRun({
      root,
      settings,
      rules,
      prepared,
      scope,
      limit: settings.workflow.cap === 'attempts' ? null : (options.maxIterations ?? null),
    })

  const { layout, project } = prepared
  if (options.asInstructions) return printInstructions(root, prepared, rules)
  const reporters = createReporters({
    root,
    settings,
    json: options.json === true,
    verbose: options.verbose === true,
    print: (event, view) => layout.print?.(project, event, { ...view, rules }),
  })
  const standing = layout.standing?.(project, await storedView(root, rules))
  if (standing) {
    reporters.print(standing.text)
    process.exitCode = standing.exit
    return reporters.end()
  }
  await preflight({ root, settings, prepared, verify, sandbox, report: reporters.report })
  const begins = layout.begins?.(project)
  const again = (await resumeOrFresh(options, prepared)) ?? (begins ? 'fresh' : null)
  const interrupt = onInterrupt()
  try {
    const engine = await openEngine({
      root,
      settings,
      layout,
      project,
      backlog: prepared,
      rules,
      report: reporters.report,
      stop: interrupt.signal,
      inPlace: options.inPlace === true,
      what: options.once ? 'ralph step' : 'ralph run',
      attach: options.once && !begins,
      wait: options.wait === true,
      keepRetries: options.keepRetries === true,
      only: scope.only,
      ...(again === null ? {} : { again }),
      env: process.env,
      sandbox: sandbox.sandbox,
      options: {
        task: options.task ?? null,
        from: options.from ?? null,
        iterations: options.maxIterations ?? null,
        again,
        strict: scope.strict,
      },
    })
    const { context } = engine
    // An agent that prints a hundred megabytes makes garbage faster than it is looked through, and V8 would answer by
    // growing its nursery. It need not: the lines are gone at once.
    setFlagsFromString(`${nurseryGrowth}1`)
    try {
      if (!options.once && !layout.print) reporters.print(startText(context, scope, options))
      // The setting up was the step.
      const opened = options.once && (begins ?? engine.isNew) && settings.workflow.opening !== undefined
      const result = opened
        ? null
        : options.once
          ? await step(context, scope)
          : await runLoop(context, scope, { interval: options.interval ?? 0 })
      if (result) {
        await context.journal.recordRun({
          type: 'run.finished',
          reason: result.reason,
          message: result.message,
        })
        await closeFiles(context)
        const view = await journalView(context)
        // One step says what it did; a whole run says where it has come to.
        const reached = options.once ? null : layout.standing?.(project, view)
        const closing = reached?.text ?? layout.closing?.(project, view)
        if (closing) reporters.print(closing)
        else if (!layout.print) reporters.print(await endText(context, result))
        const fix = result.reason === 'held' ? await heldFix(context.store.log) : null
        if (fix) reporters.print(`  → ${fix}`)
      }
      process.exitCode = exitCode(result, interrupt.received())
    } finally {
      await engine.close()
      // As it was: compiled code is kept only for the flags it will be loaded under.
      setFlagsFromString(`${nurseryGrowth}2`)
    }
  } finally {
    interrupt.dispose()
    await reporters.end()
  }
}

type Ready = { settings: Settings; sandbox: ChosenSandbox }

/** The settings, once all is there that a run needs. What a killed run left half written is put back first, if that helps. */
async function ready(root: string, options: RunOptions): Promise<Ready> {
  const given = overrides(options)
  const settings = await projectSettings(root, given)
  if (options.dryRun) return { settings, sandbox: { sandbox: null, version: null, missing: [] } }
  try {
    return { settings, sandbox: await checkPrerequisites(root, settings) }
  } catch (error) {
    const { layout, project } = await layoutOf(root, settings)
    const wait = options.wait === true
    const { signal } = new AbortController()
    const mended = await mendCutOff({ root, settings, layout, project, stop: signal, wait, env: process.env })
    if (!mended) throw error
  }
  const again = await projectSettings(root, given)
  return { settings: again, sandbox: await checkPrerequisites(root, again) }
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
    ...set('skipReview', options.skipReview),
    ...set('reviewCap', options.reviewCap),
    ...set('timeFactor', options.timeoutMultiplier),
    layout: layoutOptions(options),
    extraArgs: options.agentArgs,
  }
}

/** What the command line says to the layout; each knows its own names. */
function layoutOptions(options: RunOptions): Record<string, unknown> {
  const { action, spec, fromTask, toTask, force, resume, applySpecSync, style } = options
  const { ralphDir, plan, skipReview, reviewCap } = options
  const stepwise = { action, spec, fromTask, toTask, force, resume, applySpecSync, style }
  const all = { ...stepwise, ralphDir, plan, skipReview, reviewCap }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

function scopeOf(options: RunOptions, settings: Settings, prepared: Prepared): Scope {
  const strict = options.strictDeps === true || settings.strictDependencies
  const only = prepared.layout.scope?.(prepared.project) ?? null
  const ids = prepared.tasks.map(task => task.id)
  const asked = options.task ?? options.story
  if (asked !== undefined) return { only: new Set([idOf(prepared, only, asked)]), strict }
  if (options.from === undefined) return { only, strict }
  const rest = ids.slice(ids.indexOf(idOf(prepared, only, options.from)))
  return { only: new Set(rest.filter(id => only === null || only.has(id))), strict }
}

/** A task by its id, or by what people call it where only one of those meant is called so. */
function idOf({ tasks }: Prepared, only: Set<string> | null, asked: string): string {
  if (tasks.some(task => task.id === asked)) return asked
  const [first, ...more] = tasks.filter(task => task.label === asked && (only === null || only.has(task.id)))
  if (first && more.length === 0) return first.id
  throw unknownTask(
    asked,
    tasks.map(task => task.id),
  )
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
