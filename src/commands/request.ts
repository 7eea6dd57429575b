import { userInfo } from 'node:os'
import { UserError } from '../core/errors.ts'
import type { TaskState } from '../core/state.ts'
import type { StoredTask } from '../store/log.ts'
import type { Store } from '../store/sqlite.ts'
import { findByLabel, unknownTask } from './find-task.ts'
import { engineNow, openForLooking } from './look.ts'
import { type ProjectOption, projectRoot, projectSettings } from './project.ts'
import { type Answer, type Asked, requestText } from './request-text.ts'
import { printJson, terminal } from './terminal.ts'

export type RequestOptions = ProjectOption & {
  kind: Asked['kind']
  task?: string
  text: string
  json?: boolean
}

/** How long a running engine is given to answer. A cancelled agent that is deaf to TERM is killed only after a while. */
const patience = (kind: Asked['kind']) => (kind === 'cancel' ? 10_000 : 3_000)

/** `ralph cancel|pause|resume|retry|steer`: the request is stored, so it holds whether or not an engine runs now. */
export async function request(given: RequestOptions): Promise<void> {
  const root = projectRoot(given)
  const looked = await openForLooking(root)
  const known = looked && given.task !== undefined ? await knownTask(looked, given.task) : null
  const options = known ? { ...given, task: known.id } : given
  const task = options.task ?? null
  const state = known?.state ?? null
  try {
    if (task !== null && !state) await refuseUnknown(root, task, looked)
    await refuseUseless(options, looked, state)
  } catch (error) {
    looked?.close()
    throw error
  }
  const store = looked ?? (await makeStore(root))
  try {
    const asked = await describe(options, store, state)
    const { id, answer } = await ask(options, store)
    const { ok, text } = requestText(asked, answer)
    if (!ok) throw new UserError(text, '`ralph status` shows where everything stands.')
    if (options.json) {
      const result = answer.type === 'taken' ? answer.result : null
      printJson({ request: id, kind: options.kind, task, answer: answer.type, result, message: text })
    } else terminal().out(`${text}\n`)
  } finally {
    store.close()
  }
}

async function knownTask(store: Store, id: string): Promise<StoredTask | null> {
  try {
    return (await store.log.task(id)) ?? (await findByLabel(store.log, id))
  } catch (error) {
    store.close()
    throw error
  }
}

/** To ask for something is more than a look: where there is no journal yet, it is made. */
async function makeStore(root: string): Promise<Store> {
  const { openProjectStore } = await import('../engine/home.ts')
  return openProjectStore(root)
}

/** A task that no run has seen yet may stand in the backlog's files. */
async function refuseUnknown(root: string, task: string, store: Store | null): Promise<void> {
  const { prepareBacklog } = await import('../engine/prepare.ts')
  const inFiles = (await prepareBacklog(root, await projectSettings(root))).tasks.map(one => one.id)
  if (inFiles.includes(task)) return
  const inJournal = store ? (await store.log.tasks()).map(one => one.id) : []
  throw unknownTask(task, [...new Set([...inFiles, ...inJournal])])
}

/** What could only surprise somebody later is refused now. */
async function refuseUseless(
  { kind, task }: RequestOptions,
  store: Store | null,
  state: TaskState | null,
): Promise<void> {
  if (kind === 'cancel' && task === undefined) {
    const engine = store && (await engineNow(store.dispatch, Date.now()))
    if (!engine?.alive)
      throw new UserError('nothing is running', '`ralph cancel <task>` takes one task out of the next run.')
  }
  if (kind === 'cancel' && state && state.status !== 'open' && state.status !== 'held') {
    throw new UserError(
      `task ${task} is ${state.status}; there is nothing to cancel`,
      `\`ralph explain ${task}\` tells more.`,
    )
  }
  if (kind === 'steer' && state?.status === 'done') {
    throw new UserError(
      `task ${task} is done; no agent would be told`,
      `\`ralph retry ${task}\` would begin it anew.`,
    )
  }
  if (kind === 'retry' && task === undefined && !(store && (await somethingStopped(store)))) {
    throw new UserError(
      'nothing has stopped and nothing waits',
      '`ralph retry <task>` begins a done task anew; `ralph run` goes on.',
    )
  }
}

async function somethingStopped({ log }: Store): Promise<boolean> {
  const { halted, failed, held, cancelled } = await log.counts()
  if (halted + failed + held + cancelled > 0) return true
  for await (const candidate of log.candidates()) if (candidate.waitUntil > 0) return true
  return false
}

async function describe(
  { kind, task }: RequestOptions,
  { log }: Store,
  state: TaskState | null,
): Promise<Asked> {
  const run = await log.lastRun()
  let under: Asked['under'] = null
  for await (const candidate of log.candidates()) {
    const step = candidate.begun ? (await log.task(candidate.id))?.state.step : null
    if (step) under = { task: candidate.id, stage: step.stage, since: step.at }
    break
  }
  return { kind, task: task ?? null, state, under, rules: run?.rules ?? null, now: Date.now() }
}

async function ask(options: RequestOptions, { dispatch }: Store): Promise<{ id: number; answer: Answer }> {
  const { kind, task = null, text } = options
  const id = await dispatch.file({ kind, task, text, by: whoAsks(), at: Date.now() })
  const end = Date.now() + patience(kind)
  for (;;) {
    const taken = (await dispatch.requests(100)).find(one => one.id === id)
    if (taken && taken.takenAt !== null) return { id, answer: { type: 'taken', result: taken.result ?? '' } }
    const engine = await engineNow(dispatch, Date.now())
    if (!engine?.alive) return { id, answer: await withoutEngine() }
    if (Date.now() >= end) return { id, answer: { type: 'waiting' } }
    await new Promise(resolve => setTimeout(resolve, 50))
  }

  /** A stop that nobody heard must not stop the next run. */
  async function withoutEngine(): Promise<Answer> {
    if (kind !== 'cancel' || task !== null) return { type: 'no-engine' }
    const result = 'the run had ended already'
    await dispatch.take(id, result, Date.now())
    return { type: 'taken', result }
  }
}

function whoAsks(): string {
  try {
    return userInfo().username
  } catch {
    // A user without an entry in the system's list, as in many containers.
    return 'somebody'
  }
}
