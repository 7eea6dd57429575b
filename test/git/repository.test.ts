import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { UserError } from '../../src/core/errors.ts'
import { openRepository, unfinishedOperation } from '../../src/git/repository.ts'
import { projectAt, removeTempFolders, resetUserConfig, tempFolder, tempProject } from './temp-project.ts'

afterAll(removeTempFolders)

describe('opening a repository', () => {
  it('tells where it is and where it stands', async () => {
    const project = tempProject()
    const repository = await openRepository(project.root)
    expect(repository).toMatchObject({
      root: project.root,
      top: project.root,
      prefix: '',
      gitDir: path.join(project.root, '.git'),
      commonDir: path.join(project.root, '.git'),
      branch: 'main',
      head: project.git('rev-parse', 'HEAD').trim(),
      settings: { identity: { name: 'Ada', email: 'ada@example.org' } },
    })
    expect(project.git('status', '--porcelain')).toBe('')
  })

  it('knows folders below the top, links to them, linked worktrees and a detached HEAD', async () => {
    const project = tempProject({ 'packages/app/a.txt': 'one\n' })
    const app = path.join(project.root, 'packages/app')
    expect(await openRepository(app)).toMatchObject({ root: app, top: project.root, prefix: 'packages/app/' })
    const link = path.join(tempFolder(), 'link')
    fs.symlinkSync(app, link)
    expect(await openRepository(link)).toMatchObject({ root: app, prefix: 'packages/app/' })
    const place = path.join(tempFolder(), 'linked')
    project.git('worktree', 'add', '-q', '--detach', place)
    expect(await openRepository(place)).toMatchObject({
      top: place,
      branch: null,
      commonDir: path.join(project.root, '.git'),
      gitDir: path.join(project.root, '.git/worktrees/linked'),
    })
  })

  it('takes the identity of the repository before the global one, and has one of its own', async () => {
    const project = tempProject()
    project.git('config', 'user.email', 'ada@work.example')
    expect((await openRepository(project.root)).settings.identity).toEqual({
      name: 'Ada',
      email: 'ada@work.example',
    })
    const nobody = tempProject()
    fs.writeFileSync(process.env.GIT_CONFIG_GLOBAL ?? '', '')
    try {
      expect((await openRepository(nobody.root)).settings.identity).toEqual({
        name: 'Ralph',
        email: 'ralph@localhost',
      })
    } finally {
      resetUserConfig()
    }
  })

  it('refuses what it cannot work in, and says what to do', async () => {
    const refusal = async (folder: string) => {
      const error = await openRepository(folder).catch((problem: unknown) => problem)
      if (!(error instanceof UserError)) throw error
      return `${error.message} → ${error.fix}`
    }
    const plain = tempFolder()
    expect(await refusal(plain)).toBe(
      `${plain} is not a git repository. → git init && git add -A && git commit -m "Start"`,
    )
    expect(await refusal(path.join(plain, 'none'))).toContain('does not exist')
    projectAt(plain).git('init', '-q')
    expect(await refusal(plain)).toContain('has no commit yet. → Make one: git add -A && git commit')
    const bare = tempFolder()
    projectAt(bare).git('init', '-q', '--bare')
    expect(await refusal(bare)).toContain('is a bare repository')
    const project = tempProject()
    expect(await refusal(path.join(project.root, '.git/refs'))).toContain('inside a .git folder')
  })

  it('refuses while a merge, rebase, cherry-pick, revert or bisect waits to be finished', async () => {
    const project = tempProject({ 'a.txt': 'one\n' })
    project.git('checkout', '-q', '-b', 'other')
    project.write('a.txt', 'two\n')
    project.git('commit', '-q', '-a', '-m', 'Two')
    project.git('checkout', '-q', 'main')
    project.write('a.txt', 'three\n')
    project.git('commit', '-q', '-a', '-m', 'Three')
    const operations: [string, string[], string[]][] = [
      ['merge', ['merge', 'other'], ['merge', '--abort']],
      ['rebase', ['rebase', 'other'], ['rebase', '--abort']],
      ['cherry-pick', ['cherry-pick', 'other'], ['cherry-pick', '--abort']],
      ['bisect', ['bisect', 'start'], ['bisect', 'reset']],
    ]
    for (const [name, begin, end] of operations) {
      project.tryGit(...begin)
      const error = await openRepository(project.root).catch((problem: unknown) => problem)
      expect(error).toMatchObject({
        message: expect.stringContaining(`A ${name} is in progress`),
        fix: expect.stringContaining(`git ${end.join(' ')}`),
      })
      expect(unfinishedOperation(await openRepository(project.root, { recovering: true }))).toBe(name)
      project.git(...end)
    }
    await openRepository(project.root)
  })

  it('clears what a killed engine left in its own folder', async () => {
    const project = tempProject()
    await openRepository(project.root)
    const lock = path.join(project.root, '.ralph/git/index.lock')
    fs.writeFileSync(lock, '')
    await openRepository(project.root)
    expect(fs.existsSync(lock)).toBe(false)
  })
})
