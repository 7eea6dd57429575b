import { statSync } from 'node:fs'
import { join } from 'node:path'
import { dependencyProblems } from '../../core/select.ts'
import type { Task } from '../../core/task.ts'
import type { Backlog, Problem } from '../layout.ts'
import { readTask, specPathOf, type TaskFile, taskIds } from './task-file.ts'

/** Task files become tasks. One without a spec is listed as missing; one that cannot be read is a problem. */
export function specflowBacklog(root: string): Backlog {
  const tasks: Task[] = []
  const missing: string[] = []
  const problems: Problem[] = []
  const lines = new Map<string, TaskFile>()
  for (const id of taskIds(root)) {
    const read = readTask(root, id)
    if (read.type === 'broken') {
      problems.push({
        severity: 'error',
        file: read.path,
        line: read.line,
        message: read.message,
        fix: 'Correct it: { "id": "TASK-001", "title": "…", "status": "todo" }.',
      })
      continue
    }
    const { task: file } = read
    problems.push(
      ...file.problems.map(({ line, message, fix, grave }): Problem => {
        return { severity: grave ? 'error' : 'warning', file: file.path, line, message, fix }
      }),
    )
    if (file.status === 'done' || isFile(root, file.spec)) {
      tasks.push(toTask(file, tasks.length))
      lines.set(id, file)
    } else {
      missing.push(id)
      problems.push(noSpec(file))
    }
  }
  problems.push(...needProblems(tasks, missing, lines))
  return { tasks, missing, problems }
}

function toTask(file: TaskFile, order: number): Task {
  const { id, title, spec, needs, verify, allows } = file
  return { id, title, spec, needs, order, verify, allows }
}

function isFile(root: string, path: string): boolean {
  return statSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true
}

function noSpec({ path, spec, id }: TaskFile): Problem {
  const place = spec === specPathOf(id) ? '' : ', or name another with "spec"'
  return {
    severity: 'error',
    file: path,
    line: null,
    message: `has no spec: ${spec} is not there`,
    fix: `Write ${spec}${place}.`,
  }
}

function needProblems(tasks: Task[], missing: string[], files: Map<string, TaskFile>): Problem[] {
  const known = new Set(missing)
  return dependencyProblems(tasks)
    .filter(({ message }) => ![...known].some(id => message.includes(`'${id}'`)))
    .map(({ id, message }) => ({
      severity: 'error',
      file: files.get(id)?.path ?? '.specflow/tasks',
      line: null,
      message,
      fix: 'Correct "dependencies".',
    }))
}
