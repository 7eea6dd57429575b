import implement from '../../../templates/gated/implement.md?raw'
import quality from '../../../templates/gated/quality.md?raw'
import spec from '../../../templates/gated/spec.md?raw'
import { type PromptFacts, quiet, quotation, type Values } from '../../core/prompt.ts'
import { readSignals } from '../../core/signals.ts'
import type { TaskState } from '../../core/state.ts'
import { isStuck } from '../../core/transition.ts'
import type { Project, PromptAbout } from '../layout.ts'
import { fileContext, missingThings } from './missing.ts'
import { planPath, readPlan } from './plan-file.ts'
import { stateText } from './state-text.ts'
import { tellingLine } from './telling-line.ts'

export const gatedTemplates: Record<string, string> = { implement, spec, quality }

/** The rules of an implementer, unless the project has its own. */
const defaultRules = ['Do this one task, the whole of it and nothing else.']

/** What the seed's templates speak of: the criteria, the state file's content, and the directive of a strategy shift. */
export function gatedValues(project: Project, facts: PromptFacts, { state, rules }: PromptAbout): Values {
  const attempts = rules.workflow.limits.attempts ?? facts.attempts
  const tried = state.history.length > 0
  const stuck = isStuck(rules, state)
  return {
    criteria: criteriaText(project, facts),
    stuck: stuck ? 'yes' : '',
    previous: tried ? silent(stateText(state, attempts)).trimEnd() : 'First attempt',
    times: `${Math.max(state.stuck.same, 1)}x`,
    forbidden: forbidden(state),
    trace: trace(state),
    context: stuck ? expansion(project, state) : '',
    plan: `\`${quiet(planPath(project), 200)}\``,
    ...(facts.rules.length > 0 ? {} : { rules: defaultRules.map(rule => `- ${rule}`).join('\n') }),
  }
}

function criteriaText(project: Project, facts: PromptFacts): string {
  const task = readPlan(project).tasks.find(one => one.id === facts.id)
  const own = task?.criteria.map(criterion => criterion.text) ?? []
  const all = own.length > 0 ? own : ['Everything that the task asks for is there', 'All tests pass']
  return all.map(text => `- [ ] ${quiet(text, 500)}`).join('\n')
}

/** Verbatim, but for lines that would be taken for a signal if an agent repeated them: these become quotations. */
function silent(text: string): string {
  return text
    .replace(/\r\n?/gu, '\n')
    .split('\n')
    .map(line => (looksLikeSignal(line) ? `> ${quiet(line, 2000)}` : line))
    .join('\n')
}

/** Also where tags stand side by side, which nobody reads as a signal today. */
function looksLikeSignal(line: string): boolean {
  return /<\/(?:ralph|promise)>\s*$/u.test(line) || readSignals(line, '').length > 0
}

/** What must not be tried again: the error it ends in, and the places where it was tried. */
function forbidden({ recent, stuck }: TaskState): string {
  const last = recent.at(-1)
  if (!last) return ''
  const same = recent.filter(failure => failure.stage === last.stage)
  const files = [...new Set(same.flatMap(failure => failure.files ?? []))].slice(0, 10)
  const line = tellingLine(last)
  return [
    `- repeat what ends in: ${quiet(last.reason, 300)}${line === '' ? '' : ` (${quiet(line, 300)})`}`,
    ...(files.length > 0
      ? [`- change ${quiet(files.join(', '), 600)} in the way that failed ${stuck.same} times`]
      : []),
  ].join('\n')
}

function trace({ recent }: TaskState): string {
  const last = recent.at(-1)
  return last ? quotation(last.detail || last.reason).join('\n') : ''
}

/** S3-30, C-38: on the second shift, and only when the error says that something was not found. */
function expansion(project: Project, { recent, stuck }: TaskState): string {
  const last = recent.at(-1)
  if (!last || stuck.shifts < 1) return ''
  const missing = missingThings(`${last.reason}\n${last.detail}`)
  return missing.length > 0 ? fileContext(project.root, missing) : ''
}
