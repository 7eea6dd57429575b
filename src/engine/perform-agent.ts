import { mkdirSync, writeFileSync } from 'node:fs'
import type { Agent, AgentReport } from '../agents/agent.ts'
import { guardFor } from '../agents/guard.ts'
import { type AgentChoice, agentsFor, choiceKey } from '../config/settings.ts'
import type { Base } from '../core/event.ts'
import { healthAfter, pickAgent } from '../core/fallback.ts'
import { classify } from '../core/fault.ts'
import type { AgentOutcome, Fault } from '../core/outcome.ts'
import { isExcused } from '../core/outcome.ts'
import { readSignals } from '../core/signals.ts'
import type { TaskState } from '../core/state.ts'
import { cut } from '../core/text.ts'
import { type AgentStage, stageOf } from '../core/workflow.ts'
import { stateFiles } from '../layouts/layout.ts'
import { allowedEnvironment } from '../process/environment.ts'
import type { ProcessResult } from '../process/run-process.ts'
import { readBacklogAgain } from './backlog.ts'
import { runBoxed } from './box.ts'
import { bringIn } from './box-files.ts'
import type { Context } from './context.ts'
import { inspect } from './inspect.ts'
import { projectFiles } from './project-files.ts'
import { dropProposal, judgeOutputs, readOutputs } from './proposal.ts'
import { renderPrompt } from './render-prompt.ts'
import { rescueHome } from './rescue.ts'
import { readStateFiles } from './state-files.ts'
import { nextStep, type StepFiles, stepFiles } from './step-files.ts'
import { stepVariable } from './step-processes.ts'
import { type Stopped, stoppable } from './stoppable.ts'
import { type Lateness, softLimits, timeLeft } from './time-limits.ts'
import type { Position } from './workspace.ts'

/** Grace between TERM and KILL. */
const grace = 5_000

/**
 * One agent call: the intent is durable before the agent starts, the outcome after it ended. What the agent did is
 * looked at by content, what it broke is put back, and only then is it written down.
 */
export async function performAgent(context: Context, task: string, stageName: string): Promise<void> {
  const { journal, workspace, settings } = context
  const state = await journal.task(task)
  const stage = stageOf(journal.rules.workflow, stageName)
  if (!state || stage?.kind !== 'agent') throw new Error(`no agent stage ${stageName} for task ${task}`)

  const choices = agentsFor(settings.agents, stage)
  const keys = choices.map(choiceKey)
  const choice = choices[pickAgent(keys, journal.run().health ?? {}, context.clock.now())]
  if (!choice) throw new Error('no agent configured')
  const agent = await context.agent(choice)
  const step = nextStep(context.journal.run())
  const files = stepFiles(context.home, step)
  mkdirSync(files.folder, { recursive: true })
  const prompt = renderPrompt(
    { ...context, rules: journal.rules, run: journal.run(), reader: agent.name },
    state,
    stageName,
  )
  writeFileSync(files.prompt, prompt)

  const { project, layout } = context
  const call = callAgent({ context, agent, choice, stage, state, step, stageName, files })
  const { before, base, head, outputs, stateBefore } = await call.after(async () => {
    const before = await startingPosition(context, state)
    const base = await workspace.keep(before, `steps/${step}`)
    await journal.record(task, { type: 'step.started', step, stage: stageName, base })
    // S4-36: what is being worked on can be seen from outside before the agent starts.
    await projectFiles(context)
    const head = await context.store.log.head(task)
    const outputs = readOutputs(context, state, stageName)
    const guarded = stateFiles(layout, project).filter(path => !outputs.before.has(path))
    const stateBefore = readStateFiles(project.root, guarded)
    await bringIn(context, before)
    return { before, base, head, outputs, stateBefore }
  })
  const ran = await call.end
  if (ran.result.ended === 'stopped') {
    await dropProposal(context, outputs)
    return interrupted(context, task, step, base, ran.stopped)
  }

  const fault = faultOf(ran.report, ran.result, agent, context.clock.now())
  const seen = await inspect({
    ...{ context, state, stage, before, base, head, files },
    stateFiles: stateBefore,
    outputs: [...outputs.before.keys()],
  })
  const judged = await judgeOutputs(context, { state, stage: stageName, outputs })
  if (fault && isExcused(fault)) {
    await context.lease.assertHeld()
    await workspace.putBack(base, `refunded/${step}`)
    await dropProposal(context, outputs)
  }
  const outcome: AgentOutcome = {
    kind: 'agent',
    agent: agent.name,
    ...((ran.report.model ?? choice.model) ? { model: ran.report.model ?? choice.model ?? '' } : {}),
    ...(choices.length > 1 ? fallbackOf(context, choiceKey(choice), keys, fault) : {}),
    exit: ran.result.exit,
    killed: ran.result.killed,
    ended: ran.result.ended,
    fault,
    signals: [...readSignals(ran.report.message, prompt, stage.signal), ...judged.signals],
    ...ran.late,
    iteration: state.visits[stageName] ?? 1,
    message: cut(ran.report.message.slice(-16_000), 100),
    change: seen.change,
    violations: [...seen.violations, ...judged.violations],
    usage: ran.report.usage,
    ...(ran.report.context ? { context: ran.report.context } : {}),
    ms: ran.result.ms,
  }
  writeFileSync(files.message, ran.report.message)
  writeFileSync(files.result, `${JSON.stringify(outcome, null, 2)}\n`)
  await journal.record(task, { type: 'step.finished', step, stage: stageName, outcome })
  if (layout.growing) await readBacklogAgain(context)
}

/** Which entry of the list was called, and which one takes over when this one is to rest. */
function fallbackOf(
  { journal, clock }: Context,
  choice: string,
  keys: string[],
  fault: Fault | null,
): Pick<AgentOutcome, 'choice' | 'fallback'> {
  const health = journal.run().health ?? {}
  const mine = healthAfter(health[choice], { fault }, clock.now())
  const next = keys[pickAgent(keys, { ...health, [choice]: mine }, clock.now())]
  const rests = mine.until > clock.now() && next !== undefined && next !== choice
  const free = rests && (health[next]?.until ?? 0) <= clock.now()
  return { choice, ...(free ? { fallback: next } : {}) }
}

/** Where the step begins; on the branch the user asked for, when a new attempt begins. */
async function startingPosition(context: Context, state: TaskState): Promise<Position> {
  const { settings, workspace, journal } = context
  const position = await workspace.following()
  if (settings.branch === null || state.base !== null) return position
  const { id } = state.task
  const name = settings.branch
    .replaceAll('{run}', journal.run().id)
    .replaceAll('{epic}', id.split('.')[0] ?? id)
    .replaceAll('{story}', id)
  return (await workspace.enterBranch(position, name)) ? workspace.position() : position
}

type Ran = { result: ProcessResult; report: AgentReport; stopped: Stopped; late: Lateness }

type Call = {
  context: Context
  agent: Agent
  choice: AgentChoice
  stage: AgentStage
  stageName: string
  state: TaskState
  step: string
  files: StepFiles
}

/**
 * An agent call that is made ready at once and begins after what must come first: putting an agent on its leash takes as
 * long as noting where it starts. Nothing of it runs before.
 */
function callAgent(options: Call): {
  /** Does what must come first, then lets the agent begin; when that fails, it never does. */
  after<T>(work: () => Promise<T>): Promise<T>
  end: Promise<Ran>
} {
  let decide: (yes: boolean) => void = () => undefined
  const begin = new Promise<boolean>(resolve => {
    decide = resolve
  })
  const end = runAgent(options, begin)
  // Whoever asks for the end hears of it; if the work before it fails, nobody asks.
  end.catch(() => undefined)
  const after = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const done = await work()
      await options.context.lease.assertHeld()
      decide(true)
      return done
    } catch (error) {
      decide(false)
      await end.catch(() => undefined)
      throw error
    }
  }
  return { after, end }
}

export async function runAgent(options: Call, begin = Promise.resolve(true)): Promise<Ran> {
  const { context, agent, choice, stage, stageName, state, step, files } = options
  // Whoever is to write a verdict into a file needs the tools for it; what else he changes is put back.
  const readOnly =
    stage.may === 'read' &&
    (context.layout.outputs?.(context.project, state.task, stageName) ?? []).length === 0
  const command = agent.command({
    promptFile: files.prompt,
    cwd: context.root,
    ...(choice.model ? { model: choice.model } : {}),
    readOnly,
    ...(context.box ? { boxed: context.box.holdsReaders } : guardFor(agent)),
    extraArgs: [...choice.args, ...context.settings.extraArgs],
    env: context.env,
    root: process.getuid?.() === 0,
  })
  const stop = stoppable(context, state.task.id)
  const reader = agent.reader()
  const soft = softLimits(context, state, { name: stageName, soft: stage.time?.soft })
  try {
    await context.lease.assertHeld()
    const boxed = { agent: agent.name, reads: command.reads ?? [], readOnly }
    const result = await runBoxed(context, boxed, {
      argv: command.argv,
      cwd: context.root,
      env: {
        ...allowedEnvironment(context.env, [...context.settings.env, ...choice.env]),
        ...command.env,
        RALPH_WORKSPACE: context.root,
        RALPH_TASK: state.task.id,
        RALPH_STAGE: stageName,
        RALPH_ROLE: stage.role,
        RALPH_ATTEMPT: String(state.failures + 1),
        RALPH_CALL: String(context.journal.run().calls + 1),
        [stepVariable]: step,
      },
      stdin: command.stdin === 'prompt' ? { type: 'file', path: files.prompt } : { type: 'none' },
      outputFile: files.output,
      processFile: files.processes,
      timeout: timeLeft(context.journal.rules, state, stage.time?.hard ?? 0),
      idle: stage.time?.idle ?? 0,
      onTick: soft.tick,
      grace,
      leash: context.settings.leash,
      mayBeat: () => context.lease.fresh(),
      signal: stop.signal,
      begin,
      secrets: context.secrets,
      onLine: (line, stream) => {
        for (const event of reader.line(line, stream)) context.report.output(state.task.id, event)
      },
    })
    soft.tick({ elapsed: result.ms })
    const report = reader.end({ code: result.exit, killed: result.killed })
    return { result, report, stopped: stop.why(), late: soft.passed() }
  } finally {
    stop.done()
  }
}

/** The attempt does not count: its work is kept aside, the tree goes back to where the step began. */
async function interrupted(
  context: Context,
  task: string,
  step: string,
  base: Base,
  why: Ran['stopped'],
): Promise<void> {
  await context.lease.assertHeld()
  await rescueHome(context, stepFiles(context.home, step).folder)
  const kept = await context.workspace.putBack(base, `interrupted/${step}`)
  const words = { interrupt: 'was interrupted', cancel: 'was cancelled', lost: 'lost its lease' }
  await context.journal.record(task, { type: 'step.interrupted', step, why: words[why], kept })
}

export function faultOf(report: AgentReport, result: ProcessResult, agent: Agent, now: number): Fault | null {
  return classify({
    exit: result.exit,
    killed: result.killed,
    ended: result.ended,
    spawnError: result.spawnError,
    ms: result.ms,
    reported: report.fault,
    message: report.message,
    tail: report.tail,
    patterns: agent.patterns,
    now,
  })
}
