import { isAbsolute, join } from 'node:path'
import type { Settings } from '../config/settings.ts'
import { jsonReporter } from '../reporters/json.ts'
import { logFileReporter } from '../reporters/log-file.ts'
import { multiplex } from '../reporters/multiplexer.ts'
import { type Print, plainReporter } from '../reporters/plain.ts'
import type { Reporter } from '../reporters/reporter.ts'
import { terminal } from './terminal.ts'

export type RunReporters = {
  report: Required<Reporter>
  /** Text for people that is no event: the banner, the last words. Not printed with `--json`. */
  print(text: string): void
  end(): Promise<void>
}

/** Who listens to a run: the terminal (or JSON lines) and the log file. */
export function createReporters(options: {
  root: string
  settings: Settings
  json: boolean
  verbose: boolean
  print?: Print
}): RunReporters {
  const { root, settings, json, verbose, print } = options
  const screen = terminal()
  const live = settings.workflow.live ? screen.err : undefined
  const view = json
    ? jsonReporter(screen.out)
    : plainReporter({ write: screen.out, style: screen.style, verbose, print, live })
  const log = logFileReporter(isAbsolute(settings.log) ? settings.log : join(root, settings.log), () =>
    Date.now(),
  )
  const report = multiplex([view, log], text => screen.err(`ralph: ${text}\n`))
  return {
    report,
    print: text => {
      if (!json && text !== '') screen.out(`${text}\n`)
    },
    end: async () => report.end(),
  }
}
