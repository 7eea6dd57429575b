import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import cleanup from '../../../templates/stepwise/cleanup.md?raw'
import fix from '../../../templates/stepwise/fix.md?raw'
import implementation from '../../../templates/stepwise/implementation.md?raw'
import review from '../../../templates/stepwise/review.md?raw'
import sync from '../../../templates/stepwise/sync.md?raw'
import { isRecord } from '../../core/backlog-document.ts'
import { bullets, type PromptFacts, quotation, type Values } from '../../core/prompt.ts'
import type { Project, PromptAbout } from '../layout.ts'
import { decisionLog } from './decision-log.ts'
import { proposalPath } from './outputs.ts'
import { readPlan } from './plan-file.ts'
import { aboutTask, hasSlashCommands, slashCommand } from './slash-commands.ts'
import { readTaskFiles, reportPath, specFolder, specOf } from './task-file.ts'

/** One per agent step. With the seed's commands at hand the prompt is the command and nothing else. */
export const stepTemplates: Record<string, string> = { implementation, review, fix, cleanup, sync }

export function stepValues(project: Project, facts: PromptFacts, { state, stage }: PromptAbout): Values {
  const { root, settings } = project
  const { id, spec: path } = state.task
  const spec = specOf(id)
  const about = aboutTask(id, facts.label, path, readTaskFiles(root, spec))
  const report = reportPath(path)
  const learnt = [...planLearnings(root, spec), ...facts.learnings]
  return {
    slash: hasSlashCommands(project, facts.agent ?? '') ? 'yes' : '',
    command: slashCommand(stage, about),
    taskFile: path,
    specFolder: specFolder(spec),
    lang: about.lang ?? '',
    report,
    reportText: stage === 'fix' ? reportText(root, report) : '',
    decisionLog: decisionLog(spec),
    proposal: proposalPath(spec, facts.label),
    applySync: settings.applySpecSync === true ? 'yes' : '',
    // What was learnt at one task helps at the next (G-09).
    learnings: bullets([...new Set(learnt)], { items: 20, characters: 300 }),
  }
}

/** The whole report is in the file; the prompt quotes so much of it that its size stays bounded. */
function reportText(root: string, path: string): string {
  try {
    return quotation(readFileSync(join(root, path), 'utf8')).join('\n')
  } catch {
    return ''
  }
}

function planLearnings(root: string, spec: string): string[] {
  const stored = readPlan(root, spec)
  if (stored.kind !== 'ok') return []
  return stored.plan.learnings.slice(-20).flatMap(one => {
    const text = isRecord(one) ? one.text : one
    return typeof text === 'string' ? [text] : []
  })
}
