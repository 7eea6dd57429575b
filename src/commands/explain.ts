import { checkBudget } from '../core/budget.ts'
import type { RunState } from '../core/run.ts'
import { isBegun } from '../core/select.ts'
import type { TaskState } from '../core/state.ts'
import type { TaskStatus } from '../core/task.ts'
import { ago, oneLine, plural } from '../core/text.ts'
import { chooseTask } from '../engine/choose-task.ts'
import type { Style } from '../reporters/style.ts'
import { type Log, runStream } from '../store/log.ts'
import type { Store } from '../store/sqlite.ts'
import { type Advice, effectWords, type Needed, runWords, taskAdvice, taskWords } from './explain-text.ts'
import { findTask } from './find-task.ts'
import { heldFix } from './held-fix.ts'
import { engineNow, nothingYet, openForLooking, openOrRefuse, withStore } from './look.ts'
import { type ProjectOption, projectRoot } from './project.ts'
import { printJson, terminal } from './terminal.ts'

export type ExplainOptions = ProjectOption & { task?: string; json?: boolean }

/** What `ralph explain --json` prints. Every sentence comes from the journal. */
export type Explanation = {
  task: string | null
  status: TaskStatus | null
  /** Why it stopped, or goes on. */
  why: string[]
  /** What an engine would do now; null when nothing is left to choose. */
  next: { task: string; action: string; because: string } | null
  /** Tasks that are in the way of the end, with the reason of each. */
  stopped: { task: string; status: TaskStatus; why: string }[]
  /** What a person can do now. */
  advice: Advice[]
  /** What mends the fault of an agent that is in the way. */
  fix?: string
}

/** `ralph explain`: why it stopped, why it goes on, what comes next. */
export async function explain(options: ExplainOptions): Promise<void> {
  const root = projectRoot(options)
  const { task: id, json } = options
  const screen = terminal()
  const print = (explanation: Explanation, title: string) =>
    json ? printJson(explanation) : screen.out(explanationText(explanation, title, screen.style))
  if (id !== undefined) {
    return withStore(await openOrRefuse(root), async ({ log }) => {
      const { state } = await findTask(log, id)
      print(await explainTask(log, state, Date.now()), `${id} ${state.task.title}`)
    })
  }
  const store = await openForLooking(root)
  if (!store) return print(nothingRan, '')
  await withStore(store, async () => print(await explainBacklog(store, Date.now()), ''))
}

const nothingRan: Explanation = {
  task: null,
  status: null,
  why: [`${nothingYet}.`],
  next: null,
  stopped: [],
  advice: [{ command: 'ralph run', does: 'begin' }],
}

async function explainTask(log: Log, state: TaskState, now: number): Promise<Explanation> {
  const run = await log.lastRun()
  const rules = run?.rules ?? null
  const strict = await wasStrict(log, run)
  const needs: Needed[] = []
  for (const id of state.status === 'open' ? state.task.needs : []) {
    const status = (await log.task(id))?.state.status ?? 'not in the backlog'
    if (status !== 'done') needs.push({ id, status })
  }
  const fix = state.status === 'held' ? await heldFix(log, state.task.id) : null
  return {
    ...(fix ? { fix } : {}),
    task: state.task.id,
    status: state.status,
    why: taskWords(state, { rules, needs, strict, now }),
    next: null,
    stopped: [],
    advice: taskAdvice(state),
  }
}

const stoppedStatuses: TaskStatus[] = ['halted', 'failed', 'held', 'cancelled']

async function explainBacklog({ log, dispatch }: Store, now: number): Promise<Explanation> {
  const run = await log.lastRun()
  const rules = run?.rules ?? null
  const engine = await engineNow(dispatch, now)
  const why = runWords(run, engine, now)
  for (const { kind, task, by } of await dispatch.pending()) {
    why.push(`${by} asked for: ${[kind, task].filter(Boolean).join(' ')}; nobody has taken it up yet.`)
  }
  if (run && rules && run.status === 'open') {
    const budget = checkBudget(rules.workflow.limits, run, now)
    why.push(...budget.warnings.map(text => `${text}.`))
    if (budget.type === 'spent') why.push(`The budget is used up: ${budget.reason}.`)
  }
  const stopped = (await log.tasks({ status: stoppedStatuses })).map(({ id, state }) => ({
    task: id,
    status: state.status,
    why: state.note,
  }))
  const next = await nextWords(log, now)
  if (!next && stopped.length === 0) {
    const { done, open } = await log.counts()
    if (open > 0)
      why.push(
        `${plural(open, 'open task')} cannot be chosen: with --strict-deps a task waits for its needs.`,
      )
    else why.push(done > 0 ? 'Every task is done; nothing is left to choose.' : 'The backlog is empty.')
  }
  const fix = engine?.alive ? null : await heldFix(log)
  return { task: null, status: null, why, next, stopped, advice: advice(), ...(fix ? { fix } : {}) }

  function advice(): Advice[] {
    const first = stopped[0]
    if (engine?.alive) return [{ command: 'ralph status --watch', does: 'look on' }]
    const list: Advice[] = []
    if (first) list.push({ command: `ralph explain ${first.task}`, does: 'more about that task' })
    if (first) list.push({ command: 'ralph retry', does: 'begin anew with all that stopped' })
    if (run?.paused && run.status === 'open') list.push({ command: 'ralph resume', does: 'end the pause' })
    if (next || first) list.push({ command: 'ralph run', does: 'go on' })
    return list.length > 0 ? list : [{ command: 'ralph evidence', does: 'what proves it' }]
  }

  async function nextWords(from: Log, at: number): Promise<Explanation['next']> {
    const choice = await chooseTask(from, { only: null, strict: await wasStrict(from, run) }, at)
    if (choice.type === 'none') return null
    const id = choice.type === 'task' ? choice.id : await firstWaiting(from, choice.until)
    const state = id === null ? undefined : (await from.task(id))?.state
    if (id === null || !state?.next) return null
    const because = isBegun(state)
      ? 'its work has begun and stands in the tree'
      : `it is the first open task by ${rules?.workflow.select ?? 'order'}`
    const wait =
      choice.type === 'wait' ? `; not before ${ago(choice.until - at)} from now: ${state.note}` : ''
    return { task: id, action: effectWords(state.next, state, rules), because: `${because}${wait}` }
  }
}

/** Whether the run passes over tasks whose needs are not done, by the flag or the configuration it was started with. */
async function wasStrict(log: Log, run: RunState | null): Promise<boolean> {
  if (!run) return false
  for await (const { event } of log.events({ stream: runStream(run.id), limit: 1 }))
    return event.type === 'run.started' && event.options.strict === true
  return false
}

async function firstWaiting(log: Log, until: number): Promise<string | null> {
  for await (const candidate of log.candidates()) if (candidate.waitUntil === until) return candidate.id
  return null
}

/** Stopped tasks that are named. */
const listed = 10

function explanationText(
  { why, next, stopped, advice, fix }: Explanation,
  title: string,
  style: Style,
): string {
  const lines = title ? [style.bold(title)] : []
  lines.push(...why)
  if (next) lines.push(`Next: ${next.task}: ${next.action}, because ${next.because}.`)
  for (const { task, status, why: reason } of stopped.slice(0, listed)) {
    lines.push(`${style.red('✗')} ${task} is ${status}${reason ? `: ${oneLine(reason)}` : ''}`)
  }
  if (stopped.length > listed) lines.push(`… and ${stopped.length - listed} more`)
  const width = Math.max(...advice.map(one => one.command.length), 0)
  for (const { command, does } of advice) lines.push(`  → ${command.padEnd(width)}  ${style.dim(does)}`)
  if (fix) lines.push(`  → ${fix}`)
  return `${lines.join('\n')}\n`
}
