import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { commitAside, commitPaths } from '../../src/git/commit.ts'
import { openRepository } from '../../src/git/repository.ts'
import { busyProject } from './busy-project.ts'
import { gitCalls } from './count-processes.ts'
import { gitAlone } from './git-alone.ts'
import {
  projectAt,
  removeTempFolders,
  repositoryState,
  resetUserConfig,
  type TempProject,
  tempProject,
} from './temp-project.ts'

afterAll(removeTempFolders)

const head = (project: TempProject) => project.git('rev-parse', 'HEAD').trim()
const shown = (project: TempProject, commit: string) =>
  project.git('show', '--format=', '--name-status', '--no-renames', commit).trim().split('\n')

describe('committing', () => {
  it('H-08 commits exactly the given files; what else is staged stays staged, what is dirty stays dirty', async () => {
    const project = busyProject()
    const repository = await openRepository(project.root)
    project.write('b.txt', 'agent\n')
    project.write('made/new file.txt', 'agent\n')
    project.remove('run.sh')
    const parent = head(project)
    const paths = ['b.txt', 'made/new file.txt', 'run.sh']
    const { commit, left } = await commitPaths(repository, {
      paths,
      message: 'Do it\n\nBody: é\n',
      head: parent,
    })
    expect(left).toEqual([])
    expect(head(project)).toBe(commit)
    expect(project.git('symbolic-ref', 'HEAD').trim()).toBe('refs/heads/main')
    expect(shown(project, String(commit))).toEqual(['M\tb.txt', 'A\tmade/new file.txt', 'D\trun.sh'])
    expect(project.git('log', '-1', '--format=%P|%an <%ae>|%cn <%ce>|%B').trim()).toBe(
      `${parent}|Ada <ada@example.org>|Ada <ada@example.org>|Do it\n\nBody: é`,
    )
    expect(project.git('reflog', '-1', '--format=%gs').trim()).toBe('commit: Do it')
    expect(project.git('status', '--porcelain').trimEnd().split('\n')).toEqual([
      ' M a.txt',
      'MM dir/c.txt',
      ' D dir/d.txt',
      'A  new.txt',
      '?? notes.txt',
    ])
    expect(project.git('show', ':dir/c.txt')).toBe('staged\n')
    expect(project.git('stash', 'list').trim().split('\n')).toHaveLength(2)
  })

  it('commits nothing when the files are as HEAD has them', async () => {
    const project = busyProject()
    const before = repositoryState(project)
    const repository = await openRepository(project.root)
    expect(
      await commitPaths(repository, {
        paths: ['b.txt', 'run.sh', 'never.txt'],
        message: 'Nothing',
        head: head(project),
      }),
    ).toEqual({ commit: null, left: [] })
    expect(await commitPaths(repository, { paths: [], message: 'Nothing', head: head(project) })).toEqual({
      commit: null,
      left: [],
    })
    expect(repositoryState(project)).toEqual(before)
  })

  it('does nothing when HEAD has moved in the meantime', async () => {
    const project = tempProject()
    const repository = await openRepository(project.root)
    const old = head(project)
    project.git('commit', '-q', '--allow-empty', '-m', 'By the user')
    const moved = head(project)
    project.write('a.txt', 'agent\n')
    await expect(commitPaths(repository, { paths: ['a.txt'], message: 'Mine', head: old })).rejects.toThrow(
      'The branch moved',
    )
    expect(head(project)).toBe(moved)
  })

  it('runs no hook and signs nothing', async () => {
    const project = tempProject()
    project.write('.git/hooks/pre-commit', '#!/bin/sh\nexit 1\n')
    fs.chmodSync(path.join(project.root, '.git/hooks/pre-commit'), 0o755)
    project.git('config', 'commit.gpgSign', 'true')
    project.write('a.txt', 'agent\n')
    const repository = await openRepository(project.root)
    const { commit } = await commitPaths(repository, {
      paths: ['a.txt'],
      message: 'Mine',
      head: head(project),
    })
    expect(project.git('cat-file', 'commit', String(commit))).not.toContain('gpgsig')
  })

  it('takes strange names, links, modes and files in place of folders', async () => {
    const project = tempProject({ 'dir/x.txt': 'x\n', file: 'y\n' })
    project.remove('dir')
    project.write('dir', 'now a file\n')
    project.remove('file')
    project.write('file/inner', 'now a folder\n')
    project.write('-rf *', 'agent\n')
    project.write('new\nline', 'agent\n')
    fs.symlinkSync('dir', path.join(project.root, 'link'))
    fs.chmodSync(path.join(project.root, '-rf *'), 0o755)
    const repository = await openRepository(project.root)
    const paths = ['dir', 'dir/x.txt', 'file', 'file/inner', '-rf *', 'new\nline', 'link']
    const { commit } = await commitPaths(repository, { paths, message: 'Odd', head: head(project) })
    const tree = project.git('ls-tree', '-r', '-z', String(commit)).split('\0').filter(Boolean)
    expect(tree.map(line => `${line.slice(0, 6)} ${line.slice(line.indexOf('\t') + 1)}`)).toEqual([
      '100755 -rf *',
      '100644 dir',
      '100644 file/inner',
      '120000 link',
      '100644 new\nline',
    ])
    expect(project.git('status', '--porcelain', '--', '.', ':!.ralph')).toBe('')
  })

  it('commits again and again, also after somebody else did', async () => {
    const project = tempProject({ 'a.txt': 'one\n', 'b.txt': 'two\n' })
    const repository = await openRepository(project.root)
    for (const step of [1, 2, 3, 4]) {
      if (step === 3) project.git('commit', '-q', '--allow-empty', '-m', 'By an agent')
      project.write('a.txt', `${step}\n`)
      project.write(`new-${step}.txt`, 'new\n')
      const paths = ['a.txt', `new-${step}.txt`]
      const { commit } = await commitPaths(repository, {
        paths,
        message: `Step ${step}`,
        head: head(project),
      })
      expect(shown(project, String(commit))).toEqual(['M\ta.txt', `A\tnew-${step}.txt`])
    }
    expect(project.git('status', '--porcelain', '--', '.', ':!.ralph')).toBe('')
    expect(project.git('fsck', '--no-dangling')).toBe('')
  })

  it('waits for an index that somebody else has locked', async () => {
    const project = tempProject()
    project.write('a.txt', 'agent\n')
    const repository = await openRepository(project.root)
    const lock = path.join(project.root, '.git/index.lock')
    fs.writeFileSync(lock, '')
    setTimeout(() => fs.rmSync(lock), 200)
    const { commit } = await commitPaths(repository, {
      paths: ['a.txt'],
      message: 'Mine',
      head: head(project),
    })
    expect(head(project)).toBe(commit)
  })

  it('works in a folder of the repository, on a detached HEAD and in a linked worktree', async () => {
    const top = tempProject({ 'app/a.txt': 'one\n', 'lib/b.txt': 'two\n' })
    const place = `${top.root}-linked`
    top.git('worktree', 'add', '-q', '--detach', place)
    try {
      const linked = projectAt(place)
      linked.write('app/a.txt', 'agent\n')
      linked.write('lib/b.txt', 'not meant\n')
      const repository = await openRepository(path.join(place, 'app'))
      const { commit } = await commitPaths(repository, {
        paths: ['a.txt'],
        message: 'Mine',
        head: head(linked),
      })
      expect(head(linked)).toBe(commit)
      expect(shown(linked, String(commit))).toEqual(['M\tapp/a.txt'])
      expect(linked.git('status', '--porcelain', '--untracked-files=no')).toBe(' M lib/b.txt\n')
      expect(top.git('status', '--porcelain', '--untracked-files=no')).toBe('')
    } finally {
      fs.rmSync(place, { recursive: true, force: true })
    }
  })
})

describe('conversions', () => {
  it('are those of the user: line ends and encodings', async () => {
    const project = tempProject({ '.gitattributes': '* text=auto\n*.u16 working-tree-encoding=UTF-16LE\n' })
    const repository = await openRepository(project.root)
    project.write('crlf.txt', 'a\r\nb\r\n')
    project.write('y.u16', Buffer.from('hé\n', 'utf16le'))
    const { commit } = await commitPaths(repository, {
      paths: ['crlf.txt', 'y.u16'],
      message: 'Mine',
      head: head(project),
    })
    expect(project.git('show', `${commit}:crlf.txt`)).toBe('a\nb\n')
    expect(project.git('show', `${commit}:y.u16`)).toBe('hé\n')
    expect(project.git('status', '--porcelain', '--', '.', ':!.ralph')).toBe('')
  })

  it('of Git LFS are made without running it; other filters are left to the user', async () => {
    resetUserConfig('[filter "lfs"]\n\tclean = exit 1\n\trequired = true\n')
    try {
      const project = tempProject()
      project.write(
        '.gitattributes',
        '*.bin filter=lfs diff=lfs merge=lfs -text\n*.key filter=git-crypt\n*.free filter=undefined\n',
      )
      project.git('config', 'filter.git-crypt.clean', 'exit 1')
      const repository = await openRepository(project.root)
      project.write('big.bin', 'x'.repeat(5000))
      project.write('secret.key', 'plain\n')
      project.write('a.free', 'free\n')
      const { commit, left } = await commitPaths(repository, {
        paths: ['big.bin', 'secret.key', 'a.free'],
        message: 'Mine',
        head: head(project),
      })
      expect(left).toEqual(['secret.key'])
      expect(shown(project, String(commit))).toEqual(['A\ta.free', 'A\tbig.bin'])
      const pointer = project.git('cat-file', 'blob', `${commit}:big.bin`)
      const id =
        /^version https:\/\/git-lfs\.github\.com\/spec\/v1\noid sha256:([0-9a-f]{64})\nsize 5000\n$/u.exec(
          pointer,
        )?.[1] ?? ''
      expect(project.read(`.git/lfs/objects/${id.slice(0, 2)}/${id.slice(2, 4)}/${id}`)).toBe(
        'x'.repeat(5000),
      )
    } finally {
      resetUserConfig()
    }
  })
})

describe('a commit made without git', () => {
  const changed = ['b.txt', 'dir/new.txt', 'gone/away', 'link', 'run.sh', 'a']
  const change = (project: TempProject) => {
    project.write('b.txt', 'one\r\ntwo\n')
    project.write('dir/new.txt', 'x\r\n')
    project.remove('gone')
    project.remove('link')
    fs.symlinkSync('elsewhere', path.join(project.root, 'link'))
    fs.chmodSync(path.join(project.root, 'run.sh'), 0o755)
    project.remove('a')
    project.write('a', 'a file now\n')
  }
  const files = {
    'b.txt': '',
    'gone/away': 'x',
    link: 'x',
    'run.sh': 'x',
    'a/b': 'x',
    'dir/c.txt': 'x',
  }
  const cases: [string, Record<string, string>, (project: TempProject) => void][] = [
    ['nothing has a say', {}, () => {}],
    ['attributes do', { '.gitattributes': '* text=auto\n' }, () => {}],
    ['attributes of a folder do', { 'dir/.gitattributes': '*.txt text\n' }, () => {}],
    ['deleted attributes do', { '.gitattributes': '* text\n' }, project => project.remove('.gitattributes')],
    ['new attributes do', {}, project => project.write('dir/.gitattributes', '* text\n')],
    ['a setting does', {}, project => project.git('config', 'core.autocrlf', 'input')],
    ['modes do not count', {}, project => project.git('config', 'core.filemode', 'false')],
    ['a file of the repository does', {}, project => project.write('.git/info/attributes', '* text\n')],
  ]

  it.each(cases)('holds what git would store when %s', async (_, more, prepare) => {
    const project = tempProject({ ...files, ...more })
    prepare(project)
    const repository = await openRepository(project.root)
    change(project)
    const input = { paths: changed, message: 'Work', head: head(project) }
    const ours = await commitAside(repository, input)
    const theirs = await commitAside(gitAlone(repository), input)
    const tree = (commit: string | null) => project.git('ls-tree', '-r', String(commit))
    expect(tree(ours.commit)).toBe(tree(theirs.commit))
  })

  it('takes two git processes: the user’s index and the branch', async () => {
    const project = tempProject(files)
    const repository = await openRepository(project.root)
    change(project)
    const input = { paths: changed, message: 'Work', head: head(project) }
    expect(await gitCalls(() => commitPaths(repository, input))).toEqual(['update-index', 'update-ref'])
    expect(project.git('status', '--porcelain')).toBe('?? .ralph/\n')
  })
})

describe('a commit aside', () => {
  it('holds the given files on top of any commit and moves nothing', async () => {
    const project = busyProject()
    const start = head(project)
    const before = repositoryState(project)
    const repository = await openRepository(project.root)
    project.write('b.txt', 'agent\n')
    const other = project.git('rev-parse', 'other').trim()
    const { commit } = await commitAside(repository, {
      paths: ['b.txt'],
      message: 'Ralph Loop failed: 1',
      head: other,
    })
    expect(shown(project, String(commit))).toEqual(['M\tb.txt'])
    expect(project.git('rev-parse', `${commit}^`).trim()).toBe(other)
    expect(head(project)).toBe(start)
    project.write('b.txt', 'two\n')
    expect(repositoryState(project)).toEqual(before)
  })
})
