import { readdirSync } from 'node:fs'
import path from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { ralph, type TestProject } from '../helpers/ralph.ts'
import { storyProject } from '../helpers/story-project.ts'

let project: TestProject
afterEach(() => project.cleanup())

it('--worktree leaves alone what an engine in the folder has in hand: its locks and its git directories', async () => {
  project = storyProject({ script: [] })
  const own = {
    '.ralph/git/index.lock': 'half an index',
    '.ralph/git/commit-index.lock': 'half an index',
    '.ralph/git/raw/info/exclude': 'as it was when the engine began',
    '.ralph/git/plain/config': 'as it was when the engine began',
  }
  for (const [file, text] of Object.entries(own)) project.write(file, text)
  const before = readdirSync(path.join(project.root, '.ralph'))
  const ended = await ralph(project, ['run', '--worktree', 'beside', '--dry-run'])
  expect(ended.code, ended.stdout + ended.stderr).toBe(0)
  expect(ended.stderr).toContain('created the worktree')
  expect(project.git('-C', '.ralph/worktrees/beside', 'status', '--porcelain')).toBe('')
  for (const [file, text] of Object.entries(own))
    expect(project.exists(file) && project.read(file), file).toBe(text)
  expect(
    readdirSync(path.join(project.root, '.ralph'))
      .filter(name => !before.includes(name))
      .sort(),
  ).toEqual(['.gitignore', 'worktrees'])
  const again = await ralph(project, ['run', '--worktree', 'beside', '--dry-run'])
  expect(again.stderr).toContain('using the worktree')
})
