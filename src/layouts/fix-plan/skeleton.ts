import type { Project, Skeleton, SkeletonOptions } from '../layout.ts'
import { slugOf } from '../slug.ts'
import { newTaskText } from './new-task.ts'
import { listSpecs, specFolder } from './task-file.ts'

/** A spec with one task to begin with; a project that has specs already keeps them. */
export function stepwiseSkeleton({ root }: Project, { name }: SkeletonOptions): Skeleton {
  const isNew = listSpecs(root).length === 0
  const spec = `001-${slugOf(name, /[^a-z0-9]+/gu) || 'feature'}`
  const title = name || 'First task'
  const task = `${specFolder(spec)}tasks/TASK-001.md`
  return {
    about:
      'tasks in docs/specs/<spec>/tasks/TASK-*.md, one step at a time: implementation, review, fix, cleanup, sync',
    files: isNew
      ? {
          [`${specFolder(spec)}spec.md`]: specText(name || 'Feature'),
          [task]: newTaskText('TASK-001', title),
        }
      : {},
    next: isNew
      ? [
          `write the spec ${specFolder(spec)}spec.md and its first task ${task} (more: ralph new task TASK-002 "…")`,
        ]
      : [],
  }
}

function specText(name: string): string {
  return `# ${name}

What is to be built, for whom, and how it is to behave. The tasks in tasks/ refer to this file; after each of them Ralph
compares it with the code, and what no longer agrees is proposed in _ralph_loop/sync/ (or changed here, with
--apply-spec-sync).
`
}

const review = `file="docs/specs/\${RALPH_TASK%%/*}/tasks/\${RALPH_TASK##*/}--review.md"
printf -- '---\nverdict: pass\n---\n\nA rehearsal; no model was called.\n' > "$file"`

/** An honest agent of each step, without a model. */
export const stepwiseRehearsal: unknown[] = [
  { on: { stage: 'review' }, do: [{ run: { command: ['/bin/sh', '-c', review] } }, { say: 'Reviewed.' }] },
  { on: { stage: ['cleanup', 'sync'] }, do: [{ say: 'Nothing to do.' }] },
  {
    do: [
      {
        append: {
          path: 'rehearsal/{{task}}.md',
          text: 'Written in a rehearsal of task {{task}} ({{stage}}).\n',
        },
      },
      { say: 'Implemented.' },
    ],
  },
]
