import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { auditPositions } from '../../src/git/audit.ts'
import { decode, encode, printable } from '../../src/git/bytes.ts'
import { changesBetween, patchBetween } from '../../src/git/changes.ts'
import { commitPaths } from '../../src/git/commit.ts'
import { dirtyFiles } from '../../src/git/dirty.ts'
import { failureBranch } from '../../src/git/failure-branch.ts'
import { git, mustGit } from '../../src/git/git.ts'
import { putBack, restorePaths } from '../../src/git/put-back.ts'
import { openRepository } from '../../src/git/repository.ts'
import { keepPosition, takePosition } from '../../src/git/snapshot.ts'
import { ensureWorktree } from '../../src/git/worktree.ts'
import { removeTempFolders, type TempProject, tempFolder, tempProject } from './temp-project.ts'

afterAll(removeTempFolders)

/** Configuration, hooks and attributes that run a program whenever git gives them a chance; it writes its name to `log`. */
function trap(project: TempProject, log: string): void {
  const program = path.join(tempFolder(), 'trap.sh')
  fs.writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> '${log}'\ncat\n`, { mode: 0o755 })
  const hooks = path.join(tempFolder(), 'hooks')
  for (const folder of [hooks, path.join(project.root, '.git/hooks')]) {
    fs.mkdirSync(folder, { recursive: true })
    for (const hook of [
      'pre-commit',
      'post-commit',
      'commit-msg',
      'post-checkout',
      'post-index-change',
      'reference-transaction',
      'post-rewrite',
    ]) {
      fs.writeFileSync(path.join(folder, hook), `#!/bin/sh\necho ${hook} >> '${log}'\n`, { mode: 0o755 })
    }
  }
  const settings: Record<string, string> = {
    'core.fsmonitor': program,
    'core.hooksPath': hooks,
    'core.pager': program,
    'pager.log': program,
    'core.editor': program,
    'core.sshCommand': program,
    'core.askPass': program,
    'core.alternateRefsCommand': program,
    'credential.helper': `!${program}`,
    'diff.external': program,
    'diff.trap.textconv': program,
    'diff.trap.command': program,
    'merge.trap.driver': program,
    'filter.trap.clean': program,
    'filter.trap.smudge': program,
    'filter.trap.required': 'true',
    'filter.other.process': program,
    'gpg.program': program,
    'commit.gpgSign': 'true',
    'log.showSignature': 'true',
    'uploadpack.packObjectsHook': program,
    'hook.trap.command': program,
    'hook.trap.event': 'reference-transaction',
  }
  for (const [key, value] of Object.entries(settings))
    execFileSync('git', ['config', '-f', '.git/config', key, value], { cwd: project.root })
  fs.appendFileSync(
    path.join(project.root, '.git/config'),
    `[include]\n\tpath = ${path.join(project.root, 'more.config')}\n`,
  )
  project.write('more.config', `[filter "included"]\n\tclean = ${program}\n\tsmudge = ${program}\n`)
  project.write(
    '.gitattributes',
    '* filter=trap diff=trap merge=trap\n*.o filter=other\n*.i filter=included\n',
  )
  project.write('.git/info/attributes', '* filter=trap diff=trap\n')
}

describe('hostile configuration', () => {
  it('runs nothing, whatever the engine asks of git', async () => {
    const project = tempProject({ 'a.txt': 'one\n', 'b.o': 'two\n', 'c.i': 'three\n', 'racy.txt': 'four\n' })
    // A file from the future is one that git cannot trust by its time: whoever writes the index has to read it.
    fs.utimesSync(path.join(project.root, 'racy.txt'), 4e9, 4e9)
    project.git('add', 'racy.txt')
    const log = path.join(tempFolder(), 'log')
    const repository = await openRepository(project.root)
    const first = await takePosition(repository)
    const base = await keepPosition(repository, first, 'refs/ralph/run/1')
    trap(project, log)
    project.write('a.txt', 'changed\n')
    project.write('b.o', 'changed\n')
    project.write('c.i', 'changed\n')

    for (const engine of [repository, await openRepository(project.root)]) {
      const position = await takePosition(engine)
      await keepPosition(engine, position, `refs/ralph/run/${position.at}`)
      await dirtyFiles(engine)
      await changesBetween(engine, first, position)
      await patchBetween(engine, first, position)
      await auditPositions(engine, first, position)
      await restorePaths(engine, base, ['b.o'])
    }
    await ensureWorktree(repository, 'own')
    await failureBranch(repository, 'task', new Date(), base.head)
    const { commit } = await commitPaths(repository, {
      paths: ['a.txt', 'c.i'],
      message: 'Change',
      head: base.head,
    })
    expect(commit).not.toBeNull()
    await auditPositions(repository, first, await takePosition(repository))
    await putBack(repository, base, { keepAs: 'refs/ralph/kept/1' })
    await putBack(await openRepository(project.root, { recovering: true }), base, {
      keepAs: 'refs/ralph/kept/2',
    })
    expect(fs.existsSync(log) ? fs.readFileSync(log, 'utf8') : '').toBe('')

    // The traps are good: a git that is called without care steps into them.
    project.write('a.txt', 'changed again\n')
    project.tryGit('add', 'a.txt')
    expect(fs.readFileSync(log, 'utf8')).toContain('trap.sh')
  })

  it('cannot move the engine to another folder, repository or object', async () => {
    const project = tempProject({ 'a.txt': 'one\n' })
    const elsewhere = tempProject({ 'other.txt': 'other\n' })
    const repository = await openRepository(project.root)
    const before = await takePosition(repository)
    project.git('config', 'core.worktree', elsewhere.root)
    project.git('config', 'core.bare', 'false')
    const blob = project.git('--work-tree=.', 'rev-parse', 'HEAD:a.txt').trim()
    fs.mkdirSync(path.join(project.root, '.git/refs/replace'), { recursive: true })
    fs.writeFileSync(path.join(project.root, '.git/refs/replace', before.head), `${blob}\n`)
    const variables = {
      GIT_DIR: path.join(elsewhere.root, '.git'),
      GIT_INDEX_FILE: '/nowhere',
      GIT_WORK_TREE: elsewhere.root,
    }
    Object.assign(process.env, variables)
    try {
      const after = await takePosition(repository)
      expect(after.tree).toBe(before.tree)
      expect(after.head).toBe(before.head)
      project.write('a.txt', 'two\n')
      const { commit } = await commitPaths(repository, {
        paths: ['a.txt'],
        message: 'Two',
        head: before.head,
      })
      expect(commit).not.toBeNull()
    } finally {
      for (const name of Object.keys(variables)) delete process.env[name]
    }
    expect(elsewhere.git('status', '--porcelain')).toBe('')
  })

  it('cannot put a program called git in the way', async () => {
    const project = tempProject()
    const log = path.join(tempFolder(), 'log')
    const bin = path.join(project.root, 'node_modules/.bin')
    fs.mkdirSync(bin, { recursive: true })
    fs.writeFileSync(path.join(bin, 'git'), `#!/bin/sh\necho ran >> '${log}'\nexit 1\n`, { mode: 0o755 })
    const before = process.env.PATH
    process.env.PATH = ['.', 'bin', bin, before].join(path.delimiter)
    try {
      await takePosition(await openRepository(project.root))
    } finally {
      process.env.PATH = before
    }
    expect(fs.existsSync(log)).toBe(false)
  })
})

describe('calling git', () => {
  it('gives exit code, output and errors, and takes input', async () => {
    const project = tempProject()
    const place = { cwd: project.root }
    expect(await git(place, ['cat-file', '--batch-check'], { stdin: 'nothing\n' })).toEqual({
      code: 0,
      stdout: 'nothing missing\n',
      stderr: '',
    })
    const failed = await git(place, ['rev-parse', '--verify', 'nothing'])
    expect(failed.code).toBe(128)
    expect(failed.stderr).toContain('fatal')
    await expect(mustGit(place, ['rev-parse', '--verify', 'nothing'])).rejects.toThrow(
      'git rev-parse failed: fatal',
    )
  })

  it('bounds output and time', async () => {
    const project = tempProject({ 'a.txt': 'x'.repeat(100_000) })
    const place = { cwd: project.root }
    await expect(git(place, ['cat-file', 'blob', 'HEAD:a.txt'], { limit: 1000 })).rejects.toThrow(
      'more than 1000 bytes',
    )
    fs.rmSync(path.join(project.root, 'a.txt'))
    execFileSync('mkfifo', [path.join(project.root, '.gitignore')])
    await expect(git(place, ['ls-files', '-o', '--exclude-standard'], { timeout: 200 })).rejects.toThrow(
      'did not end',
    )
  })

  it('says what to do when there is no git', async () => {
    const before = process.env.PATH
    process.env.PATH = tempFolder()
    try {
      await expect(openRepository(tempFolder())).rejects.toMatchObject({
        message: 'git was not found.',
        fix: expect.stringContaining('Install git'),
      })
    } finally {
      process.env.PATH = before
    }
  })
})

describe('names as bytes', () => {
  it('survive, whatever they are', () => {
    const samples = [
      Buffer.from('plain'),
      Buffer.from('ünï 💀\n'),
      Buffer.from([0xff, 0x41, 0xc3]),
      Buffer.from([0xed, 0xa0, 0x80, 0xf0, 0x9f, 0x92]),
      Buffer.from(Array.from({ length: 255 }, (_, index) => index + 1)),
    ]
    for (const bytes of samples) expect(encode(decode(bytes)).equals(bytes)).toBe(true)
    expect(decode(Buffer.from('💀'))).toBe('💀')
  })

  it('are printed on one line', () => {
    expect(printable('a\nb\tc')).toBe('a\\nb\\tc')
    expect(printable(decode(Buffer.from([0x61, 0xff])))).toBe('a\uFFFD')
  })
})
