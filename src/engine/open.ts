import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import type { Agent } from '../agents/agent.ts'
import { findAgent } from '../agents/registry.ts'
import type { AgentChoice, Settings } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import { eventVersion } from '../core/event.ts'
import type { RunState } from '../core/run.ts'
import { foldRun, newRunState } from '../core/run.ts'
import type { Task } from '../core/task.ts'
import type { Rules } from '../core/transition.ts'
import { fits } from '../core/walk.ts'
import { detectVerify } from '../gates/detect.ts'
import type { Layout, Problem, Project } from '../layouts/layout.ts'
import { findLayout } from '../layouts/registry.ts'
import type { Reporter } from '../reporters/reporter.ts'
import { makeFolder } from '../store/atomic-file.ts'
import { type Fence, runStream } from '../store/log.ts'
import { openStore, type Store } from '../store/sqlite.ts'
import { StoreError } from '../store/store-error.ts'
import { syncBacklog } from './backlog.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Context } from './context.ts'
import { sweepDrafts } from './drafts.ts'
import { faultPoint } from './fault-point.ts'
import { openJournal } from './journal.ts'
import { type Lease, orLeaseLost, takeLease } from './lease.ts'
import { plainError } from './plain-error.ts'
import { catchUpFiles } from './project-files.ts'
import { finishRestores, isCutOff, recoverInterrupted, underWay } from './resume.ts'
import { openWorkspace } from './workspace.ts'

/** The engine's folder in a project; never committed, whatever the project's own ignore rules say. */
export function ralphHome(root: string): string {
  return join(root, '.ralph')
}

export function makeHome(root: string): string {
  const home = ralphHome(root)
  makeFolder(home)
  const ignore = join(home, '.gitignore')
  // An empty one is what a full disk or a kill in the middle of the first write left.
  if (!statSync(ignore, { throwIfNoEntry: false })?.size) writeFileSync(ignore, '*\n')
  return home
}

export async function openProjectStore(root: string): Promise<Store> {
  const home = makeHome(root)
  const path = join(home, 'ralph.db')
  // An empty file would be taken for a new journal; where steps have run, it is what is left of one.
  if (statSync(path, { throwIfNoEntry: false })?.size === 0 && hasSteps(home) && !existsSync(`${path}-wal`))
    throw new StoreError('corrupt', path, 'it is empty')
  return openStore(path)
}

function hasSteps(home: string): boolean {
  return existsSync(join(home, 'runs')) && readdirSync(join(home, 'runs')).length > 0
}

/** The verify commands of a run: configured, else detected, else refused. */
export function verifyCommands(
  settings: Settings,
  root: string,
): { commands: string[] | 'none'; detected: string | null } {
  if (settings.verify !== null) return { commands: settings.verify, detected: null }
  const found = detectVerify(root)
  if (!found) {
    throw new UserError(
      'no verify command: Ralph would have to believe its agents',
      'Add e.g. `verify: ["npm test"]` to ralph.config.yaml, or `verify: none` to accept the agents\' word.',
      2,
    )
  }
  return { commands: found.commands, detected: found.because }
}

export function agentOf(choice: AgentChoice, root: string): Promise<Agent> {
  const { name, command, script } = choice
  return findAgent(name, {
    base: root,
    ...(command === undefined ? {} : { command }),
    ...(script === undefined ? {} : { script }),
  })
}

export type OpenOptions = {
  root: string
  settings: Settings
  layout: Layout
  project: Project
  backlog: { tasks: Task[]; missing: string[] }
  rules: Rules
  report: Required<Reporter>
  stop: AbortSignal
  inPlace: boolean
  what: string
  /** `ralph step` goes on with the run that is open. */
  attach: boolean
  keepRetries: boolean
  /** Wait for another engine to leave instead of giving up. */
  wait: boolean
  env: Record<string, string | undefined>
  clock?: Clock
  options: Record<string, unknown>
}

export type OpenEngine = { context: Context; close(): Promise<void> }

/** Takes the lease, mends what a killed engine left, brings journal and files in line, and begins (or goes on with) a run. */
export async function openEngine(open: OpenOptions): Promise<OpenEngine> {
  try {
    return await prepareEngine(open)
  } catch (error) {
    throw plainError(error, ralphHome(open.root))
  }
}

async function prepareEngine(open: OpenOptions): Promise<OpenEngine> {
  const { root, settings, layout, project, rules, report } = open
  const clock = open.clock ?? systemClock
  const store = await openProjectStore(root)
  let lease: Lease | null = null
  const close = async () => {
    // A lease that cannot be given back (a full disk) is taken from us as soon as this process is gone.
    await lease?.release().catch(() => undefined)
    store.close()
  }
  try {
    lease = await takeLease({
      dispatch: store.dispatch,
      clock,
      ttl: settings.lease,
      leash: settings.leash,
      what: open.what,
      waitFor: open.wait ? open.stop : null,
    })
    // Whoever did not give his lease back was cut off, perhaps in the middle of a file.
    if (lease.takenFrom) sweepDrafts(writtenFolders(open))
    // Only now: what another engine has in hand is neither the user's dirt nor ours to mend.
    const recovering = await isCutOff(store.log)
    const workspace = await openWorkspace({
      root,
      home: ralphHome(root),
      owned: [...layout.owned, settings.log],
      protect: settings.protect,
      files: [...layout.state, settings.log].filter(file => !isAbsolute(file)),
      recovering,
      mayWork: lease.assertHeld,
    })
    const claimUserFiles = async () =>
      workspace.claimUserFiles({ inPlace: open.inPlace, underWay: await underWay(store.log, workspace) })
    if (!recovering) await claimUserFiles()
    const earlier = (await store.log.lastRun())?.rules ?? null
    const { run, runSeq, isNew } = await beginRun(store, rules, open.attach, lease.fence, clock)
    const journal = openJournal({ log: store.log, rules, run, runSeq, lease, clock, report })
    const context: Context = {
      root,
      home: ralphHome(root),
      settings,
      protect: protectedGlobs(settings),
      verify: rules.verify === 'none' ? [] : rules.verify,
      missing: open.backlog.missing,
      project,
      layout,
      workspace,
      store,
      journal,
      lease,
      clock,
      report,
      agent: choice => agentOf(choice, root),
      secrets: settings.secrets.flatMap(name => open.env[name] ?? []),
      stop: open.stop,
      env: open.env,
    }
    if (isNew) {
      await dropOldStops(store, clock)
      await journal.recordRun({
        type: 'run.started',
        workflow: rules.workflow,
        verify: rules.verify,
        host: hostname(),
        pid: process.pid,
        options: open.options,
      })
    }
    const recovered = await recoverInterrupted(context)
    if (recovered > 0)
      report.note({
        level: 'info',
        text: 'an earlier run was cut off; its unfinished step was put back and does not count',
      })
    await syncBacklog({
      tasks: open.backlog.tasks,
      recorded: layout.recorded(project),
      log: store.log,
      journal,
    })
    await finishRestores(context)
    if (recovering) await claimUserFiles()
    await catchUpFiles(context)
    if (isNew) await reopenStopped(context, open.keepRetries)
    if (isNew) await refit(context, earlier)
    return { context, close }
  } catch (error) {
    const reason = lease ? await orLeaseLost(lease, error) : error
    await close()
    throw reason
  }
}

/** Where files are replaced: the preset's own, the user's index, and where each attempt began. */
function writtenFolders({ root, layout, backlog }: OpenOptions): string[] {
  const files = [...layout.state, ...backlog.tasks.map(task => task.spec)]
  return ['.git', '.ralph/git/positions', ...files.map(file => dirname(file))].map(folder =>
    join(root, folder),
  )
}

async function beginRun(
  store: Store,
  rules: Rules,
  attach: boolean,
  fence: Fence,
  clock: Clock,
): Promise<{ run: RunState; runSeq: number; isNew: boolean }> {
  const last = await store.log.lastRun()
  if (attach && last?.status === 'open' && JSON.stringify(last.rules) === JSON.stringify(rules)) {
    return { run: last, runSeq: await lastSeq(store, last.id), isNew: false }
  }
  if (last?.status === 'open') await closeRun(store, last, fence, clock)
  return { run: newRunState(runId(clock.now())), runSeq: 0, isNew: true }
}

/** A run that was cut off ends here. A pause outlives it: what a person stopped, only a person sets going again. */
async function closeRun(store: Store, last: RunState, fence: Fence, clock: Clock): Promise<void> {
  const resumed = (await store.dispatch.pending()).some(request => request.kind === 'resume')
  if (last.paused && !resumed)
    throw new UserError('this project is paused', 'Go on with `ralph resume`, then `ralph run`.')
  const event = {
    v: eventVersion,
    at: clock.now(),
    run: last.id,
    type: 'run.finished' as const,
    reason: 'interrupted' as const,
    message: 'cut off, or followed by another run',
  }
  const seq = (await lastSeq(store, last.id)) + 1
  await store.log.append([{ stream: runStream(last.id), seq, event, run: foldRun(last, event) }], fence)
  faultPoint('event')
}

async function lastSeq(store: Store, run: string): Promise<number> {
  return (await store.log.head(runStream(run)))?.seq ?? 0
}

/** Nobody who asked an earlier run to stop meant this one. */
async function dropOldStops(store: Store, clock: Clock): Promise<void> {
  for (const { id, kind, task } of await store.dispatch.pending()) {
    const stops = kind === 'stop' || kind === 'resume' || (kind === 'cancel' && task === null)
    if (stops) await store.dispatch.take(id, 'came when no run was under way', clock.now())
  }
}

/** H-26: a new run gives a story that ran out of tries its tries back, unless the user says otherwise. */
async function reopenStopped(context: Context, keepRetries: boolean): Promise<void> {
  const statuses = keepRetries ? (['held'] as const) : (['halted', 'held'] as const)
  for (const { id } of await context.store.log.tasks({ status: [...statuses] })) {
    await context.journal.record(id, { type: 'task.reopened', why: 'a new run' })
  }
}

/** The workflow was changed since the last run: tasks that stand at a stage that is no more begin again. */
async function refit(context: Context, earlier: Rules | null): Promise<void> {
  const { rules } = context.journal
  if (!earlier || JSON.stringify(earlier.workflow) === JSON.stringify(rules.workflow)) return
  for (const { id, state } of await context.store.log.tasks({ status: ['open'] })) {
    if (!fits(rules, state))
      await context.journal.record(id, { type: 'task.reopened', why: 'another workflow' })
  }
}

/** What no agent may touch, whatever the configuration says. */
function protectedGlobs(settings: Settings): string[] {
  return [
    ...settings.protect,
    'ralph.config.yaml',
    '.claude/settings.json',
    '.claude/settings.local.json',
    '.claude/hooks/**',
    '.codex/**',
    '.gemini/settings.json',
    '.mcp.json',
  ]
}

function runId(now: number): string {
  const time = new Date(now).toISOString().replace(/[-:]/gu, '').slice(0, 15).replace('T', '-')
  return `${time}-${randomBytes(2).toString('hex')}`
}

export type Prepared = {
  project: Project
  layout: Layout
  tasks: Task[]
  missing: string[]
  problems: Problem[]
}

/** Reads the backlog and says what is wrong with it, before anything is written or spent. */
export async function prepareBacklog(root: string, settings: Settings): Promise<Prepared> {
  const layout = await findLayout(settings.workflow.layout)
  const project: Project = {
    root,
    settings: { contextFile: settings.context, agents: settings.agents.implementer.map(one => one.name) },
  }
  const backlog = layout.read(project)
  return { project, layout, tasks: backlog.tasks, missing: backlog.missing, problems: backlog.problems }
}
