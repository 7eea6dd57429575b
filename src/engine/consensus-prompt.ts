import builtIn from '../../templates/engine/consensus.md?raw'
import type { ConsensusRule } from '../core/consensus.ts'
import { bullets, quiet, renderTemplate } from '../core/prompt.ts'
import type { Context } from './context.ts'
import { allTasks } from './known-tasks.ts'
import { templateText } from './render-prompt.ts'

export type Question = { rule: ConsensusRule; base: string; head: string; reviewer: number }

/** What a reviewer of the whole is told: the tasks, the change, nothing of how it came about. */
export async function consensusPrompt(
  context: Context,
  { rule, base, head, reviewer }: Question,
): Promise<string> {
  const { layout, store, workspace, verify } = context
  const tasks = (await allTasks(store.log)).filter(state => state.status === 'done')
  const changed = await workspace.changedBetween(base, head)
  const template = templateText(
    { ...context, layout: { ...layout, templates: { consensus: builtIn, ...layout.templates } } },
    'consensus',
  )
  return renderTemplate(template, {
    tasks: tasks
      .map(({ task }) => `- ${quiet(task.label ?? task.id, 100)}: ${quiet(task.title, 200)}`)
      .join('\n'),
    files: bullets(
      changed.map(file => file.path),
      { items: 100, characters: 200 },
    ),
    checks: verify.map(command => `\`${quiet(command, 500)}\``).join(', '),
    base,
    head,
    reviewer: String(reviewer),
    reviewers: String(rule.reviewers),
    quorum: String(rule.quorum),
  })
}
