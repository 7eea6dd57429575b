import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import zlib from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { writeCommit } from '../../src/git/commit-object.ts'
import { parseIndex, serializeIndex } from '../../src/git/index-file.ts'
import { openRepository } from '../../src/git/repository.ts'
import { advancePosition, keepPosition, takePosition } from '../../src/git/snapshot.ts'
import { compareTrees, editTree } from '../../src/git/tree-object.ts'
import { gitCalls } from './count-processes.ts'
import { projectAt, removeTempFolders, tempFolder, tempProject } from './temp-project.ts'

afterAll(removeTempFolders)

function longIds() {
  const root = tempFolder()
  execFileSync('git', ['init', '-q', '--object-format=sha256'], { cwd: root })
  const project = projectAt(root)
  project.write('a.txt', 'one\n')
  project.git('add', '-A')
  project.git('commit', '-q', '-m', 'Start')
  return project
}

describe('objects without a git process', () => {
  it.each([
    ['short ids', () => tempProject()],
    ['long ids', longIds],
  ])('are those that git makes and reads, with %s', async (_, make) => {
    const project = make()
    const { trees } = await openRepository(project.root)
    const blob = trees.objects.write('blob', Buffer.from('text\n'))
    project.write('x', 'text\n')
    expect(project.git('hash-object', 'x').trim()).toBe(blob)
    expect(project.git('cat-file', 'blob', blob)).toBe('text\n')
    const head = project.git('rev-parse', 'HEAD^{tree}').trim()
    const names = ['b/c/d', 'b.txt', 'b0', 'ü/x', 'a.txt/now a folder']
    const tree = await editTree(
      trees,
      head,
      new Map(names.map(name => [name, { mode: '100755', id: blob }] as const)),
    )
    const listed = project.git('-c', 'core.quotePath=false', 'ls-tree', '-r', '--name-only', tree ?? '')
    expect(listed.trim().split('\n').sort()).toEqual([...names].sort())
    const back = await editTree(
      trees,
      tree,
      new Map([...names.map(name => [name, null] as const), ['a.txt', { mode: '100644', id: blob }]]),
    )
    expect(project.git('ls-tree', '-r', '--name-only', back ?? '')).toBe('a.txt\n')
    const differences = await compareTrees(trees, head, tree ?? '')
    const git = project.git('diff-tree', '-r', '--no-renames', '-z', '--name-only', head, tree ?? '')
    expect(differences?.map(one => one.path)).toEqual(git.split('\0').filter(Boolean).sort())
    const identity = { name: 'Ada', email: 'ada@example.org' }
    const commit = writeCommit(trees.objects, { tree: tree ?? '', parents: [], message: 'Text', identity })
    expect(project.git('log', '-1', '--format=%an <%ae> %cn%n%B', commit ?? '')).toBe(
      'Ada <ada@example.org> Ada\nText\n\n',
    )
    expect(project.git('fsck', '--strict')).not.toContain('error')
  })

  it('leave names to git that it would change', async () => {
    const { objects } = (await openRepository(tempProject().root)).trees
    for (const name of ['<Ada>', ' Ada', 'Ada.', 'A\nda', '']) {
      const identity = { name, email: 'ada@example.org' }
      expect(writeCommit(objects, { tree: '', parents: [], message: '', identity })).toBe(null)
    }
  })

  it('that somebody forged are not believed, and are written anew', async () => {
    const project = tempProject()
    const { objects } = (await openRepository(project.root)).trees
    const id = objects.idOf('blob', Buffer.from('real\n'))
    const file = path.join(project.root, '.git/objects', id.slice(0, 2), id.slice(2))
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, zlib.deflateSync(Buffer.from('blob 6\0forged')))
    expect(await objects.read(id)).toBe(null)
    objects.write('blob', Buffer.from('real\n'))
    expect(project.git('cat-file', 'blob', id)).toBe('real\n')
  })

  it('are read from packs by one process that stays', async () => {
    const project = tempProject({ 'a/b/c.txt': 'one\n', 'a/d.txt': 'two\n', 'e.txt': 'three\n' })
    project.git('gc', '-q', '--prune=now')
    const repository = await openRepository(project.root, { busy: true })
    let last = await takePosition(repository)
    const calls = await gitCalls(async () => {
      for (let round = 0; round < 3; round++) {
        project.write('a/b/c.txt', `round ${round}\n`)
        last = await takePosition(repository)
        project.write('e.txt', `round ${round}\n`)
        last = await advancePosition(repository, last, ['e.txt'])
        await keepPosition(repository, last, `refs/ralph/run/${round}`)
      }
    })
    expect(calls.filter(call => call !== 'cat-file')).toEqual([])
    expect(calls.length).toBeLessThanOrEqual(1)
    expect(project.git('show', `${last.tree}:a/b/c.txt`)).toBe('round 2\n')
    expect(project.git('show', `${last.tree}:a/d.txt`)).toBe('two\n')
  })

  it('that were cleared away before a reference kept them are written again', async () => {
    const project = tempProject()
    project.write('b.txt', 'untracked\n')
    const repository = await openRepository(project.root)
    const position = await takePosition(repository)
    project.git('prune', '--expire=now')
    expect(project.tryGit('cat-file', '-e', position.tree)).toBe(false)
    const base = await keepPosition(repository, position, 'refs/ralph/run/1')
    expect(project.git('show', `${base.tree}:b.txt`)).toBe('untracked\n')
    expect(project.git('fsck')).toBe('')
  })
})

describe('the index file', () => {
  it('is read as git wrote it, and git reads ours', async () => {
    const long = `${'long/'.repeat(60)}${'x'.repeat(200)}`
    const project = tempProject({ 'a.txt': 'one\n', 'dir/b c.txt': '', ü: 'x', [long]: 'y', '-n': 'z' })
    const file = path.join(project.root, '.git/index')
    const entries = parseIndex(fs.readFileSync(file), 20)
    const listed = project.git('ls-files', '-s', '-z')
    expect(entries?.map(({ mode, id, path: name }) => `${mode} ${id} 0\t${name}\0`).join('')).toBe(listed)
    const debug = project.git('ls-files', '--debug')
    fs.writeFileSync(file, serializeIndex([...(entries ?? [])].reverse(), 20))
    expect(project.git('ls-files', '-s', '-z')).toBe(listed)
    // Device numbers are not kept; git does not look at them either.
    const plain = (text: string) => text.replaceAll(/dev: \d+/gu, '').replaceAll(/flags: \w+/gu, '')
    expect(plain(project.git('ls-files', '--debug'))).toBe(plain(debug))
    expect(project.git('status', '--porcelain')).toBe('')
  })

  it('is left to git when it is split, of another version, or broken', () => {
    const project = tempProject()
    const read = () => parseIndex(fs.readFileSync(path.join(project.root, '.git/index')), 20)
    expect(read()).toHaveLength(1)
    project.git('update-index', '--index-version', '4')
    expect(read()).toBe(null)
    project.git('update-index', '--index-version', '2')
    const bytes = fs.readFileSync(path.join(project.root, '.git/index'))
    bytes[20] = (bytes[20] ?? 0) ^ 1
    expect(parseIndex(bytes, 20)).toBe(null)
    expect(parseIndex(bytes.subarray(0, 30), 20)).toBe(null)
    project.git('update-index', '--split-index')
    expect(read()).toBe(null)
  })
})
