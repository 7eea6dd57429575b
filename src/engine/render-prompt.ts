import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentsFor } from '../config/settings.ts'
import { UserError } from '../core/errors.ts'
import { noProgress } from '../core/failure.ts'
import { commonValues, type PromptFacts, renderTemplate } from '../core/prompt.ts'
import type { RunState } from '../core/run.ts'
import type { TaskState } from '../core/state.ts'
import { labelOf } from '../core/task.ts'
import { isStuck, type Rules } from '../core/transition.ts'
import { type AgentStage, stageOf } from '../core/workflow.ts'
import { gateCommands } from '../gates/verify.ts'
import type { Context } from './context.ts'

export type PromptContext = Pick<Context, 'project' | 'layout' | 'verify' | 'settings'> & {
  rules: Rules
  run: Pick<RunState, 'iterations'>
  /** Whom the prompt is for; without it the first agent of the stage. */
  reader?: string
}

/**
 * The prompt of one attempt: the stage's template, filled in. Everything in it comes from files and the journal; its
 * size stays flat as history grows.
 */
export function renderPrompt(context: PromptContext, state: TaskState, stageName: string): string {
  const { layout, project, rules } = context
  const stage = stageOf(rules.workflow, stageName)
  if (stage?.kind !== 'agent') throw new Error(`no agent stage ${stageName}`)
  const facts = promptFacts(context, state, stageName, stage)
  const own = layout.values?.(project, facts, { state, rules, stage: stageName }) ?? {}
  const template = templateText(context, stage.prompt)
  const whole = layout.compose?.(project, template, stageName) ?? template
  return renderTemplate(whole, { ...commonValues(facts), ...own })
}

function promptFacts(
  { layout, project, settings, verify, rules, run, reader }: PromptContext,
  state: TaskState,
  stageName: string,
  stage: AgentStage,
): PromptFacts {
  const { workflow } = rules
  const visits = Object.hasOwn(state.visits, stageName) ? (state.visits[stageName] ?? 0) : 0
  return {
    id: state.task.id,
    label: labelOf(state.task),
    title: state.task.title,
    noun: workflow.noun ?? 'task',
    stage: stageName,
    role: stage.role,
    agent: reader ?? agentsFor(settings.agents, stage)[0]?.name ?? '',
    spec: layout.spec(project, state.task),
    commands: gateCommands(verify, state.task.verify).map(one => one.command),
    rules: settings.rules,
    failures: state.recent.map(({ attempt, stage, reason, detail }) => ({ attempt, stage, reason, detail })),
    learnings: state.learnings,
    steering: state.steering,
    attempt: state.failures + 1,
    attempts: workflow.limits.attempts ?? 0,
    iteration: visits,
    iterations: stage.limit ?? 0,
    runIteration: run.iterations + 1,
    runIterations: workflow.limits.iterations ?? 0,
    stuck: isStuck(rules, state) || noProgress(state.recent),
    base: state.base?.head ?? '',
    files: state.evidence.change?.files.map(file => file.path) ?? [],
  }
}

/** The project's own template comes first: of the configured folder, then what the layout has a place for. */
export function templateText(
  { layout, project, settings }: Pick<PromptContext, 'layout' | 'project' | 'settings'>,
  name: string,
): string {
  const places = [join(settings.prompts, `${name}.md`), layout.template?.(project, name) ?? '']
  const own = places.find(place => place !== '' && existsSync(join(project.root, place)))
  if (own !== undefined) return readFileSync(join(project.root, own), 'utf8').replace(/^\ufeff/u, '')
  const text = Object.hasOwn(layout.templates, name) ? layout.templates[name] : undefined
  if (text !== undefined) return text
  throw new UserError(
    `no prompt template '${name}'`,
    `Write ${join(settings.prompts, `${name}.md`)}; \`ralph init --prompts\` writes the built-in ones as a start.`,
    2,
  )
}
