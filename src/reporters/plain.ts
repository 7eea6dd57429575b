import type { AnyEvent } from '../core/event.ts'
import type { RunState } from '../core/run.ts'
import type { TaskState } from '../core/state.ts'
import { describeEvent, type Line } from './describe.ts'
import type { Reporter } from './reporter.ts'
import type { Style } from './style.ts'

export type Print = (
  event: AnyEvent,
  view: { state: TaskState | null; run: RunState },
) => string | null | undefined

/** Lines for a terminal. Quiet by default: what was tried, how it was judged, what comes next. */
export function plainReporter(options: {
  write: (text: string) => void
  style: Style
  verbose: boolean
  /** The preset's own words for an event; null = none at all, undefined = Ralph's. */
  print?: Print | undefined
  /** Where the agents' words go that are not asked for with `verbose`. */
  live?: ((text: string) => void) | undefined
}): Reporter {
  const { write, style, verbose, print } = options
  const writeOutput = verbose ? write : options.live
  const marks: Record<Line['mark'], string> = {
    start: style.cyan('▶'),
    ok: style.green('✓'),
    bad: style.red('✗'),
    wait: style.yellow('…'),
    info: style.dim('·'),
    done: style.green('●'),
  }
  return {
    event: (event, { state, run }) => {
      const own = print?.(event, { state, run })
      if (own !== undefined) return own === null ? undefined : write(`${own}\n`)
      const line = describeEvent(event, state, run.rules?.workflow)
      if (!line) return
      const text = line.mark === 'done' ? style.bold(line.text) : line.text
      write(`${marks[line.mark]} ${text}\n`)
      for (const more of line.more) write(`    ${style.dim(more)}\n`)
    },
    note: note => {
      const mark = { info: marks.info, warning: style.yellow('!'), error: style.red('✗') }[note.level]
      write(
        note.text
          .split('\n')
          .map(text => `${mark} ${text}\n`)
          .join(''),
      )
    },
    output: (_task, event) => {
      if (!writeOutput) return
      if (event.type === 'tool') writeOutput(`    ${style.dim(`[${event.name}] ${event.input}`)}\n`)
      else
        writeOutput(
          event.text
            .split('\n')
            .map(text => `    ${event.type === 'notice' ? style.dim(text) : text}\n`)
            .join(''),
        )
    },
    commandOutput: (_task, line) => {
      if (verbose) write(`    ${style.dim(line)}\n`)
    },
  }
}
