import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { oneLine } from '../../core/text.ts'
import type { Project, Skeleton, SkeletonOptions } from '../layout.ts'
import { configFile } from './config.ts'
import { isId, specPathOf, taskIds, taskPath } from './task-file.ts'

/** The settings with their defaults, and a first task; a project that has tasks already keeps them. */
export function specflowSkeleton({ root }: Project, { name }: SkeletonOptions): Skeleton {
  const first = taskIds(root).length > 0 ? {} : taskFiles('TASK-001', oneLine(name) || 'First task')
  const spec = specPathOf('TASK-001')
  return {
    about:
      'coder, reviewer, tester and qa, each until its verified promise; tasks in .specflow/tasks/TASK-001.json',
    files: { [configFile]: configText, ...first },
    next: spec in first ? [`write the first task: ${spec} (more: ralph new task TASK-002 "…")`] : [],
  }
}

/** `ralph new task TASK-002 "…"` */
export function newTask({ root }: Project, { id, title }: { id: string; title: string }): string {
  const name = oneLine(title.replace(/\p{Cc}+/gu, ' '))
  if (!isId(id)) throw new UserError(`'${oneLine(id, 60)}' is not a task id`, 'Write it like TASK-002.', 2)
  if (name === '')
    throw new UserError(`task ${id} needs a title`, `For example: ralph new task ${id} "Add user login".`, 2)
  for (const path of [taskPath(id), specPathOf(id)])
    if (existsSync(join(root, path)))
      throw new UserError(`task ${id} exists already: ${path}`, 'Edit that file, or choose another id.')
  const files = taskFiles(id, name)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text, { flag: 'wx' })
  }
  return specPathOf(id)
}

function taskFiles(id: string, title: string): Record<string, string> {
  const task = { id, title, status: 'todo', dependencies: [], metadata: {} }
  return {
    [taskPath(id)]: `${JSON.stringify(task, null, 2)}\n`,
    [specPathOf(id)]:
      `# ${id}: ${title}\n\nWhat is wanted, and why.\n\n## Acceptance criteria\n\n1. Given …, when …, then …\n\n## Tests\n\n- …\n`,
  }
}

const configText = `# How the loops of the stages run. Ralph's own settings are in ralph.config.yaml and win where both say something.

ralph:
  enabled: true                    # Global enable/disable
  default_max_iterations: 10       # Default iteration limit
  verify_promises: true            # Verify completion promises

  # Per-agent configuration
  coder:
    enabled: true
    max_iterations: 15
    completion_promise: "IMPLEMENTATION_COMPLETE"

  reviewer:
    enabled: true
    max_iterations: 5
    completion_promise: "REVIEW_COMPLETE"

  tester:
    enabled: true
    max_iterations: 10
    completion_promise: "TESTS_COMPLETE"

  qa:
    enabled: true
    max_iterations: 5
    completion_promise: "QA_PASSED"
`

const work = 'specflow-example/{{task}}.txt'

/** The example of `ralph run --agent scripted`: one honest call of each stage. */
export const rehearsal: unknown[] = [
  {
    on: { stage: 'coder' },
    do: [
      { write: { path: work, text: 'done for {{task}}\n' } },
      { commit: { message: '{{task}}: the work', paths: [work] } },
      { say: 'Committed the work.' },
      { promise: 'IMPLEMENTATION_COMPLETE' },
    ],
  },
  { on: { stage: 'reviewer' }, do: [{ say: 'REVIEW PASSED' }, { promise: 'REVIEW_COMPLETE' }] },
  { on: { stage: 'tester' }, do: [{ say: 'All tests passed.' }, { promise: 'TESTS_COMPLETE' }] },
  { on: { stage: 'qa' }, do: [{ say: 'It does what it should.' }, { promise: 'QA_PASSED' }] },
]
