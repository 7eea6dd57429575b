import { execFileSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { git, gitEnvironment } from '../../src/git/git.ts'
import { createRunner } from '../../src/git/runner.ts'

/** The helper must give the same answers as a process of our own, whatever the words are. */
describe('the git runner', () => {
  let root = ''
  beforeEach(() => {
    root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'ralph-runner-')))
    execFileSync('git', ['init', '-q'], { cwd: root })
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const places = () =>
    [
      { cwd: root },
      { cwd: root, runner: createRunner(path.join(root, '.calls'), gitEnvironment(root, false)) },
    ] as const

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

  it('refuses more output than allowed', async () => {
    const [, helped] = places()
    await expect(git(helped, ['help', '-a'], { limit: 10 })).rejects.toThrow('printed more than 10 bytes')
  })
})
