import type { AnyEvent } from '../../core/event.ts'
import type { AgentOutcome, Outcome } from '../../core/outcome.ts'
import type { TaskState } from '../../core/state.ts'
import { labelOf } from '../../core/task.ts'
import { duration, oneLine } from '../../core/text.ts'
import { stageOf } from '../../core/workflow.ts'
import type { PrintView, Project } from '../layout.ts'
import {
  doneBlock,
  type Facts,
  initBlock,
  notDoneBlock,
  nothingBlock,
  scriptHead,
  scriptLine,
  selectedBlock,
  stepHead,
  stepTail,
} from './blocks.ts'
import { chosen, scopeOf } from './choice.ts'
import { readPlan } from './plan-file.ts'
import { retriesOf, reviewCap } from './position.ts'
import { aboutTask, slashCommand } from './slash-commands.ts'
import { readTaskFiles, reportPath, specOf, taskNumber } from './task-file.ts'

/** Each step in the seed's own words; what the seed does not know keeps Ralph's. */
export function printEvent(project: Project, event: AnyEvent, view: PrintView): string | null | undefined {
  const isScript = project.settings.style === 'script'
  switch (event.type) {
    case 'run.started':
      return opening(project, isScript)
    case 'run.finished':
      return ending(project, event, isScript)
    case 'step.started':
      return view.state ? started(project, event.stage, view, isScript) : null
    case 'step.finished':
      return view.state ? finished(project, event.stage, event.outcome, view, isScript) : null
    case 'task.added':
    case 'task.changed':
    case 'task.removed':
    case 'task.recorded':
    case 'task.continued':
    case 'task.reopened':
      return null
    default:
      return undefined
  }
}

/** Only a plan that begins has something to tell; the file is written right after. */
function opening(project: Project, isScript: boolean): string | null {
  const choice = chosen(project)
  if (!choice.begins) return null
  const plan = choice.stored.kind === 'ok' ? choice.stored.plan : null
  const again = plan?.step === 'init'
  if (isScript && plan && again)
    return `${scriptHead({ task: plan.current, iteration: plan.iteration }, 'init')}\n${scriptLine('init', '')}\n`
  const { from, to } = choice.range
  return initBlock({ from, to, count: scopeOf(choice).size, again })
}

function ending(
  project: Project,
  { reason, message }: Extract<AnyEvent, { type: 'run.finished' }>,
  isScript: boolean,
): string | null | undefined {
  if (reason === 'halted') return null
  if (reason !== 'complete' && reason !== 'blocked') return undefined
  const { stored } = chosen(project)
  const plan = stored.kind === 'ok' ? stored.plan : null
  const iteration = plan?.iteration ?? 1
  const blocked = reason === 'blocked' ? message.replace(/^blocked: /u, '').split('; ') : []
  if (!isScript) return nothingBlock(iteration, blocked)
  const lines =
    blocked.length === 0 ? [scriptLine('choose_task', '')] : blocked.map(text => `→ Blocked: ${text}`)
  return [scriptHead({ task: plan?.current ?? null, iteration }, 'choose_task'), ...lines, ''].join('\n')
}

function started(project: Project, stage: string, view: PrintView, isScript: boolean): string | null {
  const { state, rules } = view
  if (!state || stageOf(rules.workflow, stage)?.kind !== 'agent') return null
  const facts = factsOf(project, state, view)
  if (isScript) return `${scriptHead(facts, stage)}\n${scriptLine(stage, facts.task)}`
  const { id, spec } = state.task
  const about = aboutTask(id, facts.task, spec, readTaskFiles(project.root, specOf(id)))
  return stepHead(stage, facts, { command: slashCommand(stage, about), report: reportPath(spec) })
}

function finished(
  project: Project,
  stage: string,
  outcome: Outcome,
  view: PrintView,
  isScript: boolean,
): string | null {
  const { state } = view
  if (!state) return null
  const facts = factsOf(project, state, view)
  switch (outcome.kind) {
    case 'engine':
      if (!isScript) return selectedBlock(facts, state.task.title)
      return `${scriptHead(before(project, state, facts), stage)}\n${scriptLine(stage, facts.task)}\n`
    case 'agent':
      return agentLines(stage, outcome, view, isScript)
    case 'commands': {
      const passed = state.next?.type === 'settle' || state.status === 'done'
      if (outcome.purpose === 'baseline' || passed) return null
      const next = nextStep(state)
      if (!isScript) return notDoneBlock(facts, oneLine(state.note, 300), next)
      return `${scriptHead(facts, stage)}\n→ Not done: ${oneLine(state.note, 300)}\n`
    }
    case 'settle':
      if (!isScript) return doneBlock(facts, progressOf(project, state))
      return `${scriptHead({ ...facts, iteration: facts.iteration - 1 }, 'update_done')}\n${scriptLine('update_done', facts.task)}\n`
    case 'restore':
      return null
    default:
      return outcome satisfies never
  }
}

function agentLines(
  stage: string,
  outcome: AgentOutcome,
  { state, rules }: PrintView,
  isScript: boolean,
): string | null {
  if (!state) return null
  if (state.status === 'held') return `→ ${state.note}\n→ Next: ${stage}${isScript ? '\n' : ''}`
  if (outcome.fault && state.waitUntil > 0) {
    const wait = duration(Math.max(0, state.waitUntil - Date.now()))
    return `→ ${outcome.fault.message}; tried again in ${wait}, this does not count\n→ Next: ${stage}${isScript ? '\n' : ''}`
  }
  // The step's own lines stand above; an empty line ends it.
  if (isScript) return ''
  const found = stageOf(rules.workflow, stage)
  const next = nextStep(state)
  const isSoft = found?.kind === 'agent' && found.gate === 'soft'
  return stepTail(stage, isSoft ? isClean(outcome) : next === found?.on.pass, next)
}

/** A soft gate leads on in any case. */
function isClean({ exit, ended, violations, signals }: AgentOutcome): boolean {
  const rejects = signals.some(signal => signal.type === 'verdict' && !signal.pass)
  return exit === 0 && ended === 'exit' && violations.length === 0 && !rejects
}

/** The step that the file will name next. */
function nextStep({ status, stage, next }: TaskState): string {
  if (status === 'halted' || status === 'failed') return 'failed'
  return next?.type === 'settle' ? 'update_done' : (stage ?? 'choose_task')
}

/** `state` is the fold after the event; the retry count of a review is the one before it. */
function factsOf({ root }: Project, state: TaskState, { rules }: PrintView): Facts {
  const stored = readPlan(root, specOf(state.task.id))
  const iteration = stored.kind === 'ok' ? stored.plan.iteration : 1
  return { task: labelOf(state.task), iteration, retries: retriesOf(state), cap: reviewCap(rules) }
}

/** The script tells of the task that was the current one before the choice. */
function before(
  { root }: Project,
  state: TaskState,
  { iteration }: Facts,
): { task: string | null; iteration: number } {
  const stored = readPlan(root, specOf(state.task.id))
  return { task: stored.kind === 'ok' ? stored.plan.current : null, iteration }
}

function progressOf({ root }: Project, state: TaskState): { done: number; total: number } {
  const spec = specOf(state.task.id)
  const stored = readPlan(root, spec)
  if (stored.kind !== 'ok' || !stored.plan.range) return { done: 0, total: 0 }
  const { range, done } = stored.plan
  const scope = scopeOf({ files: readTaskFiles(root, spec), range })
  const labels = [...scope].map(id => taskNumber(id.split('/').pop() ?? ''))
  return { done: done.filter(label => labels.includes(taskNumber(label))).length, total: scope.size }
}
