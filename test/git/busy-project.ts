import fs from 'node:fs'
import path from 'node:path'
import { copyProject, type TempProject, tempProject } from './temp-project.ts'

let template: TempProject | null = null

/** A user in the middle of his work: staged, unstaged, deleted, untracked, ignored, a stash, a tag, another branch. */
export function busyProject(): TempProject {
  template ??= makeTemplate()
  return copyProject(template)
}

function makeTemplate(): TempProject {
  const project = tempProject({
    '.gitignore': '.ralph/\n*.log\n.env\n',
    'a.txt': 'one\n',
    'b.txt': 'two\n',
    'dir/c.txt': 'three\n',
    'dir/d.txt': 'four\n',
    'run.sh': '#!/bin/sh\n',
  })
  fs.chmodSync(path.join(project.root, 'run.sh'), 0o755)
  fs.symlinkSync('a.txt', path.join(project.root, 'link'))
  project.git('add', '-A')
  project.git('commit', '-q', '-m', 'More')
  project.git('branch', 'other', 'HEAD~1')
  project.git('tag', 'v1')
  project.write('b.txt', 'stashed\n')
  project.git('stash', '-q')
  project.write('b.txt', 'stashed again\n')
  project.git('stash', '-q')
  project.write('a.txt', 'unstaged\n')
  project.write('dir/c.txt', 'staged\n')
  project.git('add', 'dir/c.txt')
  project.write('dir/c.txt', 'staged, then changed\n')
  project.write('new.txt', 'staged new\n')
  project.git('add', 'new.txt')
  project.remove('dir/d.txt')
  project.write('notes.txt', 'untracked\n')
  project.write('.env', 'SECRET=1\n')
  project.write('debug.log', 'log\n')
  return project
}
