import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { putBack } from '../../src/git/put-back.ts'
import { openRepository } from '../../src/git/repository.ts'
import { busyProject } from './busy-project.ts'
import { keepAs, start } from './start.ts'
import { files, removeTempFolders, repositoryState, tempProject } from './temp-project.ts'

afterAll(removeTempFolders)

describe('G-19 putting back', () => {
  it('G-19 undoes edits, renames, deletions, modes, links and new files, and leaves the earlier uncommitted work as it was', async () => {
    const project = busyProject()
    const { repository, base, before } = await start(project)
    project.write('a.txt', 'by the agent\n')
    fs.renameSync(path.join(project.root, 'b.txt'), path.join(project.root, 'renamed.txt'))
    project.remove('new.txt')
    project.remove('link')
    project.write('link', 'now a file\n')
    fs.chmodSync(path.join(project.root, 'run.sh'), 0o644)
    project.write('dir/d.txt', 'the user had deleted it\n')
    project.write('notes.txt', 'spoilt\n')
    project.write('made/by/agent.txt', 'new\n')
    project.git('add', '-A')

    const result = await putBack(repository, base, { keepAs })
    expect(repositoryState(project)).toEqual(before)
    expect(project.exists('made')).toBe(false)
    expect(result.kept).toBe(keepAs)
    expect(result.files.map(file => `${file.how} ${file.path}`)).toEqual([
      'modified a.txt',
      'deleted b.txt',
      'added dir/d.txt',
      'modified link',
      'added made/by/agent.txt',
      'deleted new.txt',
      'modified notes.txt',
      'added renamed.txt',
      'modified run.sh',
    ])
    expect(project.git('show', `${keepAs}:made/by/agent.txt`)).toBe('new\n')
    expect(project.git('show', `${keepAs}:notes.txt`)).toBe('spoilt\n')
  })

  it('H-24 undoes the commits, branches, tags and stash entries of the attempt, and keeps its commits', async () => {
    const project = busyProject()
    const { repository, base, before } = await start(project)
    project.write('a.txt', 'by the agent\n')
    project.git('commit', '-q', '-a', '-m', 'Mine')
    const mine = project.git('rev-parse', 'HEAD').trim()
    project.git('checkout', '-q', '-b', 'feature')
    project.git('commit', '-q', '--allow-empty', '-m', 'There')
    const there = project.git('rev-parse', 'HEAD').trim()
    project.git('branch', '-f', 'other', 'HEAD')
    project.git('tag', 'v2')
    project.git('tag', '-d', 'v1')
    project.git('stash', 'drop', '-q')
    project.git('checkout', '-q', '--detach')

    const { kept } = await putBack(repository, base, { keepAs })
    expect(repositoryState(project)).toEqual(before)
    const log = project.git('log', '--format=%H', String(kept))
    expect(log).toContain(mine)
    expect(log).toContain(there)
  })

  it('puts back after a rewritten history, a deleted branch and an unborn one', async () => {
    const project = busyProject()
    const { repository, base, before } = await start(project)
    project.git('checkout', '-q', '--orphan', 'empty')
    project.git('rm', '-q', '-r', '-f', '--cached', '.')
    project.git('branch', '-D', 'main')
    project.git('branch', 'main/nested', 'other')
    await putBack(repository, base, { keepAs })
    expect(repositoryState(project)).toEqual(before)
  })

  it('G-19 puts back from the recorded start alone, in another process, after a merge that was interrupted', async () => {
    const project = busyProject()
    const { base, before } = await start(project)
    project.git('stash', 'push', '-q', '--include-untracked')
    project.git('checkout', '-q', 'other')
    project.write('a.txt', 'conflict\n')
    project.git('commit', '-q', '-a', '-m', 'Conflict')
    project.git('checkout', '-q', 'main')
    project.write('a.txt', 'other side\n')
    project.git('commit', '-q', '-a', '-m', 'Other side')
    expect(project.tryGit('merge', 'other')).toBe(false)
    fs.writeFileSync(path.join(project.root, '.git/index.lock'), '')
    fs.writeFileSync(path.join(project.root, '.git/refs/heads/main.lock'), '')

    await expect(openRepository(project.root)).rejects.toThrow('A merge is in progress')
    const later = await openRepository(project.root, { recovering: true })
    const { kept } = await putBack(later, JSON.parse(JSON.stringify(base)), { keepAs })
    expect(repositoryState(project)).toEqual(before)
    expect(kept).toBe(keepAs)
    expect(project.exists('.git/MERGE_HEAD')).toBe(false)
    await openRepository(project.root)
  })

  it('puts files, branch and commit back even when the record of the start is lost', async () => {
    const project = tempProject({ 'a.txt': 'one\n', 'b.txt': 'two\n' })
    const { base } = await start(project)
    const before = files(project.root)
    project.write('a.txt', 'changed\n')
    project.remove('b.txt')
    project.git('commit', '-q', '-a', '-m', 'Mine')
    project.git('checkout', '-q', '-b', 'elsewhere')
    fs.rmSync(path.join(project.root, '.ralph/git/positions'), { recursive: true })

    const later = await openRepository(project.root, { recovering: true })
    await putBack(later, base, { keepAs })
    expect(files(project.root)).toEqual(before)
    expect(project.git('symbolic-ref', 'HEAD').trim()).toBe('refs/heads/main')
    expect(project.git('rev-parse', 'HEAD').trim()).toBe(base.head)
    expect(project.git('status', '--porcelain', '--untracked-files=no')).toBe('')
  })

  it('can be repeated when it was interrupted half-way, and keeps the first, whole state', async () => {
    const project = busyProject()
    const { repository, base, before } = await start(project)
    project.write('a.txt', 'by the agent\n')
    project.write('made.txt', 'new\n')
    await putBack(repository, base, { keepAs })
    const first = project.git('rev-parse', keepAs)
    project.write('a.txt', 'by the agent\n')
    const later = await openRepository(project.root, { recovering: true })
    await putBack(later, base, { keepAs })
    expect(repositoryState(project)).toEqual(before)
    expect(project.git('rev-parse', keepAs)).toBe(first)
    expect(project.git('show', `${keepAs}-2:a.txt`)).toBe('by the agent\n')
  })

  it('keeps nothing and changes nothing when nothing was changed', async () => {
    const project = busyProject()
    const { repository, base, before } = await start(project)
    const result = await putBack(repository, base, { keepAs })
    expect(result).toMatchObject({ kept: null, files: [], lost: [] })
    expect(repositoryState(project)).toEqual(before)
    expect(project.git('for-each-ref', 'refs/ralph/kept')).toBe('')
  })

  it('keeps nothing when asked not to', async () => {
    const project = busyProject()
    const { repository, base, before } = await start(project)
    project.write('a.txt', 'by the agent\n')
    const { kept } = await putBack(repository, base, { keepAs: null })
    expect(kept).toBeNull()
    expect(repositoryState(project)).toEqual(before)
  })

  it('leaves the files of the engine as they are', async () => {
    const project = tempProject({ 'a.txt': 'one\n', 'plan.md': 'open\n', 'state/tasks.json': '[]\n' })
    const { repository, base } = await start(project)
    project.write('a.txt', 'changed\n')
    project.write('plan.md', 'done\n')
    project.write('state/extra.json', '{}\n')
    project.remove('state/tasks.json')
    await putBack(repository, base, { keepAs, exclude: ['plan.md', 'state/'] })
    expect(project.read('a.txt')).toBe('one\n')
    expect(project.read('plan.md')).toBe('done\n')
    expect(project.exists('state/extra.json')).toBe(true)
    expect(project.exists('state/tasks.json')).toBe(false)
  })

  it('puts a file back where the agent made a folder, and the other way round, and never writes through a link', async () => {
    const project = tempProject({ 'a.txt': 'one\n', 'dir/b.txt': 'two\n', 'deep/er/c.txt': 'three\n' })
    const outside = tempProject({ 'c.txt': 'outside\n' })
    const { repository, base, before } = await start(project)
    project.remove('a.txt')
    project.write('a.txt/inner.txt', 'x\n')
    project.remove('dir')
    project.write('dir', 'a file\n')
    project.remove('deep/er')
    fs.symlinkSync(outside.root, path.join(project.root, 'deep/er'))
    await putBack(repository, base, { keepAs })
    expect(repositoryState(project)).toEqual(before)
    expect(outside.read('c.txt')).toBe('outside\n')
    expect(outside.exists('.git')).toBe(true)
  })

  it('handles any file name', async () => {
    const names = [
      'with space.txt',
      'new\nline.txt',
      'ünïcode 💀.txt',
      '-rf',
      '--',
      '*',
      '[a]',
      ':(top)x',
      'tab\there',
      'quote"\\',
      ' ',
      '!x',
      '#y',
    ]
    const project = tempProject(Object.fromEntries(names.map(name => [name, `content of ${name}\n`])))
    const { repository, base, before } = await start(project)
    for (const [index, name] of names.entries()) {
      if (index % 3 === 0) project.write(name, 'changed\n')
      if (index % 3 === 1) project.remove(name)
      project.write(`new/${name}`, 'new\n')
    }
    const { files: undone } = await putBack(repository, base, { keepAs })
    expect(repositoryState(project)).toEqual(before)
    expect(undone.map(file => file.path)).toContain('new\nline.txt')
    expect(undone.map(file => file.path)).toContain('new/ünïcode 💀.txt')
  })

  it('handles names that are not UTF-8', async () => {
    const project = tempProject()
    const { repository, base, before } = await start(project)
    const name = Buffer.concat([
      Buffer.from(`${project.root}/bad-`),
      Buffer.from([0xff, 0xfe, 0xe2, 0x82]),
      Buffer.from('.txt'),
    ])
    fs.writeFileSync(name, 'agent\n')
    const { files: undone } = await putBack(repository, base, { keepAs })
    expect(undone).toHaveLength(1)
    expect(fs.existsSync(name)).toBe(false)
    expect(repositoryState(project)).toEqual(before)
  })

  it('gives back the very bytes, whatever line ends, encodings and filters are configured', async () => {
    const project = tempProject()
    project.write(
      '.gitattributes',
      '* text=auto eol=crlf\n*.id ident\n*.u16 working-tree-encoding=UTF-16LE\n*.up filter=upper\n',
    )
    project.git('config', 'filter.upper.clean', 'tr a-z A-Z')
    project.git('config', 'filter.upper.smudge', 'tr A-Z a-z')
    project.git('config', 'core.autocrlf', 'true')
    const bytes: Record<string, Buffer> = {
      'mixed.txt': Buffer.from('a\r\nb\nc\r\n'),
      'x.id': Buffer.from('$Id$\r\n'),
      'y.u16': Buffer.from('hé\r\n', 'utf16le'),
      'z.up': Buffer.from('MiXed\n'),
      'bin.dat': Buffer.from([0, 13, 10, 10, 255, 0]),
    }
    for (const [name, content] of Object.entries(bytes)) project.write(name, content)
    project.git('add', '-A')
    project.git('commit', '-q', '-m', 'Odd files')
    const { repository, base } = await start(project)
    for (const name of Object.keys(bytes)) project.write(name, 'spoilt!\n')
    project.git('commit', '-q', '-a', '-m', 'Spoilt')
    await putBack(repository, base, { keepAs })
    for (const [name, content] of Object.entries(bytes))
      expect(fs.readFileSync(path.join(project.root, name)).equals(content), name).toBe(true)
    expect(project.git('status', '--porcelain', '--untracked-files=no')).toBe('')
  })

  it('replaces pipes, and opens folders that the agent closed', async () => {
    const project = tempProject({ 'a.txt': 'one\n', 'dir/b.txt': 'two\n' })
    const { repository, base, before } = await start(project)
    project.remove('a.txt')
    execFileSync('mkfifo', [path.join(project.root, 'a.txt')])
    project.remove('dir/b.txt')
    fs.chmodSync(path.join(project.root, 'dir'), 0o500)
    await putBack(repository, base, { keepAs })
    expect(repositoryState(project)).toEqual(before)
    expect(fs.statSync(path.join(project.root, 'dir')).mode & 0o700).toBe(0o700)
  })

  it('does not make git trust a file that was changed in the second it was staged', async () => {
    const project = tempProject({ 'a.txt': 'one\n' })
    const second = (file: string) => Math.floor(fs.statSync(path.join(project.root, file)).mtimeMs / 1000)
    do {
      project.write('a.txt', 'two\n')
      project.git('add', 'a.txt')
      project.write('a.txt', 'six\n')
    } while (second('a.txt') !== second('.git/index'))
    const { repository, base } = await start(project)
    await new Promise(resolve => setTimeout(resolve, 1100))
    project.git('reset', '-q')
    await putBack(repository, base, { keepAs })
    expect(project.git('show', ':a.txt')).toBe('two\n')
    expect(project.git('diff')).toContain('+six')
  })

  it('keeps an empty folder of the user that the agent used', async () => {
    const project = tempProject()
    fs.mkdirSync(path.join(project.root, 'mine/empty'), { recursive: true })
    await new Promise(resolve => setTimeout(resolve, 30))
    const { repository, base } = await start(project)
    project.write('mine/empty/x.txt', 'agent\n')
    await putBack(repository, base, { keepAs })
    expect(project.exists('mine/empty/x.txt')).toBe(false)
    expect(project.exists('mine/empty')).toBe(true)
  })
})
