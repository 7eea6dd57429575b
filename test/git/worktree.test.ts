import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { failureBranch, failureBranchName, refSafe } from '../../src/git/failure-branch.ts'
import { openRepository } from '../../src/git/repository.ts'
import { takePosition } from '../../src/git/snapshot.ts'
import { ensureWorktree, mendLink, removeWorktree } from '../../src/git/worktree.ts'
import { busyProject } from './busy-project.ts'
import {
  files,
  projectAt,
  removeTempFolders,
  repositoryState,
  tempFolder,
  tempProject,
} from './temp-project.ts'

afterAll(removeTempFolders)

describe('a worktree of its own', () => {
  it('is made from HEAD on a branch of its own, and leaves the user his files, index and branch', async () => {
    const project = busyProject()
    const before = repositoryState(project)
    const repository = await openRepository(project.root)
    const worktree = await ensureWorktree(repository, 'story 1.2')
    expect(worktree).toEqual({
      path: path.join(project.root, '.ralph/worktrees/story-1.2'),
      root: path.join(project.root, '.ralph/worktrees/story-1.2'),
      branch: 'ralph/story-1.2',
      created: true,
    })
    const there = projectAt(worktree.path)
    expect(there.read('a.txt')).toBe('one\n')
    expect(fs.statSync(path.join(worktree.path, 'run.sh')).mode & 0o100).not.toBe(0)
    expect(fs.readlinkSync(path.join(worktree.path, 'link'))).toBe('a.txt')
    expect(there.git('status', '--porcelain')).toBe('')
    expect(there.git('rev-parse', 'HEAD')).toBe(project.git('rev-parse', 'main'))
    project.git('worktree', 'remove', '--force', worktree.path)
    project.git('branch', '-q', '-D', 'ralph/story-1.2')
    expect(repositoryState(project)).toEqual(before)
  })

  it('is used again with what is in it, and again after its folder was deleted', async () => {
    const project = tempProject()
    const repository = await openRepository(project.root)
    const first = await ensureWorktree(repository, 'x')
    const there = projectAt(first.path)
    there.write('a.txt', 'going on\n')
    expect(await ensureWorktree(repository, 'x')).toEqual({ ...first, created: false })
    expect(there.read('a.txt')).toBe('going on\n')
    there.git('commit', '-q', '-a', '-m', 'Work')
    const work = there.git('rev-parse', 'HEAD')
    fs.rmSync(first.path, { recursive: true })
    expect((await ensureWorktree(repository, 'x')).created).toBe(true)
    expect(there.read('a.txt')).toBe('going on\n')
    expect(project.git('rev-parse', 'ralph/x')).toBe(work)
  })

  it('is found again in a project that is reached through a link', async () => {
    const project = tempProject()
    const link = path.join(tempFolder(), 'link')
    fs.symlinkSync(project.root, link)
    const first = await ensureWorktree(
      await openRepository(link, { scratch: path.join(link, '.ralph') }),
      'x',
    )
    const again = await ensureWorktree(
      await openRepository(link, { scratch: path.join(link, '.ralph') }),
      'x',
    )
    expect(again).toEqual({ ...first, created: false })
  })

  it('is made from another commit when asked, and finished when its making was cut off', async () => {
    const project = tempProject()
    const old = project.git('rev-parse', 'HEAD').trim()
    project.write('a.txt', 'two\n')
    project.git('commit', '-q', '-a', '-m', 'Two')
    const repository = await openRepository(project.root)
    const { path: place } = await ensureWorktree(repository, 'x', { from: old })
    const there = projectAt(place)
    expect(there.read('a.txt')).toBe('one\n')
    expect(project.git('rev-parse', 'ralph/x').trim()).toBe(old)
    fs.rmSync(path.join(project.root, '.git/worktrees/x/index'))
    there.remove('a.txt')
    expect((await ensureWorktree(repository, 'x')).created).toBe(false)
    expect(there.read('a.txt')).toBe('one\n')
    expect(there.git('status', '--porcelain')).toBe('')
    await removeWorktree(repository, 'x')
    expect(fs.existsSync(place)).toBe(false)
    expect(project.git('worktree', 'list').trim().split('\n')).toHaveLength(1)
    expect(project.git('rev-parse', 'ralph/x').trim()).toBe(old)
  })

  it('is mended when an agent has deleted or replaced its link, or was cut off on another branch', async () => {
    const project = tempProject({ 'a.txt': 'one\n', '.gitignore': '/.ralph/\n' })
    const repository = await openRepository(project.root)
    const made = await ensureWorktree(repository, 'x')
    const there = projectAt(made.path)
    there.write('a.txt', 'going on\n')
    there.remove('.git')
    expect((await ensureWorktree(repository, 'x')).created).toBe(false)
    there.remove('.git')
    there.git('init', '-q')
    mendLink(repository, 'x')
    expect(there.git('status', '--porcelain')).toBe(' M a.txt\n')
    expect(there.git('branch', '--show-current').trim()).toBe('ralph/x')
    there.git('switch', '-q', '-c', 'elsewhere')
    await expect(ensureWorktree(repository, 'x')).rejects.toThrow('is on elsewhere, not on ralph/x')
    expect(await ensureWorktree(repository, 'x', { recovering: true })).toEqual({ ...made, created: false })
  })

  it('is not part of the positions of the project around it', async () => {
    const project = tempProject({ '.gitignore': '' })
    const repository = await openRepository(project.root)
    const before = await takePosition(repository)
    await ensureWorktree(repository, 'x')
    expect((await takePosition(repository)).tree).toBe(before.tree)
  })

  it('has the project folder in it when the project is not the top', async () => {
    const top = tempProject({ 'app/a.txt': 'one\n' })
    const repository = await openRepository(path.join(top.root, 'app'))
    const worktree = await ensureWorktree(repository, 'x')
    expect(worktree.root).toBe(path.join(worktree.path, 'app'))
    expect(files(worktree.root)['a.txt']).toBeDefined()
  })

  it('says what stands in its way', async () => {
    const project = tempProject()
    const repository = await openRepository(project.root)
    project.write('.ralph/worktrees/taken/file', 'x')
    await expect(ensureWorktree(repository, 'taken')).rejects.toThrow('is in the way')
    project.git('branch', 'ralph/elsewhere')
    const place = path.join(tempFolder(), 'w')
    project.git('worktree', 'add', '-q', place, 'ralph/elsewhere')
    await expect(ensureWorktree(repository, 'elsewhere')).rejects.toThrow(`is checked out in ${place}`)
    const moved = await ensureWorktree(repository, 'moved')
    projectAt(moved.path).git('checkout', '-q', '-b', 'other')
    await expect(ensureWorktree(repository, 'moved')).rejects.toThrow('is on other, not on ralph/moved')
    const blocked = tempProject()
    blocked.git('branch', 'ralph')
    await expect(ensureWorktree(await openRepository(blocked.root), 'x')).rejects.toMatchObject({
      fix: expect.stringContaining('git branch -m ralph'),
    })
  })
})

describe('a failure branch', () => {
  const at = new Date(2026, 0, 2, 3, 4, 5)

  it('is called wip/ralph-fail-{task}-YYYYMMDD-HHMMSS', () => {
    expect(failureBranchName('task-7', at)).toBe('wip/ralph-fail-task-7-20260102-030405')
  })

  it('H-24 is made without a checkout, a push or a remote, and takes another name when one is taken', async () => {
    const project = busyProject()
    const before = repositoryState(project)
    const repository = await openRepository(project.root)
    const commit = project.git('rev-parse', 'other').trim()
    const first = await failureBranch(repository, 'a/b: c?', at, commit)
    const second = await failureBranch(repository, 'a/b: c?', at, commit)
    expect([first, second]).toEqual([
      'wip/ralph-fail-a-b-c-20260102-030405',
      'wip/ralph-fail-a-b-c-20260102-030405-2',
    ])
    expect(project.git('rev-parse', second).trim()).toBe(commit)
    project.git('branch', '-q', '-D', first, second)
    expect(repositoryState(project)).toEqual(before)
  })

  it('says what stands in its way', async () => {
    const project = tempProject()
    project.git('branch', 'wip')
    const repository = await openRepository(project.root)
    await expect(failureBranch(repository, 'x', at, 'HEAD')).rejects.toMatchObject({
      fix: expect.stringContaining('git branch -m wip'),
    })
  })

  it('has a valid name whatever the task is called', () => {
    const project = tempProject()
    for (const task of [
      '',
      '..',
      '.x',
      'a..b',
      'x.lock',
      'ends.',
      '-dash',
      'ü ß 💀',
      'a~^:?*[\\]@{b',
      '@',
      'x'.repeat(300),
      'tab\tnew\nline',
      '.lock',
    ]) {
      const name = failureBranchName(task, at)
      expect(project.git('check-ref-format', '--branch', name).trim(), JSON.stringify(task)).toBe(name)
      expect(refSafe(task).length).toBeLessThanOrEqual(60)
    }
  })
})
