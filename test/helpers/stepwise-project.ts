import { createProject, type TestProject } from './ralph.ts'
import type { Behaviours, Rule } from './story-project.ts'

export const specId = '001-feature'

/** The check of these projects: it is green unless somebody has left the word BROKEN in work/. */
const check = `#!/bin/sh
if grep -rq BROKEN work 2>/dev/null; then echo "something is broken"; exit 1; fi
echo "all good"
`

export type TaskSpec = {
  id: string
  title?: string
  lang?: string
  status?: string
  needs?: string[]
  complexity?: number | null
  more?: string
}

/** A project of the preset \`stepwise\`: one spec with tasks, a check, a scripted agent. */
export function stepwiseProject(
  options: {
    tasks?: TaskSpec[]
    script?: Rule[]
    spec?: string
    config?: string
    verify?: string
    files?: Record<string, string>
  } = {},
): TestProject {
  const spec = options.spec ?? specId
  const tasks = options.tasks ?? [{ id: 'TASK-001' }]
  return createProject({
    'check.sh': check,
    'src/existing.txt': 'as it was\n',
    'ralph.config.yaml': [
      'preset: stepwise',
      'agent: { name: scripted, script: agent.json }',
      `verify: ${options.verify ?? '["sh check.sh"]'}`,
      'protect: ["docs/specs/**", "agent.json"]',
      'sandbox: none',
      options.config ?? '',
    ].join('\n'),
    'agent.json': JSON.stringify(options.script ?? honest(), null, 2),
    '.gitignore': 'ralph.log\nseen*\n',
    [`docs/specs/${spec}/spec.md`]: '# The feature\n',
    ...Object.fromEntries(tasks.map(task => [taskPath(task.id, spec), taskText(task)])),
    ...options.files,
  })
}

export function taskPath(id: string, spec = specId): string {
  return `docs/specs/${spec}/tasks/${id}.md`
}

export function taskText(task: TaskSpec): string {
  const {
    id,
    title = `Do ${id}`,
    lang = 'spring',
    status = 'pending',
    needs = [],
    complexity = 10,
    more = '',
  } = task
  return [
    '---',
    `id: ${id}`,
    `title: ${title}`,
    `status: ${status}`,
    `lang: ${lang}`,
    `dependencies: [${needs.join(', ')}]`,
    ...(complexity === null ? [] : [`complexity: ${complexity}`]),
    ...(more === '' ? [] : [more]),
    '---',
    '',
    `# ${title}`,
    '',
    '## Acceptance Criteria',
    '',
    `- work/${id}.txt is there`,
    '',
  ].join('\n')
}

/** What an honest agent does in each step. A rule before these stands for another behaviour. */
export function honest(): Rule[] {
  return [
    { on: { stage: 'implementation' }, do: implements_() },
    { on: { stage: 'review' }, do: reviews('pass') },
    { on: { stage: 'fix' }, do: fixes() },
    { on: { stage: 'cleanup' }, do: [{ say: 'Clean.' }] },
    { on: { stage: 'sync' }, do: [{ say: 'In sync.' }] },
  ]
}

function implements_(): Behaviours {
  return [{ write: { path: 'work/{{task}}.txt', text: 'the work\n' } }, { say: 'Implemented.' }]
}

export { implements_ as implementation }

export function fixes(): Behaviours {
  return [{ append: { path: 'work/{{task}}.txt', text: 'mended\n' } }, { say: 'Mended.' }]
}

/** Writes the report of the task at hand. */
export function reviews(verdict: 'pass' | 'fail', finding = 'criterion 1 is not met'): Behaviours {
  const body = verdict === 'pass' ? 'All is well.' : `## Issues\\n\\n1. ${finding}`
  return [...report(`---\\nverdict: ${verdict}\\n---\\n\\n${body}\\n`), { say: 'Reviewed.' }]
}

/** Any text as the report, with `\n` written as such. */
export function report(text: string): Behaviours {
  const file = 'docs/specs/$' + '{RALPH_TASK%%/*}/tasks/$' + '{RALPH_TASK##*/}--review.md'
  return [{ run: { command: ['/bin/sh', '-c', `printf -- '${text}' > "${file}"`] } }]
}

export type PlanFile = {
  spec_id: string
  spec_folder: string
  task_range: { from: string; to: string; from_num: number; to_num: number; total_in_range: number }
  state: {
    step: string
    current_task: string | null
    current_task_file: string | null
    current_task_lang: string | null
    iteration: number
    retry_count: number
    last_updated: string
    error: string | null
    range_progress: { done_in_range: number; total_in_range: number }
  }
  tasks: { id: string; status: string; file: string; dependencies_satisfied: boolean }[]
  done: string[]
  pending: string[]
  optional: string[]
  superseded: string[]
  learnings: { task: string; step: string; text: string; at: string }[]
  deviations?: string[]
}

export function planFile(spec = specId): string {
  return `docs/specs/${spec}/_ralph_loop/fix_plan.json`
}

export function plan(project: TestProject, spec = specId): PlanFile {
  return JSON.parse(project.read(planFile(spec)))
}

/** A person's edit of the state. */
export function editState(project: TestProject, change: Partial<PlanFile['state']>, spec = specId): void {
  const value = plan(project, spec)
  project.write(
    planFile(spec),
    `${JSON.stringify({ ...value, state: { ...value.state, ...change } }, null, 2)}\n`,
  )
}
