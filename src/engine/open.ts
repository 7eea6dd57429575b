import { hostname } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { allAgents, type Settings } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import type { Task } from '../core/task.ts'
import type { Rules } from '../core/transition.ts'
import { discoverRepository } from '../git/repository.ts'
import { type Layout, type Project, stateFiles } from '../layouts/layout.ts'
import type { Reporter } from '../reporters/reporter.ts'
import type { Box, Sandbox } from '../sandbox/sandbox.ts'
import { syncBacklog } from './backlog.ts'
import { beginRun, dropOldStops } from './begin-run.ts'
import { openBox } from './box.ts'
import { newBoxFiles } from './box-files.ts'
import { type Clock, systemClock } from './clock.ts'
import type { Context } from './context.ts'
import { sweepDrafts } from './drafts.ts'
import { openProjectStore, ralphHome } from './home.ts'
import { openJournal } from './journal.ts'
import { type Lease, orLeaseLost, takeLease } from './lease.ts'
import { takeLockFile } from './lock-file.ts'
import { takeMoves } from './moves.ts'
import { plainError } from './plain-error.ts'
import { agentOf } from './prepare.ts'
import { catchUpFiles } from './project-files.ts'
import { recoverReviewer, wasReviewing } from './recover-reviewer.ts'
import { type Again, refit, reopenStopped } from './reopen.ts'
import { finishRestores, hasKeptWork, isCutOff, recoverInterrupted, underWay } from './resume.ts'
import { leaveEnded, readFolders } from './task-folder.ts'
import { openWorkspace } from './workspace.ts'

export type OpenOptions = Again & {
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
  /** Wait for another engine to leave instead of giving up. */
  wait: boolean
  env: Record<string, string | undefined>
  /** Where agents and gates are to run; null = with the user's own rights. */
  sandbox?: Sandbox | null
  clock?: Clock
  options: Record<string, unknown>
}

export type OpenEngine = {
  context: Context
  close(): Promise<void>
  /** A run was begun, not gone on with. */
  isNew: boolean
}

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
  // git answers while the journal is opened. Whoever waits for another engine asks later: that one may commit meanwhile.
  const ahead = open.wait ? {} : { discovered: discoverRepository(root) }
  const store = await openProjectStore(root)
  let lease: Lease | null = null
  let dropLock: () => void = () => undefined
  let box: Box | null = null
  const close = async () => {
    // What still runs in there must not outlive the lease.
    await box?.close().catch(() => undefined)
    dropLock()
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
      ...(layout.lock ? { refusal: layout.lock.refusal } : {}),
    })
    dropLock = await takeLockFile(layout, project, clock.now())
    // Whoever did not give his lease back was cut off, perhaps in the middle of a file.
    if (lease.takenFrom) sweepDrafts(writtenFolders(open))
    // Only now: what another engine has in hand is neither the user's dirt nor ours to mend.
    const recovering = (await isCutOff(store.log)) || (await wasReviewing(store.log))
    const workspace = await openWorkspace({
      root,
      home: ralphHome(root),
      owned: [...layout.owned, settings.log],
      protect: [...settings.protect, ...sharedFiles(open)],
      files: [...stateFiles(layout, project), settings.log].filter(file => !isAbsolute(file)),
      recovering,
      ...ahead,
      mayWork: lease.assertHeld,
    })
    if (lease.takenFrom) await workspace.clearOwnLocks()
    const ownFolders = rules.workflow.git.worktree === 'task'
    if (ownFolders && settings.branch !== null)
      throw new UserError(
        `every task has a branch of its own here (ralph/<${rules.workflow.noun ?? 'task'}>)`,
        'Leave out --branch, and `branch` in ralph.config.yaml.',
        2,
      )
    const claimUserFiles = async () =>
      workspace.claimUserFiles({
        // Where every task has a folder of its own, the user's uncommitted work is in nobody's way.
        inPlace: open.inPlace || ownFolders,
        underWay: await underWay(store.log, workspace),
        adopt: open.again === 'resume' && (await hasKeptWork(store.log, open.only)),
      })
    if (!recovering) await claimUserFiles()
    const earlier = (await store.log.lastRun())?.rules ?? null
    const { run, runSeq, isNew } = await beginRun(store, rules, open.attach, lease.fence, clock)
    const journal = openJournal({ log: store.log, rules, run, runSeq, lease, clock, report })
    if (open.sandbox) {
      const agents = await Promise.all(allAgents(settings.agents).map(choice => agentOf(choice, root)))
      const { identity } = workspace
      const cutOff = recovering || lease.takenFrom !== null
      const policy = {
        root,
        home: ralphHome(root),
        settings,
        agents,
        identity,
        env: open.env,
        cutOff,
        note: report.note,
      }
      box = await openBox({ sandbox: open.sandbox, ...policy })
    }
    const context: Context = {
      root,
      home: ralphHome(root),
      settings,
      protect: [...protectedGlobs(settings), ...(layout.protects?.(project) ?? [])],
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
      box,
      boxFiles: newBoxFiles(),
      secrets: settings.secrets.flatMap(name => open.env[name] ?? []),
      stop: open.stop,
      folders: await readFolders(store.log),
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
    const recovered = (await recoverInterrupted(context)) + ((await recoverReviewer(context)) ? 1 : 0)
    if (recovered > 0)
      report.note({
        level: 'info',
        text: 'an earlier run was cut off; its unfinished step was put back and does not count',
      })
    await syncBacklog({
      // What an agent that was cut off had written in the backlog was put back with the rest.
      tasks: recovered > 0 && layout.growing ? layout.read(project).tasks : open.backlog.tasks,
      recorded: layout.recorded(project),
      continued: open.again === 'fresh' ? [] : (layout.continued?.(project) ?? []),
      log: store.log,
      journal,
    })
    await finishRestores(context)
    await leaveEnded(context)
    if (recovering) await claimUserFiles()
    await takeMoves(context)
    await catchUpFiles(context)
    if (isNew) await reopenStopped(context, open)
    if (isNew) await refit(context, earlier)
    return { context, close, isNew }
  } catch (error) {
    const reason = lease ? await orLeaseLost(lease, error) : error
    await close()
    throw reason
  }
}

/** The backlog's own files, where people, agents and Ralph all write in them: never the user's dirt, never swept in. */
function sharedFiles({ layout, project, backlog }: OpenOptions): string[] {
  const shared = layout.growing ? new Set(backlog.tasks.map(task => `/${task.spec}`)) : []
  return [...shared, ...(layout.protects?.(project) ?? [])]
}

/** Where files are replaced: the preset's own, the user's index, and where each attempt began. */
function writtenFolders({ root, layout, project, backlog }: OpenOptions): string[] {
  const files = [...stateFiles(layout, project), ...backlog.tasks.map(task => task.spec)]
  return ['.git', '.ralph/git/positions', ...files.map(file => dirname(file))].map(folder =>
    join(root, folder),
  )
}

/** What no agent may touch, whatever the configuration says. */
function protectedGlobs(settings: Settings): string[] {
  return [
    ...settings.protect,
    `/${settings.prompts}/**`,
    'ralph.config.yaml',
    '.claude/settings.json',
    '.claude/settings.local.json',
    '.claude/hooks/**',
    '.codex/**',
    '.gemini/settings.json',
    '.mcp.json',
  ]
}
