import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { oneLine } from '../../core/text.ts'
import type { Project } from '../layout.ts'
import { chosenSpec } from './choice.ts'
import { readTaskFiles, specFolder, taskNumber } from './task-file.ts'

/** `ralph new task TASK-037 "…"`, in the chosen spec; `002-other/TASK-001` names another one, new or not. */
export function newTask(project: Project, { id, title }: { id: string; title: string }): string {
  const at = id.lastIndexOf('/')
  const name = id.slice(at + 1)
  const number = taskNumber(name)
  if (number === null || (at >= 0 && !/^[\w.-]+$/u.test(id.slice(0, at))))
    throw new UserError(`'${id}' is not a task id`, 'Write it like TASK-037, or 002-other/TASK-001.', 2)
  if (oneLine(title) === '')
    throw new UserError(`task ${id} needs a title`, `For example: ralph new task ${id} "Add a cache".`, 2)
  const spec = at >= 0 ? id.slice(0, at) : chosenSpec(project)
  const label = /^TASK-/iu.test(name) ? name.toUpperCase() : `TASK-${name.padStart(3, '0')}`
  const taken = readTaskFiles(project.root, spec).find(file => file.number === number)
  if (taken)
    throw new UserError(
      `task ${label} exists already: ${taken.path}`,
      'Edit that file, or choose another number.',
    )
  const path = `${specFolder(spec)}tasks/${label}.md`
  if (existsSync(join(project.root, path)))
    throw new UserError(`${path} exists already`, 'Choose another number.')
  mkdirSync(dirname(join(project.root, path)), { recursive: true })
  writeFileSync(join(project.root, path), newTaskText(label, oneLine(title.replace(/\p{Cc}+/gu, ' '))), {
    flag: 'wx',
  })
  return path
}

export function newTaskText(label: string, title: string): string {
  return `---
id: ${label}
title: ${JSON.stringify(title)}
status: pending
lang: general
dependencies: []
complexity: 10
---

# ${label}: ${title}

What there is to do, so that somebody who knows nothing of it can do it: the behaviour, the files, the edge cases.

## Acceptance Criteria

- What must be true when it is done, so that a reviewer can check it
- Tests show it
`
}
