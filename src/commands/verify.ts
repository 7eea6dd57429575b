import { lstatSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import type { CommandResult } from '../core/outcome.ts'
import type { TaskState } from '../core/state.ts'
import { plural } from '../core/text.ts'
import { openGateBox, runBoxed } from '../engine/box.ts'
import { ralphHome } from '../engine/home.ts'
import { verifyCommands } from '../engine/prepare.ts'
import { runCommands } from '../gates/commands.ts'
import { gateCommands } from '../gates/verify.ts'
import { git } from '../git/git.ts'
import type { Note } from '../reporters/reporter.ts'
import type { Log } from '../store/log.ts'
import { findTask } from './find-task.ts'
import { gitFacts, toleratedFiles } from './git-facts.ts'
import { engineNow, openOrRefuse, withStore } from './look.ts'
import { type ProjectOption, projectRoot, projectSettings } from './project.ts'
import { printJson, terminal } from './terminal.ts'
import { judgeToday, lastTouches } from './verify-judge.ts'
import { gateRunText, verifiedText } from './verify-text.ts'

export type VerifyOptions = ProjectOption & { task?: string; all?: boolean; json?: boolean }

/** `ralph verify`: runs the gates on what is there today and says what of the evidence still holds. Changes no state, takes no lease. */
export async function verify(options: VerifyOptions): Promise<void> {
  const root = projectRoot(options)
  if (options.task !== undefined && options.all)
    throw new UserError('either one task or --all', `For example: ralph verify ${options.task}`, 2)
  const settings = await projectSettings(root)
  const screen = terminal()
  const { tasks, done, working } = await withStore(await openOrRefuse(root), async ({ log, dispatch }) => {
    const all = (await log.tasks({ status: ['done'] })).map(one => one.state)
    const engine = await engineNow(dispatch, Date.now())
    return {
      tasks: options.task === undefined ? all : [await doneTask(log, options.task)],
      done: all,
      working: engine?.alive === true,
    }
  })
  if (working) screen.err('warning: an engine is working here; the gates may see half-done work\n')
  if (tasks.length === 0)
    throw new UserError(
      'no task is done yet',
      '`ralph run` works on them; `ralph explain` says why it stopped.',
    )
  const { dirty } = await gitFacts(root, await toleratedFiles(root, settings))
  if (dirty.length > 0)
    screen.err(
      `note: uncommitted changes in ${plural(dirty.length, 'tracked file')}; verified is what lies there\n`,
    )

  const commands = projectCommands(root, settings)
  const results = await runEach(root, settings, commands, tasks, result => {
    if (!options.json) screen.out(`${gateRunText(result, screen.style)}\n`)
  })
  const history = await commitsOfHead(root)
  const verified = tasks.map(state =>
    judgeToday(state, {
      results: new Map(results.map(result => [result.command, result])),
      commands,
      isInHistory: commit => history.has(commit),
      exists: path => lstatSync(join(root, path), { throwIfNoEntry: false }) !== undefined,
      touchedBy: lastTouches(done),
    }),
  )
  const ok = verified.every(task => task.holds)
  if (options.json) printJson({ ok, engine: working, dirty, commands: results, tasks: verified })
  else screen.out(verifiedText(verified, screen.style))
  if (!ok) process.exitCode = 1
}

async function doneTask(log: Log, id: string): Promise<TaskState> {
  const { state } = await findTask(log, id)
  if (state.status === 'done') return state
  throw new UserError(
    `task ${id} is ${state.status}: there is nothing to prove again`,
    `\`ralph explain ${id}\` says why it is not done.`,
  )
}

/** With no verify command to be found, the tasks' own ones are still run. */
function projectCommands(root: string, settings: Settings): string[] {
  try {
    const { commands } = verifyCommands(settings, root)
    return commands === 'none' ? [] : commands
  } catch (error) {
    if (error instanceof UserError) return []
    throw error
  }
}

/** Each distinct command once, whichever tasks want it. What a red one printed is kept for the reader. */
async function runEach(
  root: string,
  settings: Settings,
  commands: string[],
  tasks: TaskState[],
  onEnd: (result: CommandResult) => void,
): Promise<CommandResult[]> {
  const distinct = gateCommands(
    commands,
    tasks.flatMap(state => state.task.verify),
  )
  const folder = mkdtempSync(join(tmpdir(), 'ralph-verify-'))
  const box = await openGateBox({
    root,
    home: ralphHome(root),
    settings,
    env: process.env,
    note: tellTrouble,
  })
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, onSignal)
  const gate = Object.values(settings.workflow.stages).find(stage => stage.kind === 'commands')
  const results: CommandResult[] = []
  try {
    for (const [index, command] of distinct.entries()) {
      const outputDir = join(folder, String(index + 1))
      mkdirSync(outputDir)
      const [result] = await runCommands({
        commands: [command],
        cwd: root,
        outputDir,
        processFile: join(folder, 'processes'),
        env: process.env,
        allow: settings.env,
        timeout: gate?.time?.hard ?? 0,
        leash: settings.leash,
        mayBeat: () => true,
        secrets: settings.secrets.flatMap(name => process.env[name] ?? []),
        signal: stop.signal,
        run: options => runBoxed({ box }, { agent: null, reads: [], readOnly: false }, options),
        onLine: () => undefined,
      })
      if (stop.signal.aborted || !result)
        throw new UserError('stopped before all gates had run', 'Nothing was changed; start it again.')
      results.push(result)
      onEnd(result)
    }
    return results
  } finally {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, onSignal)
    await box?.close()
    const red = results.some(result => result.exit !== 0)
    if (red) terminal().err(`what the gates printed: ${folder}\n`)
    else rmSync(folder, { recursive: true, force: true })
  }
}

/** Of the box only what it refuses is worth a line here. */
function tellTrouble({ level, text }: Note): void {
  if (level !== 'info') terminal().err(`${level}: ${text}\n`)
}

async function commitsOfHead(root: string): Promise<Set<string>> {
  const { stdout } = await git({ cwd: root }, ['rev-list', 'HEAD'], { userConfig: true })
  return new Set(stdout.split('\n').filter(Boolean))
}
