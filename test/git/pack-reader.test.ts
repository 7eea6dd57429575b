import fs from 'node:fs'
import { afterAll, expect, it } from 'vitest'
import { createPackReader } from '../../src/git/pack-reader.ts'
import { removeTempFolders, tempProject } from './temp-project.ts'

afterAll(removeTempFolders)

function packed() {
  const project = tempProject({ 'a.txt': 'one\n', 'empty.txt': '', 'big.txt': 'x'.repeat(300_000) })
  project.git('gc', '-q', '--prune=now')
  const id = (file: string) => project.git('rev-parse', `HEAD:${file}`).trim()
  return { project, id, read: createPackReader(() => ({ cwd: project.root })) }
}

it('gives many answers at once, each to whom it belongs', async () => {
  const { project, id, read } = packed()
  const names = ['a.txt', 'big.txt', 'empty.txt', 'a.txt']
  const missing = '0123456789'.repeat(4)
  const found = await Promise.all([...names.map(name => read(id(name))), read(missing), read('HEAD\n')])
  const texts = names.map(name => project.read(name))
  expect(found.map(one => one?.body.toString() ?? null)).toEqual([...texts, null, null])
  expect((await read(project.git('rev-parse', 'HEAD').trim()))?.type).toBe('commit')
})

it('goes on after its process was killed', async () => {
  const { project, id, read } = packed()
  expect(await read(id('a.txt'))).not.toBe(null)
  const mine = fs.readdirSync('/proc').filter(pid => {
    try {
      return (
        fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('cat-file\0--batch') &&
        fs.readlinkSync(`/proc/${pid}/cwd`) === project.root
      )
    } catch {
      return false
    }
  })
  expect(mine).toHaveLength(1)
  process.kill(Number(mine[0]), 'SIGKILL')
  // The first question may meet the dying process; git is asked then.
  await read(id('a.txt'))
  expect((await read(id('a.txt')))?.body.toString()).toBe('one\n')
})
