import { describeEvent, type Line } from './describe.ts'
import type { Reporter } from './reporter.ts'
import type { Style } from './style.ts'

/** Lines for a terminal. Quiet by default: what was tried, how it was judged, what comes next. */
export function plainReporter(options: {
  write: (text: string) => void
  style: Style
  verbose: boolean
}): Reporter {
  const { write, style, verbose } = options
  const marks: Record<Line['mark'], string> = {
    start: style.cyan('▶'),
    ok: style.green('✓'),
    bad: style.red('✗'),
    wait: style.yellow('…'),
    info: style.dim('·'),
    done: style.green('●'),
  }
  return {
    event: (event, { state }) => {
      const line = describeEvent(event, state)
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
      if (!verbose) return
      if (event.type === 'tool') write(`    ${style.dim(`[${event.name}] ${event.input}`)}\n`)
      else
        write(
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
