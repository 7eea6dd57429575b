import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Project, Skeleton, SkeletonOptions } from '../layout.ts'
import { planPath } from './plan-file.ts'

/** What `ralph init` writes: a plan with one task to begin with. */
export function gatedSkeleton(project: Project, { name, verify }: SkeletonOptions): Skeleton {
  const plan = planPath(project)
  const isNew = !existsSync(join(project.root, plan))
  return {
    about: `a plan in ${plan}; each task is implemented, tested, reviewed against its spec, and tried five times at most`,
    files: { [plan]: planText(name, verify) },
    ignore: ['.ralph/', '.ralph_state.md', '.ralph.lock', 'ralph.log'],
    next: isNew ? [`write the plan: ${plan} (its first task is an example)`] : [],
  }
}

function planText(name: string, verify: string[] | null): string {
  const title = name || 'First task'
  const check = verify?.[0] === undefined ? '' : `\n- [ ] \`${verify[0]}\` passes`
  return `# Plan

Each heading "Task <number>: <title>" is a task; its section is the spec, and every word of it goes to the agent. Ralph
adds the line "Status: completed" and ticks the boxes once a task is proven. Optional lines below a heading, before any
other heading of the section: "Depends on: Task 1", "Verify: \`a command of this task alone\`", "Allows: a protected file
that this task may change". The id is made of the title; {#name} at the end of the heading fixes it.

## Task 1: ${title}

What there is to do, so that somebody who knows nothing of it can do it: the behaviour, the files, the edge cases.

### Success Criteria

- [ ] What must be true when it is done, so that a reviewer can check it
- [ ] Tests show it${check}
`
}
