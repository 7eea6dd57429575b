import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { cached, folderTree, inside, type TreeReader } from '../../src/gates/tree.ts'
import { type Bench, bench } from './helpers/run.ts'

let project: Bench | null = null
afterEach(() => project?.remove())

describe('folderTree', () => {
  it('reads files and lists folders as a tree of git would', () => {
    project = bench({ 'a.txt': 'text', 'sub/b.txt': 'more', 'big.bin': 'x'.repeat(1_000_001) })
    symlinkSync('sub', join(project.root, 'link'))
    const tree = folderTree(project.root)
    expect(tree.list('').sort()).toEqual(['a.txt', 'big.bin', 'link', 'sub/'])
    expect(tree.list('sub')).toEqual(['b.txt'])
    expect([tree.list('a.txt'), tree.list('none')]).toEqual([[], []])
    expect([tree.read('a.txt'), tree.read('sub/b.txt')]).toEqual(['text', 'more'])
    expect([tree.read('sub'), tree.read('none'), tree.read('big.bin')]).toEqual([null, null, null])
  })
})

describe('cached', () => {
  it('asks for each thing once, and for nothing below a folder that is not there', async () => {
    const asked: string[] = []
    const reader: TreeReader = {
      read(path) {
        asked.push(`read ${path}`)
        return 'text'
      },
      async list(folder) {
        asked.push(`list ${folder}`)
        return folder === '' ? ['a', 'sub/'] : ['b']
      },
    }
    const tree = cached(reader)
    expect(
      await Promise.all([
        tree.read('a'),
        tree.read('a'),
        tree.read('sub/b'),
        tree.read('none/deep/c'),
        tree.read('sub'),
      ]),
    ).toEqual(['text', 'text', 'text', null, null])
    expect(
      await Promise.all([tree.isFile('a'), tree.isFile('sub'), tree.isFile('sub/b'), tree.isFile('sub/c')]),
    ).toEqual([true, false, true, false])
    expect(asked.sort()).toEqual(['list ', 'list sub', 'read a', 'read sub/b'])
  })
})

describe('inside', () => {
  it('takes paths from the root, and none that lead outside', () => {
    expect([inside('', './a/../b'), inside('sub', 'c/'), inside('sub', '..'), inside('sub', '../d')]).toEqual(
      ['b', 'sub/c', '', 'd'],
    )
    expect([
      inside('', '../a'),
      inside('sub', '../../a'),
      inside('', '/etc/passwd'),
      inside('', '~/a'),
      inside('', ''),
    ]).toEqual([null, null, null, null, null])
  })
})
