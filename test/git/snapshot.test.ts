import { execSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { auditPositions } from '../../src/git/audit.ts'
import { addedLines, changesBetween, patchBetween } from '../../src/git/changes.ts'
import { rawDir } from '../../src/git/private-dir.ts'
import { openRepository } from '../../src/git/repository.ts'
import { keepPosition, takePosition } from '../../src/git/snapshot.ts'
import { busyProject } from './busy-project.ts'
import { gitCalls } from './count-processes.ts'
import { gitAlone } from './git-alone.ts'
import { projectAt, removeTempFolders, repositoryState, tempProject, userHome } from './temp-project.ts'

afterAll(removeTempFolders)

describe('a position', () => {
  it('holds the whole folder, tracked and untracked, and leaves the user his index, stash and branches', async () => {
    const project = busyProject()
    const before = repositoryState(project)
    const indexBytes = fs.readFileSync(path.join(project.root, '.git/index'))
    const repository = await openRepository(project.root)
    const position = await takePosition(repository)
    await keepPosition(repository, position, 'refs/ralph/run/1')
    expect(fs.readFileSync(path.join(project.root, '.git/index')).equals(indexBytes)).toBe(true)
    expect(repositoryState(project)).toEqual(before)
    const names = project.git('ls-tree', '-r', '--name-only', position.tree).trim().split('\n')
    expect(names).toEqual([
      '.gitignore',
      'a.txt',
      'b.txt',
      'dir/c.txt',
      'link',
      'new.txt',
      'notes.txt',
      'run.sh',
    ])
    expect(project.git('show', `${position.tree}:dir/c.txt`)).toBe('staged, then changed\n')
    expect(position).toMatchObject({
      branch: 'main',
      head: project.git('rev-parse', 'HEAD').trim(),
      unfinished: null,
    })
  })

  it('is the same for the same content, and another one for every kind of change', async () => {
    const project = busyProject()
    const repository = await openRepository(project.root)
    const trees = [(await takePosition(repository)).tree]
    const afterChange = async (change: () => void) => {
      change()
      trees.push((await takePosition(repository)).tree)
    }
    await afterChange(() => project.write('notes.txt', 'UNTRACKED\n'))
    await afterChange(() => fs.chmodSync(path.join(project.root, 'notes.txt'), 0o755))
    await afterChange(() => fs.rmSync(path.join(project.root, 'link')))
    await afterChange(() => fs.symlinkSync('b.txt', path.join(project.root, 'link')))
    await afterChange(() => project.remove('dir'))
    await afterChange(() => project.write('dir', 'now a file\n'))
    expect(new Set(trees).size).toBe(trees.length)
    expect((await takePosition(repository)).tree).toBe(trees.at(-1))
    const fresh = await openRepository(project.root, { scratch: path.join(project.root, '.ralph/other') })
    expect((await takePosition(fresh)).tree).toBe(trees.at(-1))
  })

  it('sees a change that keeps size and time of the file', async () => {
    const project = tempProject({ 'a.txt': 'one\n' })
    const file = path.join(project.root, 'a.txt')
    const { atime, mtime } = fs.statSync(file)
    const repository = await openRepository(project.root)
    const before = await takePosition(repository)
    fs.writeFileSync(file, 'two\n')
    fs.utimesSync(file, atime, mtime)
    expect((await takePosition(repository)).tree).not.toBe(before.tree)
  })

  it('is not fooled by a private index or private git directory that somebody changed', async () => {
    const project = tempProject({ 'a.txt': 'one\n', 'b.txt': 'two\n' })
    const repository = await openRepository(project.root)
    const before = await takePosition(repository)
    const scratch = path.join(project.root, '.ralph/git')
    project.write('a.txt', 'changed\n')
    const env = { ...process.env, ...rawDir(repository).env }
    execSync('git update-index --assume-unchanged a.txt', { cwd: project.root, env })
    fs.appendFileSync(path.join(scratch, 'raw/info/exclude'), '*\n')
    project.write('new.txt', 'new\n')
    const after = await takePosition(repository)
    const { files } = await changesBetween(repository, before, after)
    expect(files).toEqual([
      { path: 'a.txt', how: 'modified' },
      { path: 'new.txt', how: 'added' },
    ])
  })

  it('goes on with the private index of an earlier process, even after its objects were swept away', async () => {
    const project = busyProject()
    const first = await takePosition(await openRepository(project.root))
    project.git('gc', '-q', '--prune=now')
    const again = await openRepository(project.root)
    const second = await takePosition(again)
    expect(second.tree).toBe(first.tree)
    expect(project.git('show', `${second.tree}:notes.txt`)).toBe('untracked\n')
    project.git('gc', '-q', '--prune=now')
    project.write('notes.txt', 'changed\n')
    const third = await takePosition(again)
    expect(project.git('show', `${third.tree}:dir/c.txt`)).toBe('staged, then changed\n')
  })

  it('forgets files that the user has since chosen to ignore', async () => {
    const project = tempProject()
    project.write('data/x.csv', '1\n')
    const first = await takePosition(await openRepository(project.root))
    expect(project.git('ls-tree', '-r', '--name-only', first.tree)).toContain('data/x.csv')
    project.write('.git/info/exclude', 'data/\n')
    const second = await takePosition(await openRepository(project.root))
    expect(project.git('ls-tree', '-r', '--name-only', second.tree)).toBe('a.txt\n')
  })

  it('honours the global ignore file of the user', async () => {
    const file = path.join(userHome(), '.config/git/ignore')
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, '*.swp\n')
    try {
      const project = tempProject()
      project.write('a.swp', 'editor\n')
      const position = await takePosition(await openRepository(project.root))
      expect(project.git('ls-tree', '-r', '--name-only', position.tree)).toBe('a.txt\n')
    } finally {
      fs.rmSync(file)
    }
  })
})

describe('positions at the same time', () => {
  it('wait for one another', async () => {
    const project = busyProject()
    const repository = await openRepository(project.root)
    const positions = await Promise.all([1, 2, 3, 4].map(() => takePosition(repository)))
    expect(new Set(positions.map(position => position.tree)).size).toBe(1)
  })
})

describe('keeping a position', () => {
  it('writes a reference only when something would be lost without it', async () => {
    const project = tempProject()
    const repository = await openRepository(project.root)
    const kept = () =>
      project.git('for-each-ref', '--format=%(refname) %(objecttype)', 'refs/ralph').trim().split('\n')
    await keepPosition(repository, await takePosition(repository), 'refs/ralph/run/1')
    expect(kept()).toEqual(['refs/ralph/run/1 commit'])
    await keepPosition(repository, await takePosition(repository), 'refs/ralph/run/2')
    expect(kept()).toEqual(['refs/ralph/run/1 commit'])
    project.write('b.txt', 'untracked\n')
    const base = await keepPosition(repository, await takePosition(repository), 'refs/ralph/run/3')
    expect(kept()).toEqual(['refs/ralph/run/1 commit', 'refs/ralph/run/3 commit'])
    expect(project.git('rev-parse', 'refs/ralph/run/3^{tree}').trim()).toBe(base.tree)
    expect(project.git('rev-parse', 'refs/ralph/run/3^').trim()).toBe(base.head)
    project.git('commit', '-q', '--allow-empty', '-m', 'Next')
    project.remove('b.txt')
    await keepPosition(repository, await takePosition(repository), 'refs/ralph/run/4')
    expect(kept()).toHaveLength(3)
  })

  it('takes any name that git takes, and no other', async () => {
    const project = tempProject()
    project.write('b.txt', 'untracked\n')
    const repository = await openRepository(project.root)
    const position = await takePosition(repository)
    const names = ['refs/ralph/run.1/story-1.2', 'refs/ralph/run.1/täsk/7']
    for (const name of names) {
      await keepPosition(repository, position, name)
      expect(project.git('rev-parse', `${name}^{tree}`).trim()).toBe(position.tree)
    }
    for (const name of [
      'refs/ralph/a b',
      'refs/ralph/a..b',
      'refs/ralph/x.lock',
      'refs/ralph/run.1',
      'refs/heads/main',
    ]) {
      await expect(keepPosition(repository, position, name), name).rejects.toThrow()
    }
    expect(project.git('for-each-ref', '--format=%(refname)', 'refs/ralph').trim().split('\n')).toEqual(names)
    expect(project.git('fsck')).toBe('')
  })

  it('survives a garbage collection', async () => {
    const project = tempProject()
    project.write('b.txt', 'untracked\n')
    const repository = await openRepository(project.root)
    const base = await keepPosition(repository, await takePosition(repository), 'refs/ralph/run/1')
    project.git('commit', '-q', '--amend', '-m', 'Rewritten')
    project.git('reflog', 'expire', '--expire=now', '--all')
    project.git('gc', '-q', '--prune=now')
    expect(project.git('show', `${base.tree}:b.txt`)).toBe('untracked\n')
    expect(project.git('cat-file', '-t', base.head)).toBe('commit\n')
  })
})

describe('git processes', () => {
  it('are none to look, to store and to keep in an ordinary project', async () => {
    const project = tempProject({ 'a.txt': 'one\n', 'b.txt': 'two\n' })
    const repository = await openRepository(project.root)
    const first = await takePosition(repository)
    const calls = await gitCalls(async () => {
      await keepPosition(repository, first, 'refs/ralph/run/1')
      project.write('a.txt', 'changed\n')
      project.write('new/c.txt', 'new\n')
      const second = await takePosition(repository)
      await changesBetween(repository, first, second)
      await auditPositions(repository, first, second)
      await keepPosition(repository, second, 'refs/ralph/run/2')
    })
    expect(calls).toEqual([])
  })

  it('are few where git must be asked', async () => {
    // A pattern that only git itself can judge.
    const project = tempProject({ 'a.txt': 'one\n', '.gitignore': '\\#x\n' })
    const repository = await openRepository(project.root)
    const first = await takePosition(repository)
    let position = first
    const take = async () => {
      position = await takePosition(repository)
    }
    expect(await gitCalls(take)).toEqual(['ls-files'])
    project.write('a.txt', 'changed\n')
    expect(await gitCalls(take)).toEqual(['ls-files'])
    expect(await gitCalls(() => changesBetween(repository, first, position))).toEqual([])
    gitAlone(repository)
    project.write('a.txt', 'changed again\n')
    expect(await gitCalls(take)).toEqual(['ls-files', 'ls-files', 'update-index', 'write-tree'])
    expect(await gitCalls(() => keepPosition(repository, position, 'refs/ralph/run/2'))).toEqual([
      'commit-tree',
    ])
  })
})

describe('changes', () => {
  it('are told by content, with the commits in between, and without excluded files', async () => {
    const project = busyProject()
    const repository = await openRepository(project.root)
    const before = await takePosition(repository)
    const base = await keepPosition(repository, before, 'refs/ralph/run/1')
    project.write('a.txt', 'unstaged\n')
    project.write('b.txt', 'agent\n')
    project.git('add', 'b.txt')
    project.git('commit', '-q', '-m', 'First', '--', 'b.txt')
    project.write('c.txt', 'agent\n')
    project.git('add', 'c.txt')
    project.git('commit', '-q', '-m', 'Second', '--', 'c.txt')
    project.remove('run.sh')
    project.write('state.json', '{}')
    const after = await takePosition(repository)
    const expected = {
      files: [
        { path: 'b.txt', how: 'modified' },
        { path: 'c.txt', how: 'added' },
        { path: 'run.sh', how: 'deleted' },
      ],
      commits: [project.git('rev-parse', 'HEAD~1').trim(), project.git('rev-parse', 'HEAD').trim()],
    }
    expect(await changesBetween(repository, before, after, { exclude: ['state.json'] })).toEqual(expected)
    const later = await takePosition(await openRepository(project.root))
    expect(await changesBetween(repository, base, later, { exclude: ['state.json'] })).toEqual(expected)
  })

  it('name very large files that git does not store', async () => {
    const project = tempProject()
    const size = (name: string, bytes: number) => {
      project.write(name, '')
      fs.truncateSync(path.join(project.root, name), bytes)
    }
    const large = 51 * 1024 * 1024
    size('same.bin', large)
    size('changed.bin', large)
    size('gone.bin', large)
    size('shrunk.bin', large)
    const repository = await openRepository(project.root)
    const before = await takePosition(repository)
    size('changed.bin', large + 1)
    size('shrunk.bin', 5)
    size('new.bin', large)
    project.remove('gone.bin')
    const { files } = await changesBetween(repository, before, await takePosition(repository))
    expect(files).toEqual([
      { path: 'changed.bin', how: 'modified' },
      { path: 'gone.bin', how: 'deleted' },
      { path: 'new.bin', how: 'added' },
      { path: 'shrunk.bin', how: 'modified' },
    ])
  })

  it('can be read as a patch and as added lines', async () => {
    const project = tempProject({ 'a test.js': 'one\ntwo\n', 'odd\nname.js': 'x\n', 'link.js': 'file\n' })
    const repository = await openRepository(project.root)
    const before = await takePosition(repository)
    project.write('a test.js', 'one\n+++ plus\n++two\n')
    project.write('odd\nname.js', 'y\n')
    project.remove('link.js')
    fs.symlinkSync('target', path.join(project.root, 'link.js'))
    project.write('b.js', 'new\n')
    const after = await takePosition(repository)
    const lines = await addedLines(repository, before, after, [
      'a test.js',
      'b.js',
      'link.js',
      'odd\nname.js',
      'absent.js',
    ])
    expect([...lines]).toEqual([
      ['a test.js', ['+++ plus', '++two']],
      ['b.js', ['new']],
      ['link.js', ['target']],
      ['odd\nname.js', ['y']],
    ])
    expect(await patchBetween(repository, before, after, { paths: ['b.js'] })).toContain('+new')
    const cut = await patchBetween(repository, before, after, { limit: 20 })
    expect(cut).toMatch(/^.{20}\n\[cut: \d+ more characters\]\n$/su)
  })

  it('are relative to the project when it is a folder of the repository', async () => {
    const top = tempProject({ 'app/a.txt': 'one\n', 'lib/b.txt': 'two\n' })
    const project = projectAt(path.join(top.root, 'app'))
    const repository = await openRepository(project.root)
    const before = await takePosition(repository)
    project.write('a.txt', 'changed\n')
    project.write('new/x.txt', 'new\n')
    top.write('lib/b.txt', 'changed\n')
    const after = await takePosition(repository)
    const { files } = await changesBetween(repository, before, after)
    expect(files.map(file => file.path)).toEqual(['a.txt', 'new/x.txt'])
    expect([...(await addedLines(repository, before, after, ['a.txt']))]).toEqual([['a.txt', ['changed']]])
    expect(await patchBetween(repository, before, after, { paths: ['a.txt'] })).toContain('+++ b/a.txt')
  })
})
