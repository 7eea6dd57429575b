import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { putBack, restorePaths } from '../../src/git/put-back.ts'
import { takePosition } from '../../src/git/snapshot.ts'
import { busyProject } from './busy-project.ts'
import { keepAs, start } from './start.ts'
import { removeTempFolders, repositoryState, type TempProject, tempProject } from './temp-project.ts'

afterAll(removeTempFolders)

describe('ignored files', () => {
  it('are left alone, also when the agent takes the rule away, adds them by force or changes .git/info/exclude', async () => {
    const project = busyProject()
    project.write('.git/info/exclude', 'private.txt\n')
    project.write('private.txt', 'mine\n')
    const { repository, base, before } = await start(project)
    project.write('debug.log', 'more\n')
    project.write('.gitignore', '.ralph/\n')
    fs.writeFileSync(path.join(project.root, '.git/info/exclude'), '')
    project.git('add', '-f', '.env', 'debug.log', 'private.txt')
    project.git('commit', '-q', '-m', 'All of it')
    project.write('a.txt', 'agent\n')
    await takePosition(repository)
    await putBack(repository, base, { keepAs })
    expect(project.read('.env')).toBe('SECRET=1\n')
    expect(project.read('private.txt')).toBe('mine\n')
    expect(project.read('debug.log')).toBe('more\n')
    fs.writeFileSync(path.join(project.root, '.git/info/exclude'), 'private.txt\n')
    project.write('debug.log', 'log\n')
    expect(repositoryState(project)).toEqual(before)
  })

  it('do not hide the work of an agent that writes its own rules', async () => {
    const project = busyProject()
    const { repository, base, before } = await start(project)
    project.write('.gitignore', '.ralph/\n*.log\n.env\nbuild/\n')
    project.write('build/out.js', 'built\n')
    const { kept } = await putBack(repository, base, { keepAs })
    expect(repositoryState(project)).toEqual(before)
    expect(project.git('show', `${kept}-ignored:build/out.js`)).toBe('built\n')
    expect(project.git('show', `${kept}:.gitignore`)).toContain('build/')
  })

  it('keep their old content when they are tracked', async () => {
    const project = tempProject({ 'a.txt': 'one\n' })
    project.write('.gitignore', '*.gen\n')
    project.write('x.gen', 'tracked all the same\n')
    project.git('add', '-f', 'x.gen', '.gitignore')
    project.write('y.gen', 'only staged\n')
    project.git('commit', '-q', '-m', 'Generated')
    project.git('add', '-f', 'y.gen')
    const { repository, base, before } = await start(project)
    project.write('x.gen', 'changed\n')
    project.write('y.gen', 'changed\n')
    await putBack(repository, base, { keepAs })
    expect(repositoryState(project)).toEqual(before)
  })

  it('include the folder of Ralph, even if the project says otherwise', async () => {
    const project = tempProject({ '.gitignore': '!.ralph/\n!**\n' })
    project.write('.ralph/ralph.db', 'journal 1\n')
    const { repository, base } = await start(project)
    project.write('.ralph/ralph.db', 'journal 2\n')
    project.write('a.txt', 'agent\n')
    await putBack(repository, base, { keepAs })
    expect(project.read('.ralph/ralph.db')).toBe('journal 2\n')
    expect(project.git('ls-tree', '-r', '--name-only', base.tree)).not.toContain('.ralph')
  })
})

describe('very large untracked files', () => {
  const large = 51 * 1024 * 1024
  const sparse = (project: TempProject, name: string) => {
    project.write(name, '')
    fs.truncateSync(path.join(project.root, name), large)
  }

  it('are not stored; new ones are set aside, changed ones are named', async () => {
    const project = tempProject()
    sparse(project, 'video.bin')
    sparse(project, 'other.bin')
    const { repository, base } = await start(project)
    expect(project.git('ls-tree', '-r', '--name-only', base.tree)).toBe('a.txt\n')
    project.write('video.bin', 'cut\n')
    sparse(project, 'made/by-agent.bin')
    const result = await putBack(repository, base, { keepAs })
    expect(result.lost).toEqual(['video.bin'])
    expect(project.read('video.bin')).toBe('cut\n')
    expect(project.exists('other.bin')).toBe(true)
    expect(project.exists('made')).toBe(false)
    expect(project.exists(`.ralph/set-aside/${keepAs}/made/by-agent.bin`)).toBe(true)
  })

  it('are treated like repositories inside the project', async () => {
    const project = tempProject()
    const mine = path.join(project.root, 'mine')
    fs.cpSync(tempProject().root, mine, { recursive: true })
    const { repository, base } = await start(project)
    fs.cpSync(tempProject().root, path.join(project.root, 'vendor/lib'), { recursive: true })
    project.write('mine/a.txt', 'changed\n')
    await putBack(repository, base, { keepAs })
    expect(project.exists('vendor')).toBe(false)
    expect(project.read('mine/a.txt')).toBe('changed\n')
    expect(project.exists(`.ralph/set-aside/${keepAs}/vendor/lib/.git`)).toBe(true)
  })
})

describe('restorePaths', () => {
  it('gives back single files and leaves everything else as the agent made it', async () => {
    const project = busyProject()
    const { repository, base } = await start(project)
    project.write('a.txt', 'agent\n')
    project.write('notes.txt', 'agent\n')
    project.remove('run.sh')
    project.write('extra/new.txt', 'agent\n')
    await restorePaths(repository, base, ['notes.txt', 'run.sh', 'extra/new.txt'])
    expect(project.read('a.txt')).toBe('agent\n')
    expect(project.read('notes.txt')).toBe('untracked\n')
    expect(fs.statSync(path.join(project.root, 'run.sh')).mode & 0o111).not.toBe(0)
    expect(project.exists('extra')).toBe(false)
  })
})
