import { capital, duration } from '../core/text.ts'
import type { Scope } from '../engine/choose-task.ts'
import type { Context } from '../engine/context.ts'
import type { RunResult } from '../engine/engine.ts'
import { storedUnmerged, type Unmerged } from '../engine/unmerged.ts'

/** The seed's banner: what this run may use, where its log is, what was asked for (S4-65). */
export function startText(
  context: Context,
  scope: Scope,
  asked: { task?: string; story?: string; from?: string },
): string {
  const { limits, stages, iteration, noun = 'task' } = context.journal.rules.workflow
  const timeout = Object.values(stages).find(stage => stage.kind === 'agent')?.time?.hard
  const story = asked.task ?? asked.story
  const rows = [
    ['Iterations', limits.iterations === undefined ? 'no limit' : String(limits.iterations)],
    [
      'Timeout',
      timeout ? `${Math.round(timeout / 1000)}s per ${iteration === 'attempt' ? noun : 'call'}` : 'none',
    ],
    ['Log', context.settings.log],
    ...(story ? [[capital(noun), story]] : []),
    ...(asked.from ? [['From', asked.from]] : []),
    ...(scope.strict ? [['Dependencies', 'strict']] : []),
  ].map(([name, value]) => `${String(name).padEnd(12)} ${value}`)
  return box('RALPH LOOP', rows)
}

/** The last words of a run: what came of it, and what to type next. */
export async function endText(context: Context, result: RunResult): Promise<string> {
  const run = context.journal.run()
  const spent = [
    duration(context.clock.now() - run.startedAt),
    `${run.iterations} iterations`,
    run.costUsd > 0 ? `$${run.costUsd.toFixed(2)}` : '',
    run.unknownCosts > 0 ? `cost of ${run.unknownCosts} calls unknown` : '',
  ].filter(Boolean)
  const tail = `${result.message} (${spent.join(', ')})`
  const waiting = (await storedUnmerged(context.store.log)).map(mergeLine).join('')
  if (result.reason === 'complete') return `\nALL COMPLETE!\n${tail}\n  → ralph evidence${waiting}`
  if (result.reason !== 'halted') return `\nNot complete: ${tail}\n  → ralph explain${waiting}`
  const halted = (await context.store.log.tasks({ status: ['halted'] }))[0]
  const id = halted?.id ?? ''
  return [
    '',
    box('MAX RETRIES EXCEEDED', [
      `${capital(context.journal.rules.workflow.noun ?? 'task')} ${id}: ${halted?.state.note ?? ''}`,
      'Human intervention required.',
    ]),
    `Not complete: ${tail}`,
    `  → look:   ralph explain ${id}    ralph show`,
    `  → retry:  ralph run -s ${id}${waiting}`,
  ].join('\n')
}

function mergeLine({ branch, why }: Unmerged): string {
  return `\n  → git merge ${branch}    # ${why}`
}

function box(title: string, rows: string[]): string {
  const width = Math.max(title.length, ...rows.map(row => [...row].length), 40)
  const line = (text: string) => `║ ${text}${' '.repeat(width - [...text].length)} ║`
  return [
    `╔${'═'.repeat(width + 2)}╗`,
    line(title),
    `╠${'═'.repeat(width + 2)}╣`,
    ...rows.map(line),
    `╚${'═'.repeat(width + 2)}╝`,
  ].join('\n')
}
