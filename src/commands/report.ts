import { UserError } from '../core/errors.ts'
import { addToSummary, newSummaryFold, type Summary, summarise } from '../core/summary.ts'
import { layoutOf } from '../engine/prepare.ts'
import type { Log } from '../store/log.ts'
import { nothingYet, openOrRefuse, withStore } from './look.ts'
import { type ProjectOption, projectRoot, projectSettings } from './project.ts'
import { reportText } from './report-text.ts'
import { printJson, terminal } from './terminal.ts'

export type ReportOptions = ProjectOption & { json?: boolean }

/** `ralph report`: what came of the backlog, in Markdown or JSON. The preset's own summary comes first where it has one. */
export async function report(options: ReportOptions): Promise<void> {
  const root = projectRoot(options)
  const settings = await projectSettings(root)
  const { layout, project } = await layoutOf(root, settings)
  await withStore(await openOrRefuse(root), async ({ log }) => {
    const run = await log.lastRun()
    if (!run?.rules) throw new UserError(nothingYet, 'Begin with `ralph run`.')
    const { rules } = run
    const { summary, states } = await readSummary(log, rules.workflow)
    if (options.json) {
      const { id, startedAt, endedAt, end, message } = run
      return printJson({
        preset: rules.workflow.name,
        run: { id, startedAt, endedAt, end, message },
        ...summary,
      })
    }
    const own = layout.report?.(project, {
      ...{ tasks: states, events: [], rules, run, end: run.end, now: Date.now() },
      attempts: rules.workflow.limits.attempts ?? 0,
    })
    const text = reportText(summary, {
      preset: rules.workflow.name,
      noun: rules.workflow.noun ?? 'task',
      run,
    })
    terminal().out([...(own === undefined ? [] : [own.trimEnd(), '']), text].join('\n'))
  })
}

async function readSummary(log: Log, workflow: Parameters<typeof summarise>[2]) {
  const fold = newSummaryFold()
  for await (const { stream, event } of log.events()) addToSummary(fold, stream, event)
  const states = (await log.tasks()).map(one => one.state)
  const summary: Summary = summarise(states, fold, workflow)
  return { summary, states }
}
