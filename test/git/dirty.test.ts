import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { dirtyFiles, dirtyRefusal } from '../../src/git/dirty.ts'
import { openRepository } from '../../src/git/repository.ts'
import { busyProject } from './busy-project.ts'
import { projectAt, removeTempFolders, resetUserConfig, tempProject } from './temp-project.ts'

afterAll(removeTempFolders)

describe('dirty files', () => {
  it('H-24 are tracked files with staged, unstaged or deleted content, not untracked ones', async () => {
    const project = busyProject()
    const repository = await openRepository(project.root)
    const index = fs.readFileSync(path.join(project.root, '.git/index'))
    expect(await dirtyFiles(repository)).toEqual(['a.txt', 'dir/c.txt', 'dir/d.txt', 'new.txt'])
    expect(await dirtyFiles(repository, { ignore: ['dir/', '*.md', 'new.txt'] })).toEqual(['a.txt'])
    expect(fs.readFileSync(path.join(project.root, '.git/index')).equals(index)).toBe(true)
  })

  it('are none in a clean repository, also when files were merely touched', async () => {
    const project = tempProject({ 'a.txt': 'one\n', '.gitattributes': '* text=auto\n', 'crlf.txt': 'a\r\n' })
    fs.utimesSync(path.join(project.root, 'a.txt'), 1, 1)
    fs.utimesSync(path.join(project.root, 'crlf.txt'), 1, 1)
    project.write('untracked.txt', 'x\n')
    expect(await dirtyFiles(await openRepository(project.root))).toEqual([])
  })

  it('include conflicts', async () => {
    const project = tempProject({ 'a.txt': 'one\n' })
    project.git('checkout', '-q', '-b', 'other')
    project.write('a.txt', 'two\n')
    project.git('commit', '-q', '-a', '-m', 'Two')
    project.git('checkout', '-q', 'main')
    project.write('a.txt', 'three\n')
    project.git('stash', '-q')
    project.git('merge', '-q', 'other')
    expect(project.tryGit('stash', 'pop', '-q')).toBe(false)
    expect(await dirtyFiles(await openRepository(project.root))).toEqual(['a.txt'])
  })

  it('are those of the project folder only', async () => {
    const top = tempProject({ 'app/a.txt': 'one\n', 'lib/b.txt': 'two\n' })
    top.write('app/a.txt', 'x\n')
    top.write('lib/b.txt', 'x\n')
    expect(await dirtyFiles(await openRepository(path.join(top.root, 'app')))).toEqual(['a.txt'])
    expect(projectAt(top.root).git('status', '--porcelain', '--untracked-files=no')).toBe(
      ' M app/a.txt\n M lib/b.txt\n',
    )
  })

  it('are not files of Git LFS that only look changed without it', async () => {
    resetUserConfig('[filter "lfs"]\n\tclean = exit 1\n')
    try {
      const project = tempProject({ '.gitattributes': '*.bin filter=lfs\n' })
      const id = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881'
      project.write('x.bin', `version https://git-lfs.github.com/spec/v1\noid sha256:${id}\nsize 1\n`)
      project.git('-c', 'filter.lfs.clean=cat', 'add', 'x.bin')
      project.git('-c', 'filter.lfs.clean=cat', 'commit', '-q', '-m', 'Pointer')
      project.write('x.bin', 'x')
      const repository = await openRepository(project.root)
      expect(await dirtyFiles(repository)).toEqual([])
      project.write('x.bin', 'y')
      expect(await dirtyFiles(repository)).toEqual(['x.bin'])
      project.remove('x.bin')
      expect(await dirtyFiles(repository)).toEqual(['x.bin'])
    } finally {
      resetUserConfig()
    }
  })
})

describe('the refusal', () => {
  it('H-24 lists at most ten files and names the ways on', () => {
    const few = dirtyRefusal(['a.txt', 'odd\nname'])
    expect(few.message).toBe('2 files have uncommitted changes:\n  a.txt\n  odd\\nname')
    expect(few.fix).toContain('--worktree')
    expect(few.fix).toContain('--in-place')
    expect(few.exitCode).toBe(1)
    const many = dirtyRefusal(Array.from({ length: 12 }, (_, index) => `f${index}`)).message.split('\n')
    expect(many).toHaveLength(12)
    expect(many.at(-1)).toBe('  and 2 more')
    expect(dirtyRefusal(['a']).message).toContain('1 file has')
  })
})
