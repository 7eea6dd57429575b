import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { type AuditOptions, auditPositions } from '../../src/git/audit.ts'
import { openRepository } from '../../src/git/repository.ts'
import { takePosition } from '../../src/git/snapshot.ts'
import { busyProject } from './busy-project.ts'
import { projectAt, removeTempFolders, type TempProject, tempFolder, tempProject } from './temp-project.ts'

afterAll(removeTempFolders)

/** What the audit says of an attempt, as `rule path`. */
async function audit(
  project: TempProject,
  attempt: () => void,
  options: AuditOptions = {},
): Promise<string[]> {
  const repository = await openRepository(project.root)
  const before = await takePosition(repository)
  attempt()
  const violations = await auditPositions(repository, before, await takePosition(repository), options)
  for (const violation of violations) expect(violation.detail).toMatch(/^[A-Z][^\n]+[^.\n]$/u)
  return violations.map(violation => `${violation.rule} ${violation.path}`)
}

describe('an honest attempt', () => {
  it('has nothing to answer for', async () => {
    const project = busyProject()
    const found = await audit(project, () => {
      project.write('b.txt', 'agent\n')
      project.write('made.txt', 'agent\n')
      project.git('add', 'b.txt', 'made.txt')
      project.git('commit', '-q', '-m', 'Mine', '--', 'b.txt', 'made.txt')
      project.write('made.txt', 'agent, later\n')
      project.git('commit', '-q', '-m', 'Mine too', '--', 'made.txt')
      project.write('uncommitted.txt', 'agent\n')
      project.git('rm', '-q', 'run.sh')
      project.git('commit', '-q', '-m', 'Without it', '--', 'run.sh')
    })
    expect(found).toEqual([])
  })

  it('may commit with line ends converted, and merge what is on another branch', async () => {
    const project = tempProject({ '.gitattributes': '* text=auto\n', 'a.txt': 'one\n' })
    project.git('checkout', '-q', '-b', 'other')
    project.write('from-other.txt', 'x\n')
    project.git('add', '-A')
    project.git('commit', '-q', '-m', 'Other')
    project.git('checkout', '-q', 'main')
    project.write('crlf.txt', 'a\r\nb\r\n')
    project.git('add', 'crlf.txt')
    project.git('commit', '-q', '-m', 'CRLF')
    const found = await audit(project, () => {
      project.write('crlf.txt', 'a\r\nb\r\nc\r\n')
      project.git('commit', '-q', '-a', '-m', 'More')
      project.git('merge', '-q', '--no-edit', 'other')
    })
    expect(found).toEqual([])
  })
})

describe('references', () => {
  it('a switched branch is named', async () => {
    const project = tempProject()
    project.git('branch', 'other')
    expect(await audit(project, () => project.git('checkout', '-q', 'other'))).toEqual([
      'branch-switched other',
    ])
    expect(await audit(project, () => project.git('checkout', '-q', '--detach'))).toEqual([
      'branch-switched HEAD',
    ])
  })

  it('other branches, tags and the stash may not be touched', async () => {
    const project = busyProject()
    project.git('branch', 'doomed')
    const found = await audit(project, () => {
      project.git('branch', 'created')
      project.git('branch', '-f', 'other', 'HEAD')
      project.git('branch', '-D', 'doomed')
      project.git('tag', 'v2')
      project.git('tag', '-d', 'v1')
      project.git('stash', 'drop', '-q')
    })
    expect(found.sort()).toEqual([
      'refs-changed refs/heads/created',
      'refs-changed refs/heads/doomed',
      'refs-changed refs/heads/other',
      'refs-changed refs/stash',
      'refs-changed refs/tags/v1',
      'refs-changed refs/tags/v2',
    ])
  })

  it('an older stash entry that was dropped is missed', async () => {
    const project = busyProject()
    expect(await audit(project, () => project.git('stash', 'drop', '-q', 'stash@{1}'))).toEqual([
      'refs-changed refs/stash',
    ])
  })

  it('history may not be rewritten', async () => {
    const project = busyProject()
    project.git('commit', '-q', '--allow-empty', '-m', 'Top')
    expect(
      await audit(project, () => project.git('commit', '-q', '--amend', '--allow-empty', '-m', 'Amended')),
    ).toEqual(['refs-changed main'])
    expect(await audit(project, () => project.git('reset', '-q', '--soft', 'HEAD~1'))).toEqual([
      'refs-changed main',
    ])
  })

  it('a merge may not be left half-done', async () => {
    const project = tempProject({ 'a.txt': 'one\n' })
    project.git('checkout', '-q', '-b', 'other')
    project.write('a.txt', 'two\n')
    project.git('commit', '-q', '-a', '-m', 'Two')
    project.git('checkout', '-q', 'main')
    project.write('a.txt', 'three\n')
    project.git('commit', '-q', '-a', '-m', 'Three')
    expect(await audit(project, () => void project.tryGit('merge', 'other'))).toEqual(['refs-changed HEAD'])
  })

  it('what happens in other worktrees is not held against an attempt', async () => {
    const main = tempProject()
    const place = path.join(tempFolder(), 'task')
    main.git('worktree', 'add', '-q', '-b', 'task', place)
    const found = await audit(projectAt(place), () => {
      main.git('commit', '-q', '--allow-empty', '-m', 'By the user')
      main.git('branch', 'new')
      main.git('tag', 'v1')
    })
    expect(found).toEqual([])
    expect(
      await audit(main, () => projectAt(place).git('commit', '-q', '--allow-empty', '-m', 'There')),
    ).toEqual([])
  })
})

describe('H-08 files that an agent sweeps into its commit', () => {
  it('H-08 untracked files such as .env, half-done work and pending deletions are found', async () => {
    const project = tempProject({ 'a.txt': 'one\n', 'b.txt': 'two\n', 'c.txt': 'three\n' })
    project.write('.env', 'SECRET=1\n')
    project.write('a.txt', 'half-done\n')
    project.remove('b.txt')
    const found = await audit(project, () => {
      project.write('c.txt', 'agent\n')
      project.write('d.txt', 'agent\n')
      project.git('add', '-A')
      project.git('reset', '-q', '.ralph')
      project.git('commit', '-q', '-m', 'All')
    })
    expect(found.sort()).toEqual(['swept-files .env', 'swept-files a.txt', 'swept-files b.txt'])
  })

  it('H-08 also when a later commit takes the file out again, or the agent changes it afterwards', async () => {
    const project = tempProject()
    project.write('.env', 'SECRET=1\n')
    const found = await audit(project, () => {
      project.git('add', '.env')
      project.git('commit', '-q', '-m', 'Oops')
      project.git('rm', '-q', '--cached', '.env')
      project.git('commit', '-q', '-m', 'Gone')
      project.write('.env', 'SECRET=2\n')
    })
    expect(found).toEqual(['swept-files .env'])
  })

  it('H-08 also when git ignored the file and it was added by force', async () => {
    const project = tempProject({ '.gitignore': '.env\n.ralph/\nbuilt/\n' })
    project.write('.env', 'SECRET=1\n')
    await new Promise(resolve => setTimeout(resolve, 80))
    const found = await audit(project, () => {
      project.write('built/new.js', 'by the agent\n')
      project.git('add', '-f', '.env', 'built/new.js')
      project.git('commit', '-q', '-m', 'By force')
    })
    expect(found).toEqual(['swept-files .env'])
  })

  it('not when the agent changed the file itself, and not when the engine says it may', async () => {
    const project = tempProject({ 'a.txt': 'one\n' })
    project.write('notes.txt', 'untracked\n')
    project.write('state/tasks.json', '[]\n')
    project.write('earlier.txt', 'from the stage before\n')
    const found = await audit(
      project,
      () => {
        project.write('notes.txt', 'by the agent\n')
        project.git('add', 'notes.txt', 'state', 'earlier.txt')
        project.git('commit', '-q', '-m', 'Mine')
      },
      { tolerated: ['state/', 'earlier.txt'] },
    )
    expect(found).toEqual([])
  })

  it('also outside the project folder', async () => {
    const top = tempProject({ 'app/a.txt': 'one\n', 'lib/b.txt': 'two\n' })
    top.write('app/.env', 'SECRET=1\n')
    top.write('.env', 'SECRET=2\n')
    await new Promise(resolve => setTimeout(resolve, 80))
    const found = await audit(projectAt(path.join(top.root, 'app')), () => {
      top.git('add', '.env', 'app/.env')
      top.git('commit', '-q', '-m', 'All')
    })
    expect(found.sort()).toEqual(['swept-files ../.env', 'swept-files .env'])
  })
})

describe('files of the user in an in-place run', () => {
  it('may not be changed', async () => {
    const project = busyProject()
    const found = await audit(
      project,
      () => {
        project.write('a.txt', 'agent\n')
        project.write('b.txt', 'agent\n')
        fs.rmSync(path.join(project.root, 'dir/c.txt'))
      },
      { userFiles: ['a.txt', 'dir/c.txt', 'dir/d.txt'] },
    )
    expect(found).toEqual(['user-file a.txt', 'user-file dir/c.txt'])
  })
})
