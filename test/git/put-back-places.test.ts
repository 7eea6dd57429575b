import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { putBack } from '../../src/git/put-back.ts'
import { openRepository } from '../../src/git/repository.ts'
import { forgetPositions, keepPosition, takePosition } from '../../src/git/snapshot.ts'
import { busyProject } from './busy-project.ts'
import { keepAs, start } from './start.ts'
import {
  projectAt,
  removeTempFolders,
  repositoryState,
  type TempProject,
  tempProject,
} from './temp-project.ts'

afterAll(removeTempFolders)

describe('where it works', () => {
  const attempt = (project: TempProject) => {
    project.write('a.txt', 'agent\n')
    project.write('new/x.txt', 'agent\n')
    project.git('add', '-A', '.')
    project.git('commit', '-q', '-m', 'Agent')
  }
  const check = async (project: TempProject) => {
    const { repository, base, before } = await start(project)
    attempt(project)
    await putBack(repository, base, { keepAs })
    expect(repositoryState(project)).toEqual(before)
    return { repository, base }
  }

  it('in a folder below the top, and only there', async () => {
    const top = tempProject({
      'packages/app/a.txt': 'one\n',
      'packages/lib/b.txt': 'two\n',
      '.gitignore': '*.tmp\n.ralph/\n',
    })
    const project = { ...top, ...subProject(top, 'packages/app') }
    project.write('x.tmp', 'ignored by the rules of the top\n')
    const { repository, base, before } = await start(project)
    expect(top.git('ls-tree', '-r', '--name-only', base.tree)).toBe('packages/app/a.txt\n')
    attempt(project)
    top.write('packages/lib/b.txt', 'changed meanwhile\n')
    const result = await putBack(repository, base, { keepAs })
    expect(result.files.map(file => file.path)).toEqual(['a.txt', 'new/x.txt'])
    expect(top.read('packages/lib/b.txt')).toBe('changed meanwhile\n')
    top.write('packages/lib/b.txt', 'two\n')
    expect(repositoryState(project)).toEqual(before)
  })

  it('on a detached HEAD', async () => {
    const project = busyProject()
    project.git('checkout', '-q', '--detach')
    const { base } = await check(project)
    expect(base.branch).toBeNull()
  })

  it('in a linked worktree, without touching what others do in theirs', async () => {
    const main = tempProject()
    const place = `${main.root}-linked`
    main.git('worktree', 'add', '-q', '-b', 'task', place)
    try {
      const project = projectAt(place)
      const { repository, base, before } = await start(project)
      attempt(project)
      project.git('checkout', '-q', '-b', 'agent-branch')
      main.write('a.txt', 'the user goes on\n')
      main.git('commit', '-q', '-a', '-m', 'By the user')
      main.git('tag', 'by-the-user')
      const users = main.git('rev-parse', 'main')
      await putBack(repository, base, { keepAs })
      const after = repositoryState(project)
      for (const part of ['files', 'index', 'staged', 'stash']) expect(after[part]).toBe(before[part])
      expect(project.git('rev-parse', 'task').trim()).toBe(base.head)
      expect(main.git('rev-parse', 'main')).toBe(users)
      expect(main.git('tag')).toBe('by-the-user\n')
    } finally {
      fs.rmSync(place, { recursive: true, force: true })
    }
  })

  it('leaves branches alone that another worktree has checked out', async () => {
    const project = tempProject()
    const place = `${project.root}-other`
    project.git('worktree', 'add', '-q', '-b', 'task', place)
    try {
      const other = projectAt(place)
      const { repository, base } = await start(project)
      attempt(project)
      other.git('commit', '-q', '--allow-empty', '-m', 'In the other one')
      const task = other.git('rev-parse', 'HEAD')
      await putBack(repository, base, { keepAs })
      expect(other.git('rev-parse', 'task')).toBe(task)
    } finally {
      fs.rmSync(place, { recursive: true, force: true })
    }
  })

  it('with a submodule, whose content is left alone', async () => {
    const library = tempProject({ 'lib.txt': 'library\n' })
    const project = tempProject()
    project.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library.root, 'lib')
    project.git('commit', '-q', '-m', 'Submodule')
    const { repository, base } = await start(project)
    expect(base.tree).toBe(project.git('rev-parse', 'HEAD^{tree}').trim())
    project.write('lib/lib.txt', 'changed in the submodule\n')
    project.write('a.txt', 'agent\n')
    await putBack(repository, base, { keepAs })
    expect(project.read('lib/lib.txt')).toBe('changed in the submodule\n')
    expect(project.read('a.txt')).toBe('one\n')
  })

  it('in a sparse checkout, without filling it up', async () => {
    const project = tempProject({ 'a.txt': 'one\n', 'out/b.txt': 'two\n', 'in/c.txt': 'three\n' })
    project.git('sparse-checkout', 'set', 'in')
    const { repository, base, before } = await start(project)
    project.write('in/c.txt', 'agent\n')
    project.write('in/new.txt', 'agent\n')
    project.git('add', 'in')
    project.git('commit', '-q', '-m', 'Agent')
    await putBack(repository, base, { keepAs })
    expect(repositoryState(project)).toEqual(before)
    expect(project.exists('out')).toBe(false)
  })

  it('in a repository with SHA-256', async () => {
    const project = tempProject()
    fs.rmSync(path.join(project.root, '.git'), { recursive: true })
    project.git('init', '-q', '--object-format=sha256')
    project.git('add', '-A')
    project.git('commit', '-q', '-m', 'Start')
    await check(project)
  })
})

describe('forgetPositions', () => {
  it('deletes references, records and copies that nobody needs, and no others', async () => {
    const project = busyProject()
    const repository = await openRepository(project.root)
    const one = await keepPosition(repository, await takePosition(repository), 'refs/ralph/run/1')
    project.git('add', 'a.txt')
    const two = await keepPosition(repository, await takePosition(repository), 'refs/ralph/run/2')
    await forgetPositions(repository, [one.snapshot])
    expect(project.git('for-each-ref', '--format=%(refname)', 'refs/ralph')).toBe('refs/ralph/run/2\n')
    const positions = path.join(project.root, '.ralph/git/positions')
    expect(fs.readdirSync(path.join(positions, 'index'))).toHaveLength(1)
    const before = repositoryState(project)
    project.write('a.txt', 'agent\n')
    project.git('reset', '-q')
    await putBack(repository, two, { keepAs })
    expect(repositoryState(project)).toEqual(before)
  })
})

function subProject(top: TempProject, folder: string): TempProject {
  const root = path.join(top.root, folder)
  const inner = (file: string) => path.posix.join(folder, file)
  return {
    root,
    git: (...args) => top.git('-C', folder, ...args),
    tryGit: (...args) => top.tryGit('-C', folder, ...args),
    write: (file, content) => top.write(inner(file), content),
    read: file => top.read(inner(file)),
    exists: file => top.exists(inner(file)),
    remove: file => top.remove(inner(file)),
  }
}
