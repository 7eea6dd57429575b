import type { Settings } from '../config/settings.ts'
import { newTaskState } from '../core/state.ts'
import type { Rules } from '../core/transition.ts'
import { stageOf } from '../core/workflow.ts'
import type { Scope } from '../engine/choose-task.ts'
import type { Prepared } from '../engine/prepare.ts'
import { renderPrompt } from '../engine/render-prompt.ts'
import { terminal } from './terminal.ts'

/** Lines of each prompt that a dry run shows (S4-38). */
const shown = 20

/** Prints the prompts of the stories that would come; calls no agent, writes nothing. Each story once (H-25). */
export function dryRun(options: {
  root: string
  settings: Settings
  rules: Rules
  prepared: Prepared
  scope: Scope
  limit: number | null
}): void {
  const { settings, rules, prepared, scope, limit } = options
  const { out, style } = terminal()
  const done = new Set(
    prepared.layout.recorded(prepared.project).flatMap(one => (one.stage === undefined ? [one.id] : [])),
  )
  const open = prepared.tasks.filter(
    task => !done.has(task.id) && (scope.only === null || scope.only.has(task.id)),
  )
  const previewed = limit === null ? open : open.slice(0, limit)
  const first = firstAgentStage(rules)
  for (const task of previewed) {
    if (first === null) continue
    const prompt = renderPrompt(
      {
        layout: prepared.layout,
        project: prepared.project,
        settings,
        verify: rules.verify === 'none' ? [] : rules.verify,
        rules,
        run: { iterations: 0 },
      },
      newTaskState(task),
      first,
    )
    const lines = prompt.split('\n')
    out(`${style.bold(`Story ${task.id}: ${task.title}`)}\n`)
    out(`${lines.slice(0, shown).join('\n')}\n`)
    if (lines.length > shown) out(`${style.dim(`… ${lines.length - shown} more lines`)}\n`)
    out('\n')
  }
  out(`Dry run: ${previewed.length} of ${open.length} open stories shown; nothing was run or written.\n`)
}

/** The first agent that a task meets: the workflow may begin with something the engine does. */
function firstAgentStage({ workflow }: Rules): string | null {
  let name = workflow.start
  for (let seen = 0; seen < Object.keys(workflow.stages).length; seen++) {
    const stage = stageOf(workflow, name)
    if (stage?.kind === 'agent') return name
    const pass = stage?.on.pass
    if (pass === undefined) return null
    name = typeof pass === 'string' ? pass : pass.to
  }
  return null
}
