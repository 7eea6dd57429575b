import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { type Forwarded, fastForward } from '../../src/git/fast-forward.ts'
import { openRepository } from '../../src/git/repository.ts'
import { projectAt, removeTempFolders, type TempProject, tempFolder, tempProject } from './temp-project.ts'

afterAll(removeTempFolders)

let project: TempProject
let to: string
const old = {
  '.gitignore': '/.ralph/\n',
  'a.txt': 'one\n',
  'b.txt': 'two\n',
  'gone.txt': 'old\n',
  'dir/c.txt': 'three\n',
}

/** A commit that builds on `main`: one file changed, one new, one gone, one executable. */
beforeEach(() => {
  project = tempProject(old)
  project.git('switch', '-q', '-c', 'work')
  project.write('a.txt', 'ONE\n')
  project.write('dir/new.txt', 'new\n')
  project.git('rm', '-q', 'gone.txt')
  fs.chmodSync(path.join(project.root, 'b.txt'), 0o755)
  project.git('add', '-A')
  project.git('commit', '-q', '-m', 'Work')
  to = project.git('rev-parse', 'HEAD').trim()
  project.git('switch', '-q', 'main')
})

const forward = async (branch: string | null = 'main'): Promise<Forwarded> =>
  fastForward(await openRepository(project.root), { to, branch })

function expectThere(): void {
  expect(project.git('rev-parse', 'main').trim()).toBe(to)
  expect(project.git('status', '--porcelain')).toBe('')
  expect(project.read('a.txt')).toBe('ONE\n')
  expect(project.read('dir/new.txt')).toBe('new\n')
  expect(fs.existsSync(path.join(project.root, 'gone.txt'))).toBe(false)
  expect(fs.statSync(path.join(project.root, 'b.txt')).mode & 0o100).not.toBe(0)
}

/** Nothing at all was changed. */
async function expectKept(why: string | RegExp, branch: string | null = 'main'): Promise<void> {
  const look = () => [
    project.git('rev-parse', 'HEAD'),
    project.git('status', '--porcelain', '-uall'),
    project.git('diff'),
    project.git('diff', '--cached'),
  ]
  const before = look()
  const result = await forward(branch)
  expect(result).toEqual({ type: 'kept', why: typeof why === 'string' ? why : expect.stringMatching(why) })
  expect(look()).toEqual(before)
}

/** A commit on top of HEAD, made in another worktree. */
function commitAside(file: string, text: string): string {
  const place = tempFolder()
  project.git('worktree', 'add', '-q', '--detach', path.join(place, 'w'))
  const there = projectAt(path.join(place, 'w'))
  there.write(file, text)
  there.git('add', '-f', file)
  there.git('commit', '-q', '-m', 'Aside')
  return there.git('rev-parse', 'HEAD').trim()
}

describe('a fast-forward of the user’s branch', () => {
  it('brings branch, files and index there, and a second time there is nothing to do', async () => {
    expect(await forward()).toEqual({ type: 'forwarded' })
    expectThere()
    expect(await forward()).toEqual({ type: 'forwarded' })
    expectThere()
  })

  it('keeps the user’s uncommitted work in other files as it is, staged, unstaged and untracked', async () => {
    project.write('dir/c.txt', 'mine, not staged\n')
    project.write('staged.txt', 'mine, staged\n')
    project.git('add', 'staged.txt')
    project.write('loose.txt', 'mine\n')
    expect(await forward()).toEqual({ type: 'forwarded' })
    expect(project.git('rev-parse', 'main').trim()).toBe(to)
    expect(project.git('status', '--porcelain').trim().split('\n').sort()).toEqual([
      '?? loose.txt',
      'A  staged.txt',
      'M dir/c.txt',
    ])
    expect(project.read('dir/c.txt')).toBe('mine, not staged\n')
  })

  it('is not done when the user has changed one of the files, however', async () => {
    project.write('a.txt', 'mine\n')
    await expectKept('a.txt has uncommitted changes')
    project.git('add', 'a.txt')
    await expectKept('a.txt has uncommitted changes')
    project.git('reset', '-q', '--hard')
    project.write('dir/new.txt', 'mine\n')
    await expectKept('dir/new.txt is in the way, untracked')
    project.write('.git/info/exclude', 'dir/new.txt\n')
    await expectKept('dir/new.txt is in the way, untracked')
    expect(project.read('dir/new.txt')).toBe('mine\n')
    project.git('rm', '-q', '-r', '--cached', 'dir')
    project.git('commit', '-q', '-m', 'Without the folder')
    project.remove('dir')
    project.write('.git/info/exclude', 'dir\n')
    project.write('dir', 'mine\n')
    to = commitAside('dir/new.txt', 'new\n')
    await expectKept('dir is in the way, untracked')
    expect(project.read('dir')).toBe('mine\n')
  })

  it('is not done when the branch has moved on, another is checked out, or something is unfinished', async () => {
    project.git('switch', '-q', '-c', 'other')
    await expectKept('other is checked out, not main')
    project.git('switch', '-q', 'main')
    project.git('commit', '-q', '--allow-empty', '-m', 'More')
    await expectKept('main has moved on')
    project.git('reset', '-q', '--hard', 'HEAD~1')
    fs.writeFileSync(path.join(project.root, '.git/index.lock'), '')
    await expectKept(/index\.lock/u)
  })

  it('works on a detached HEAD', async () => {
    project.git('switch', '-q', '--detach')
    expect(await forward(null)).toEqual({ type: 'forwarded' })
    expect(project.git('rev-parse', 'HEAD').trim()).toBe(to)
    expect(project.git('status', '--porcelain')).toBe('')
    expect(project.git('rev-parse', 'main').trim()).not.toBe(to)
  })

  it('goes on where it was cut off: with some of the files written, all of them, or the index too', async () => {
    project.write('a.txt', 'ONE\n')
    fs.rmSync(path.join(project.root, 'gone.txt'))
    expect(await forward()).toEqual({ type: 'forwarded' })
    expectThere()
    project.git('reset', '-q', '--hard', 'HEAD~1')
    project.write('dir/new.txt', 'new\n')
    expect(await forward()).toEqual({ type: 'forwarded' })
    expectThere()
    project.git('reset', '-q', '--soft', 'HEAD~1')
    expect(await forward()).toEqual({ type: 'forwarded' })
    expectThere()
  })

  it('runs no hook and no filter of the repository', async () => {
    const trace = path.join(project.root, '.git/trace')
    for (const folder of ['hooks', 'info'])
      fs.mkdirSync(path.join(project.root, '.git', folder), { recursive: true })
    for (const hook of ['post-checkout', 'post-merge', 'reference-transaction', 'post-index-change'])
      fs.writeFileSync(
        path.join(project.root, '.git/hooks', hook),
        `#!/bin/sh\necho ${hook} >>'${trace}'\n`,
        { mode: 0o755 },
      )
    project.git('config', 'filter.evil.smudge', `sh -c "echo smudge >>'${trace}'; cat"`)
    project.git('config', 'core.fsmonitor', `echo fsmonitor >>'${trace}'`)
    fs.writeFileSync(path.join(project.root, '.git/info/attributes'), '* filter=evil\n')
    expect((await forward()).type).toBe('forwarded')
    expect(project.read('a.txt')).toBe('ONE\n')
    expect(fs.existsSync(trace) ? fs.readFileSync(trace, 'utf8') : '').toBe('')
  })
})
