import type { TaskState } from '../core/state.ts'
import { isStuck, type Rules } from '../core/transition.ts'
import type { AgentStage } from '../core/workflow.ts'
import { gateCommands } from '../gates/verify.ts'
import { storyPrompt } from '../layouts/stories/prompt.ts'
import type { Context } from './context.ts'

/** The prompt of one attempt. Everything in it comes from files and the journal; its size stays flat as history grows. */
export function renderPrompt(
  context: Pick<Context, 'project' | 'layout' | 'verify' | 'settings'> & { rules: Rules },
  state: TaskState,
  _stage: AgentStage,
): string {
  const { layout, project, settings, verify, rules } = context
  return storyPrompt({
    id: state.task.id,
    spec: layout.spec(project, state.task),
    commands: gateCommands(verify, state.task.verify).map(one => one.command),
    rules: settings.rules,
    failures: state.recent.map(({ attempt, stage, reason, detail }) => ({ attempt, stage, reason, detail })),
    learnings: state.learnings,
    steering: state.steering,
    attempt: state.failures + 1,
    attempts: rules.workflow.limits.attempts ?? 0,
    stuck: isStuck(rules, state),
  })
}
