import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readRefFiles } from '../../src/git/ref-files.ts'
import { readRefs } from '../../src/git/refs.ts'
import { openRepository } from '../../src/git/repository.ts'
import { removeTempFolders, type TempProject, tempFolder, tempProject } from './temp-project.ts'

afterAll(removeTempFolders)

const namespaces = ['refs/heads', 'refs/tags', 'refs/stash', 'refs/notes', 'refs/replace', 'refs/ralph']

function told(project: TempProject): string[] {
  const format = '--format=%(objectname) %(refname)'
  return project
    .git('for-each-ref', format, ...namespaces)
    .trim()
    .split('\n')
    .sort()
}

async function read(project: TempProject) {
  const repository = await openRepository(project.root)
  const list = readRefFiles(repository, namespaces)
  return { list, all: [...(list?.refs ?? [])].map(([name, id]) => `${id} ${name}`).sort() }
}

describe('references read from their files', () => {
  it('are those that git names: loose, packed, both, deleted, annotated, notes and stash', async () => {
    const project = tempProject()
    for (const name of ['other', 'feature/a', 'feature/b', 'ümlaut', 'user@home']) project.git('branch', name)
    project.git('tag', '-a', '-m', 'x', 'v1')
    project.git('notes', 'add', '-m', 'x')
    project.write('a.txt', 'stashed\n')
    project.git('stash', '-q')
    project.git('pack-refs', '--all')
    project.git('commit', '-q', '--allow-empty', '-m', 'Next')
    project.git('branch', '-D', 'feature/a')
    project.git('branch', 'feature/a/b')
    project.git('update-ref', 'refs/ralph/run/1', 'HEAD')
    const { list, all } = await read(project)
    expect(all).toEqual(told(project))
    expect(list).toMatchObject({ head: project.git('rev-parse', 'HEAD').trim(), branch: 'main' })
    project.git('checkout', '-q', '--detach')
    expect((await read(project)).list).toMatchObject({ head: list?.head, branch: null })
  })

  it('tell which branches other worktrees have, from either side', async () => {
    const project = tempProject()
    const place = path.join(tempFolder(), 'linked')
    project.git('worktree', 'add', '-q', '-b', 'there', place)
    project.git('branch', 'free')
    expect([...((await read(project)).list?.elsewhere ?? [])]).toEqual(['refs/heads/there'])
    const linked = await openRepository(place)
    expect([...(readRefFiles(linked, namespaces)?.elsewhere ?? [])]).toEqual(['refs/heads/main'])
    expect((await readRefs(linked)).branch).toBe('there')
  })

  it('are left to git when one names another, or a file is not as git writes it', async () => {
    const project = tempProject()
    project.git('symbolic-ref', 'refs/heads/alias', 'refs/heads/main')
    expect((await read(project)).list).toBe(null)
    const repository = await openRepository(project.root)
    expect((await readRefs(repository)).refs.get('refs/heads/alias')).toBe(
      project.git('rev-parse', 'main').trim(),
    )
    project.git('symbolic-ref', '-d', 'refs/heads/alias')
    expect((await read(project)).list).not.toBe(null)
    for (const odd of ['', 'nonsense\n', `${'0'.repeat(40)}\n`]) {
      project.write('.git/refs/heads/odd', odd)
      expect((await read(project)).list, JSON.stringify(odd)).toBe(null)
    }
    fs.rmSync(path.join(project.root, '.git/refs/heads/odd'))
    fs.symlinkSync('main', path.join(project.root, '.git/refs/heads/odd'))
    expect((await read(project)).list).toBe(null)
  })

  it('are read in a repository with long ids', async () => {
    const root = tempFolder()
    execFileSync('git', ['init', '-q', '--object-format=sha256'], { cwd: root })
    execFileSync('git', ['commit', '-q', '--allow-empty', '-m', 'Start'], { cwd: root })
    const repository = await openRepository(root)
    const head = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
    expect(readRefFiles(repository, namespaces)?.head).toBe(head)
  })
})
