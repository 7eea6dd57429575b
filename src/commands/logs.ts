import { isRunEvent } from '../core/event.ts'
import { newRunState } from '../core/run.ts'
import { timestamp } from '../reporters/log-file.ts'
import { plainReporter } from '../reporters/plain.ts'
import type { Style } from '../reporters/style.ts'
import type { Log, StoredEvent } from '../store/log.ts'
import { createTeller, pagesFromEnd, type Told } from './event-lines.ts'
import { findTask } from './find-task.ts'
import { nothingYet, openForLooking } from './look.ts'
import { type ProjectOption, projectRoot } from './project.ts'
import { terminal } from './terminal.ts'
import { watch } from './watch.ts'

export type LogsOptions = ProjectOption & { task?: string; follow?: boolean; lines: number; json?: boolean }

/** `ralph logs`: the events of the journal as lines, in the words the run used itself. */
export async function logs(options: LogsOptions): Promise<void> {
  const root = projectRoot(options)
  const { json = false, lines: most } = options
  const screen = terminal()
  const print = (told: Told) =>
    screen.out(json ? jsonLine(told) : told.line ? textLine(told, screen.style) : '')

  if (!options.follow) {
    const store = await openForLooking(root)
    if (!store) return screen.out(json ? '' : `${nothingYet}\n  → next: ralph run\n`)
    try {
      for (const told of await lastLines(store.log, { task: options.task, most, json })) print(told)
    } finally {
      store.close()
    }
    return
  }

  let after: number | null = null
  let tell: ReturnType<typeof createTeller> | null = null
  await watch({
    root,
    tick: false,
    show: async store => {
      if (!store) return json ? undefined : screen.err(`${nothingYet}; waiting for it\n`)
      if (after === null || !tell) {
        after = await store.log.lastId()
        tell = createTeller(store.log)
        for (const told of await lastLines(store.log, { task: options.task, most, json, upTo: after }))
          print(told)
      }
      for await (const stored of store.log.events({ after, ...(await stream(store.log, options.task)) })) {
        after = stored.id
        print(await tell(stored))
      }
    },
  })
}

async function stream(log: Log, task: string | undefined): Promise<{ stream?: string }> {
  return task === undefined ? {} : { stream: (await findTask(log, task)).id }
}

type Wanted = { task: string | undefined; most: number; json: boolean; upTo?: number }

/** The last `most` events that have something to say (with `json`: all count), oldest first. */
export async function lastLines(log: Log, { task, most, json, upTo }: Wanted): Promise<Told[]> {
  const counts = (told: Told) => (json || told.line !== null) && (upTo === undefined || told.id <= upTo)
  if (task !== undefined) {
    const { id } = await findTask(log, task)
    return (await tellAll(log, log.events({ stream: id }))).filter(counts).slice(-most)
  }
  let found: Told[] = []
  for await (const page of pagesFromEnd(log)) {
    found = [...(await tellAll(log, page)).filter(counts), ...found]
    if (found.length >= most) break
  }
  return found.slice(-most)
}

async function tellAll(
  log: Log,
  events: Iterable<StoredEvent> | AsyncIterable<StoredEvent>,
): Promise<Told[]> {
  const tell = createTeller(log)
  const all: Told[] = []
  for await (const stored of events) all.push(await tell(stored))
  return all
}

/** One event per line, as `ralph run --json` prints them, with its number in the journal. */
function jsonLine({ id, stream, event, state }: Told): string {
  const task = isRunEvent(event) ? {} : { task: stream, status: state?.status }
  return `${JSON.stringify({ id, ...event, ...task })}\n`
}

/** The plain reporter's own words and marks, with the time before them. */
function textLine({ stream, event, state, rules }: Told, style: Style): string {
  const time = timestamp(event.at)
  let text = ''
  const reporter = plainReporter({
    verbose: false,
    style,
    write: part => {
      text += text === '' ? `${style.dim(time)} ${part}` : `${' '.repeat(time.length + 1)}${part}`
    },
  })
  reporter.event?.(event, { stream, state, run: { ...newRunState(event.run), rules } })
  return text
}
