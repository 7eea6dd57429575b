import { createProject, type TestProject } from './ralph.ts'
import type { Behaviours, Rule } from './story-project.ts'

/** The check of these projects: every task that is done or under way has left `answer <id>` in work/<id>.txt. */
const check = `#!/bin/sh
for task in \${TASKS:-TASK-001}; do
  grep -q "^answer $task$" "work/$task.txt" 2>/dev/null || { echo "no answer for $task"; exit 1; }
done
echo "all answers found"
`

export type PipelineProject = {
  tasks?: string[]
  script: Rule[]
  /** More of ralph.config.yaml. */
  config?: string
  /** `.specflow/config.yaml`. */
  specflow?: string
  verify?: string
  files?: Record<string, string>
}

/** A project of the preset `pipeline` as the seed describes it, with a script for the agents and a user's own untracked file. */
export function pipelineProject(options: PipelineProject): TestProject {
  const tasks = options.tasks ?? ['TASK-001']
  const project = createProject({
    'check.sh': check,
    'src/existing.txt': 'as it was\n',
    'ralph.config.yaml': [
      'preset: pipeline',
      'agent: { name: scripted, script: agent.json }',
      `verify: ${options.verify ?? '["sh check.sh"]'}`,
      'sandbox: none',
      options.config ?? '',
    ].join('\n'),
    'agent.json': JSON.stringify(options.script, null, 2),
    ...(options.specflow === undefined ? {} : { '.specflow/config.yaml': options.specflow }),
    ...Object.fromEntries(
      tasks.flatMap(id => [
        [taskPath(id), taskJson(id)],
        [`.specflow/specs/${id}.md`, `# Answer ${id}\n\nWrite \`answer ${id}\` to work/${id}.txt.\n`],
      ]),
    ),
    ...options.files,
  })
  project.write('notes of the user.txt', 'never touch this\n')
  return project
}

export function taskPath(id: string): string {
  return `.specflow/tasks/${id}.json`
}

/** As SpecFlow's own Python writes it. */
export function taskJson(id: string, over: Record<string, unknown> = {}): string {
  const task = { id, title: `Answer ${id}`, status: 'todo', dependencies: [], metadata: {}, ...over }
  return `${JSON.stringify(task, null, 2)}\n`
}

export type TaskJson = {
  status: string
  metadata: { ralph?: Record<string, unknown>; ralph_failure?: Record<string, unknown> }
}

export function taskOf(project: TestProject, id = 'TASK-001'): TaskJson {
  return JSON.parse(project.read(taskPath(id))) as TaskJson
}

/** The execution log of a task. */
export function logOf(project: TestProject, id = 'TASK-001'): Record<string, unknown>[] {
  const path = `.specflow/logs/${id}.jsonl`
  if (!project.exists(path)) return []
  return project
    .read(path)
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)
}

/** One honest call of each stage. */
export const honest = {
  coder: (id = '{{task}}'): Behaviours => [
    { write: { path: `work/${id}.txt`, text: `answer ${id}\n` } },
    { commit: { message: `feat: answer ${id}`, paths: [`work/${id}.txt`] } },
    { say: 'Committed the answer.' },
    { promise: 'IMPLEMENTATION_COMPLETE' },
  ],
  reviewer: (): Behaviours => [{ say: 'REVIEW PASSED' }, { promise: 'REVIEW_COMPLETE' }],
  tester: (): Behaviours => [{ say: 'All tests passed.' }, { promise: 'TESTS_COMPLETE' }],
  qa: (): Behaviours => [{ say: 'It does what it should.' }, { promise: 'QA_PASSED' }],
}

/** The rules of honest agents, to stand behind those that a test is about. */
export function honestRules(): Rule[] {
  return Object.entries(honest).map(([stage, does]) => ({ on: { stage }, do: does() }))
}
