import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { git, gitEnvironment } from '../../src/git/git.ts'
import { realDir } from '../../src/git/private-dir.ts'
import { openRepository } from '../../src/git/repository.ts'
import { createRunner } from '../../src/git/runner.ts'
import { takePosition } from '../../src/git/snapshot.ts'

/** The helper must give the same answers as a process of our own, whatever the words are. */
describe('the git runner', () => {
  let root = ''
  beforeEach(() => {
    root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'ralph-runner-')))
    execFileSync('git', ['init', '-q'], { cwd: root })
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const places = () =>
    [{ cwd: root }, { cwd: root, runner: createRunner(gitEnvironment(root, false)) }] as const

  it('passes words, input, variables and exit codes as they are', async () => {
    const strange = [
      "it's",
      '$(touch owned)',
      '`touch owned`',
      'a\nb',
      '*',
      '\\',
      '"',
      ' ',
      '; echo x',
      'ä\u{1F600}',
    ]
    const [plain, helped] = places()
    for (const name of strange) {
      writeFileSync(path.join(root, name.replaceAll('/', '_')), name)
      const args = ['hash-object', '--', name]
      expect(await git(helped, args)).toEqual(await git(plain, args))
    }
    const input = { stdin: 'line 1\nline \0 2\n' }
    expect(await git(helped, ['hash-object', '--stdin'], input)).toEqual(
      await git(plain, ['hash-object', '--stdin'], input),
    )
    const variable = { env: { GIT_AUTHOR_NAME: "O'Brien $HOME", GIT_AUTHOR_EMAIL: 'x@y' } }
    expect((await git(helped, ['var', 'GIT_AUTHOR_IDENT'], variable)).stdout).toContain("O'Brien $HOME <x@y>")
    expect(await git(helped, ['rev-parse', '--verify', 'nothing'])).toEqual(
      await git(plain, ['rev-parse', '--verify', 'nothing']),
    )
    expect(execFileSync('ls', { cwd: root, encoding: 'utf8' })).not.toContain('owned\n')
  })

  it('keeps the answers of many calls at once apart', async () => {
    const [, helped] = places()
    const words = Array.from({ length: 40 }, (_, n) => `text ${n}`)
    const ids = await Promise.all(words.map(stdin => git(helped, ['hash-object', '--stdin'], { stdin })))
    const expected = words.map(input =>
      execFileSync('git', ['hash-object', '--stdin'], { cwd: root, input, encoding: 'utf8' }),
    )
    expect(ids.map(one => one.stdout)).toEqual(expected)
  })

  it('ends a call that takes too long, and goes on with the next', async () => {
    const [, helped] = places()
    const slow = ['-c', 'alias.wait=!sleep 30', 'wait']
    await expect(git(helped, slow, { timeout: 200 })).rejects.toThrow('did not end')
    expect((await git(helped, ['rev-parse', '--git-dir'])).code).toBe(0)
  })

  it('does not give one call what another has left unread', async () => {
    const [, helped] = places()
    const much = 'x'.repeat(2_000_000)
    expect((await git(helped, ['cat-file', '--unknown'], { stdin: much })).code).toBe(129)
    const [one, none] = [
      await git(helped, ['hash-object', '--stdin'], { stdin: 'one' }),
      await git(helped, ['hash-object', '--stdin']),
    ]
    const id = (input: string) =>
      execFileSync('git', ['hash-object', '--stdin'], { cwd: root, input, encoding: 'utf8' })
    expect([one.stdout, none.stdout]).toEqual([id('one'), id('')])
  })

  it('takes output that looks like its own marks for output', async () => {
    const [plain, helped] = places()
    for (const stdin of ['.', '\n0.', `\n${'a'.repeat(32)}0.`, 'x'.repeat(70_000)]) {
      const id = (await git(plain, ['hash-object', '-w', '--stdin'], { stdin })).stdout.trim()
      expect((await git(helped, ['cat-file', 'blob', id])).stdout).toBe(stdin)
    }
  })

  it('refuses more output than allowed', async () => {
    const [, helped] = places()
    await expect(git(helped, ['help', '-a'], { limit: 10 })).rejects.toThrow('printed more than 10 bytes')
  })

  it('writes through no link that an agent has planted in Ralph’s own folder', async () => {
    const victim = path.join(root, 'victim')
    writeFileSync(victim, 'precious\n')
    execFileSync('git', ['add', '-A'], { cwd: root })
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@b']
    execFileSync('git', [...identity, 'commit', '-q', '-m', 'Start'], { cwd: root })
    const repository = await openRepository(root, { busy: true })
    await takePosition(repository)
    const calls = path.join(root, '.ralph/git/calls')
    mkdirSync(calls, { recursive: true })
    for (const file of ['0.in', '0.out', '0.err', '1.in', '1.out', '1.err'])
      symlinkSync(victim, path.join(calls, file))
    symlinkSync(victim, path.join(root, `.ralph/git/index.ralph-${process.pid}`))
    const place = realDir(repository)
    expect((await git(place, ['hash-object', '--stdin'], { stdin: 'x' })).code).toBe(0)
    expect((await git(place, ['version'])).code).toBe(0)
    writeFileSync(path.join(root, 'new'), 'new\n')
    await takePosition(repository)
    expect(readFileSync(victim, 'utf8')).toBe('precious\n')
  })

  it('does not follow a link in the place of its folder', async () => {
    writeFileSync(path.join(root, 'a'), 'a\n')
    execFileSync('git', ['add', '-A'], { cwd: root })
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@b']
    execFileSync('git', [...identity, 'commit', '-q', '-m', 'Start'], { cwd: root })
    const repository = await openRepository(root)
    await takePosition(repository)
    const elsewhere = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'ralph-elsewhere-')))
    rmSync(path.join(root, '.ralph/git'), { recursive: true })
    symlinkSync(elsewhere, path.join(root, '.ralph/git'))
    await takePosition(repository)
    expect(readdirSync(elsewhere)).toEqual([])
    rmSync(elsewhere, { recursive: true })
  })
})
