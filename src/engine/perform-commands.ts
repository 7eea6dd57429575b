import { mkdirSync, writeFileSync } from 'node:fs'
import type { Base } from '../core/event.ts'
import type { CommandResult, CommandsOutcome } from '../core/outcome.ts'
import type { TaskState } from '../core/state.ts'
import { stageOf, type TimeLimit } from '../core/workflow.ts'
import { runCommands } from '../gates/commands.ts'
import { gateCommands } from '../gates/verify.ts'
import { gateBox, runBoxed } from './box.ts'
import type { Context } from './context.ts'
import { uncommittedPaths } from './perform-git.ts'
import { rescueHome } from './rescue.ts'
import { nextStep, stepFiles } from './step-files.ts'
import { stepVariable } from './step-processes.ts'
import { stoppable } from './stoppable.ts'
import { softLimits, timeLeft } from './time-limits.ts'

/** How the verify commands stand before the task, so that what was red before is not blamed on the agent. */
export async function performBaseline(context: Context, task: string): Promise<void> {
  await runGates(context, task, { stage: '@baseline', purpose: 'baseline', time: {} })
}

export async function performGates(context: Context, task: string, stageName: string): Promise<void> {
  const stage = stageOf(context.journal.rules.workflow, stageName)
  await runGates(context, task, { stage: stageName, purpose: 'gate', time: stage?.time ?? {} })
}

async function runGates(
  context: Context,
  task: string,
  options: { stage: string; purpose: CommandsOutcome['purpose']; time: TimeLimit },
): Promise<void> {
  const { journal, workspace, clock } = context
  const state = await journal.task(task)
  if (!state) throw new Error(`no task ${task}`)
  const commands = gateCommands(context.verify, state.task.verify)
  const step = nextStep(context.journal.run())
  // With nothing to run there is nothing to look at again.
  const position = commands.length === 0 ? await workspace.known() : await workspace.position()
  const started = clock.now()
  const soft = softLimits(context, state, { name: options.stage, soft: options.time.soft })
  const finish = async (results: CommandResult[]) => {
    const ms = clock.now() - started
    soft.tick({ elapsed: ms })
    const outcome: CommandsOutcome = {
      kind: 'commands',
      purpose: options.purpose,
      results,
      tree: position.tree,
      violations: [],
      ...soft.passed(),
      ms,
    }
    await journal.record(task, { type: 'step.finished', step, stage: options.stage, outcome })
    return outcome
  }
  if (commands.length === 0) return void (await finish([]))
  const earlier =
    options.purpose === 'baseline' ? await earlierResults(context, commands, position.tree) : null
  if (earlier) return void (await finish(earlier))

  // Gates change nothing that would have to be put back, so this is only told, not kept.
  const base: Base = { head: position.head, branch: position.branch, tree: position.tree, snapshot: '' }
  const files = stepFiles(context.home, step)
  mkdirSync(files.folder, { recursive: true })
  await journal.record(task, { type: 'step.started', step, stage: options.stage, base })
  const stop = stoppable(context, task)
  const rescue = async () => {
    if (await rescueHome(context, files.folder))
      context.report.note({ level: 'warning', text: 'a gate deleted .ralph/; the journal was put back' })
  }
  try {
    workspace.outdated()
    const results = await inGateFolder(
      context,
      state,
      { head: position.head, step, purpose: options.purpose },
      cwd =>
        runCommands({
          commands,
          cwd,
          outputDir: files.folder,
          processFile: files.processes,
          env: context.env,
          allow: context.settings.env,
          timeout: timeLeft(journal.rules, state, options.time.hard ?? 0),
          leash: context.settings.leash,
          mayBeat: () => context.lease.fresh(),
          secrets: context.secrets,
          signal: stop.signal,
          run: async options => {
            await rescue()
            return runBoxed(
              gateBox(context),
              { agent: null, reads: [], readOnly: false },
              { ...options, onTick: soft.tick, env: { ...options.env, [stepVariable]: step } },
            )
          },
          onLine: line => context.report.commandOutput(task, line),
        }),
    )
    await rescue()
    // The leash also stops them, when this engine was frozen: that proves nothing against the task.
    if (stop.signal.aborted || results.some(result => result.ended === 'stopped')) {
      await context.lease.assertHeld()
      await journal.record(task, { type: 'step.interrupted', step, why: 'was interrupted', kept: null })
      return
    }
    const outcome = await finish(results)
    if (options.purpose === 'baseline') noteRedInBox(context, results)
    writeFileSync(files.result, `${JSON.stringify(outcome, null, 2)}\n`)
    await rememberResults(context, position.tree, results)
  } finally {
    stop.done()
  }
}

/** What is red before any agent has worked may want something that is not in the box. */
function noteRedInBox(context: Context, results: CommandResult[]): void {
  const { box } = gateBox(context)
  const red = results.find(result => result.exit !== 0)
  if (!box || !red) return
  const text = `\`${red.command}\` is red in the sandbox before the task; where it is green outside, name what it needs under \`sandbox\` in ralph.config.yaml (hosts, reads, writes), or set \`gates: outside\` there`
  context.report.note({ level: 'warning', text })
}

/** The project itself, or (`--clean-gates`) a checkout that holds what would be committed and nothing else. */
async function inGateFolder<T>(
  context: Context,
  state: TaskState,
  { head, step, purpose }: { head: string; step: string; purpose: CommandsOutcome['purpose'] },
  work: (folder: string) => Promise<T>,
): Promise<T> {
  if (!context.settings.cleanGates) return work(context.root)
  const paths = purpose === 'gate' ? await uncommittedPaths(context, state, head) : []
  return context.workspace.inCleanCheckout({ paths, head, name: step }, work)
}

const lastGates = 'last-gates'

/** The gates that proved the task before are the baseline of the next one, when the tree is still the same. */
async function earlierResults(
  context: Context,
  commands: { command: string; own: boolean }[],
  tree: string,
): Promise<CommandResult[] | null> {
  const note = await context.store.log.getNote(lastGates)
  if (!note) return null
  const last = JSON.parse(note) as { tree: string; results: CommandResult[] }
  const byCommand = new Map(last.results.map(result => [result.command, result]))
  const found = commands.flatMap(({ command }) => byCommand.get(command) ?? [])
  if (found.length !== commands.length) return null
  return (await context.workspace.sameContent(last.tree, tree)) ? found : null
}

async function rememberResults(context: Context, tree: string, results: CommandResult[]): Promise<void> {
  await context.store.log.setNote(lastGates, JSON.stringify({ tree, results }))
}
