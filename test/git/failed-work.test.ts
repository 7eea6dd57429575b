import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { archiveFailures } from '../../src/git/archive-branches.ts'
import { pushBranch } from '../../src/git/push-branch.ts'
import { putBack } from '../../src/git/put-back.ts'
import { openRepository } from '../../src/git/repository.ts'
import { workCommit } from '../../src/git/work-commit.ts'
import { keepAs, start } from './start.ts'
import { projectAt, removeTempFolders, tempFolder, tempProject } from './temp-project.ts'

afterAll(removeTempFolders)

describe('what tells of a failure', () => {
  it('S3-44 C-39 goes onto the branch as a file, though git ignores it and it never lay in a snapshot', async () => {
    const project = tempProject({ 'a.txt': 'one\n', '.gitignore': '.ralph_state.md\n.ralph.lock\n' })
    project.write('.ralph.lock', '1\n')
    const { repository, base } = await start(project)
    project.write('a.txt', 'two\n')
    const { kept } = await putBack(repository, base, { keepAs })
    const files = { '.ralph_state.md': 'task_id: ä\n' }
    const commit = await workCommit(repository, { base, kept, message: 'Failed\n', files })
    expect(project.git('ls-tree', '-r', '--name-only', commit).trim().split('\n')).toEqual([
      '.gitignore',
      '.ralph_state.md',
      'a.txt',
    ])
    expect(project.git('show', `${commit}:.ralph_state.md`)).toBe('task_id: ä\n')
    expect(project.git('show', `${commit}:a.txt`)).toBe('two\n')
    expect(project.read('a.txt')).toBe('one\n')
  })

  it('makes a commit of its own when the attempt had changed nothing', async () => {
    const project = tempProject()
    const { repository, base } = await start(project)
    const commit = await workCommit(repository, {
      base,
      kept: null,
      message: 'Failed\n',
      files: { 'x/state.md': 'x\n' },
    })
    expect(project.git('rev-parse', `${commit}^`).trim()).toBe(base.head)
    expect(project.git('diff', '--name-only', base.head, commit).trim()).toBe('x/state.md')
  })
})

describe('S3-41 branches of past failures', () => {
  it('are renamed, those of the tasks that are meant and no others', async () => {
    const project = tempProject()
    const names = [
      'auth-20260121-103045',
      'auth-20260121-103045-2',
      'auth-mail-20260121-103045',
      'auth-notes',
      'other-20260121-103045',
    ]
    for (const name of names) project.git('branch', `wip/ralph-fail-${name}`)
    project.git('branch', 'archive/ralph-fail-auth-20260121-103045')
    const repository = await openRepository(project.root)
    expect(await archiveFailures(repository, async () => ['auth', 'unknown'])).toEqual([
      'archive/ralph-fail-auth-20260121-103045-2',
      'archive/ralph-fail-auth-20260121-103045-2-2',
    ])
    const left = project.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/wip').trim().split('\n')
    expect(left).toEqual([
      'wip/ralph-fail-auth-mail-20260121-103045',
      'wip/ralph-fail-auth-notes',
      'wip/ralph-fail-other-20260121-103045',
    ])
    expect(await archiveFailures(repository, async () => ['auth'])).toEqual([])
  })

  it('asks for nothing when there is none, and leaves one that is checked out', async () => {
    const project = tempProject()
    const repository = await openRepository(project.root)
    const never = () => Promise.reject(new Error('asked'))
    expect(await archiveFailures(repository, never)).toEqual([])
    project.git('checkout', '-q', '-b', 'wip/ralph-fail-auth-20260121-103045')
    expect(await archiveFailures(repository, never)).toEqual([])
  })
})

describe('H-24 a branch is pushed only where the user said so', () => {
  it('to the remote, without a hook and without what an agent wrote into .git/config', async () => {
    const project = tempProject()
    const bare = projectAt(tempFolder())
    bare.git('init', '-q', '--bare', '--template=')
    project.git('remote', 'add', 'origin', bare.root)
    project.git('branch', 'wip/ralph-fail-x-20260121-103045')
    project.write('.git/hooks/pre-push', `#!/bin/sh\ntouch ${path.join(project.root, 'hooked')}\n`)
    project.git('config', 'remote.origin.receivepack', `touch ${path.join(project.root, 'evil')};`)
    project.git('config', 'core.sshCommand', '/bin/false')
    const repository = await openRepository(project.root)
    expect(await pushBranch(repository, 'origin', 'wip/ralph-fail-x-20260121-103045')).toBe(null)
    expect(bare.git('for-each-ref', '--format=%(refname)').trim()).toBe(
      'refs/heads/wip/ralph-fail-x-20260121-103045',
    )
    expect([project.exists('hooked'), project.exists('evil')]).toEqual([false, false])
  })

  it('and when there is no such remote, or it cannot be reached, that is told and nothing is lost', async () => {
    const project = tempProject()
    project.git('branch', 'wip/x')
    const repository = await openRepository(project.root)
    expect(await pushBranch(repository, 'origin', 'wip/x')).toBe("there is no remote 'origin'")
    project.git('remote', 'add', 'origin', path.join(project.root, 'nowhere'))
    expect(await pushBranch(repository, 'origin', 'wip/x')).toMatch(/\S/u)
    project.git('rev-parse', 'wip/x')
  })
})
