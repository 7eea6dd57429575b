import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { gateEnvironment } from '../../src/gates/commands.ts'
import { type Bench, bench, run } from './helpers/run.ts'

let project: Bench
afterEach(() => project.remove())

describe('runCommands', () => {
  it('runs shell lines in order, all of them even when one fails, and keeps each output', async () => {
    project = bench()
    const seen: string[] = []
    const results = await run(
      project,
      ['echo a && echo b | tr b c', 'echo no >&2; exit 3', { command: 'pwd', own: true }],
      { onLine: line => seen.push(line) },
    )
    expect(
      results.map(({ command, exit, ended, own, tail, tests }) => [command, exit, ended, own, tail, tests]),
    ).toEqual([
      ['echo a && echo b | tr b c', 0, 'exit', false, 'a\nc', null],
      ['echo no >&2; exit 3', 3, 'exit', false, 'no', null],
      ['pwd', 0, 'exit', true, project.root, null],
    ])
    expect(seen).toEqual(['a', 'c', 'no', project.root])
    expect(readFileSync(join(project.output, 'gate-2.log'), 'utf8')).toBe('no\n')
    expect(results.map(one => one.fingerprint)).toEqual(['', expect.stringMatching(/^[0-9a-f]{8}$/u), ''])
  })

  it('keeps both streams in the order in which they were written', async () => {
    project = bench()
    const [result] = await run(project, ['for i in 1 2 3; do echo out $i; echo err $i >&2; done'])
    expect(result?.tail).toBe('out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3')
  })

  it('H-20 counts the tests of a real run by itself', async () => {
    project = bench({
      'a.test.mjs':
        "import { test } from 'node:test'\ntest('adds', () => {})\ntest('breaks', () => { throw new Error('x') })\n",
    })
    const [result] = await run(project, ['node --test --test-reporter=spec'])
    expect(result).toMatchObject({ exit: 1, tests: { passed: 1, failed: 1, skipped: 0, names: ['breaks'] } })
    expect(result?.tail).toContain('Error: x')
  })

  it('S3-28 gives the same error the same fingerprint, another one another', async () => {
    project = bench({
      'check.sh': 'echo "took $$ms pid $$ at $(date +%s) in $(mktemp -u)"; echo "Error: $1"; exit 1\n',
    })
    const marks = (await run(project, ['sh check.sh one', 'sh check.sh one', 'sh check.sh two'])).map(
      one => one.fingerprint,
    )
    expect(marks[0]).not.toBe('')
    expect(marks[1]).toBe(marks[0])
    expect(marks[2]).not.toBe(marks[0])
  })

  it('S3-T15 S3-25 keeps a hundred lines; of more the first and the last fifty, and says how many it dropped', async () => {
    project = bench()
    const [hundred, one, many, wide] = await run(project, [
      'seq 1 100; exit 1',
      'seq 1 101; exit 1',
      'seq 1 5000; exit 1',
      'node -e "for (let i = 0; i < 60; i++) console.log(i + \'x\'.repeat(1500))"',
    ])
    const lines = many?.tail.split('\n') ?? []
    const numbers = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, index) => String(from + index))
    expect(hundred?.tail.split('\n')).toEqual(numbers(1, 100))
    expect(one?.tail.split('\n')).toEqual([
      ...numbers(1, 50),
      '[... 1 lines truncated ...]',
      ...numbers(52, 101),
    ])
    expect(lines).toEqual([...numbers(1, 50), '[... 4900 lines truncated ...]', ...numbers(4951, 5000)])
    expect(Buffer.byteLength(wide?.tail ?? '')).toBeLessThan(16_100)
    expect(wide?.tail).toMatch(/^\[\.\.\. 50 lines truncated/u)
    expect(wide?.tail.split('\n').at(-1)).toMatch(/^59x/u)
  })

  it('has a fingerprint that does not move when a line of a long output changes its length', async () => {
    project = bench({
      'noise.mjs':
        "for (let i = 0; i < 300; i++) console.log('step ' + i + ' took ' + process.argv[2] + 'ms ' + 'y'.repeat(400))\nprocess.exitCode = 1\n",
    })
    const [one, two] = await run(project, ['node noise.mjs 9', 'node noise.mjs 10000'])
    expect(one?.fingerprint).toBe(two?.fingerprint)
  })

  it('ends a command whose time is up, and does not start the next ones', async () => {
    project = bench()
    const results = await run(project, ['echo a; sleep 30', 'echo b'], { timeout: 400 })
    expect(results.map(({ ended, tail }) => [ended, tail])).toEqual([
      ['timeout', 'a'],
      ['timeout', '(not run: the time was up before)'],
    ])
    expect(results[0]?.fingerprint).toMatch(/^[0-9a-f]{8}$/u)
  })

  it('ends a command that is silent for too long', async () => {
    project = bench()
    const [result] = await run(project, ['echo a; sleep 30'], { idle: 400 })
    expect(result?.ended).toBe('idle')
  })

  it('has a result for every command when it is stopped, so that none counts as not needed', async () => {
    project = bench()
    const controller = new AbortController()
    const results = await run(project, ['echo a; sleep 30', 'echo b', 'echo c'], {
      signal: controller.signal,
      onLine: () => controller.abort(),
    })
    expect(results.map(one => one.ended)).toEqual(['stopped', 'stopped', 'stopped'])
    const none = await run(project, ['echo a'], { signal: AbortSignal.abort() })
    expect(none.map(one => [one.ended, one.exit])).toEqual([['stopped', null]])
  })

  it('says so when nothing can be started', async () => {
    project = bench()
    const [result] = await run(project, ['true'], { cwd: join(project.root, 'gone') })
    expect(result?.exit).toBe(127)
    expect(result?.tail).toContain('could not be started')
    const [missing] = await run(project, ['no-such-program-at-all'])
    expect(missing?.exit).toBe(127)
  })

  it('writes no secret into the tail', async () => {
    project = bench()
    const [result] = await run(project, ['echo the key is swordfish-12345'], { secrets: ['swordfish-12345'] })
    expect(result?.tail).not.toContain('swordfish')
  })

  it('shows a gate neither the agents’ keys nor a colour, and tells it that nobody watches', async () => {
    project = bench()
    const env = {
      PATH: process.env.PATH,
      HOME: '/home/x',
      ANTHROPIC_API_KEY: 'k',
      NODE_OPTIONS: '--require x',
      MY_DB: 'y',
      CI: 'false',
      TERM: 'xterm',
    }
    const [result] = await run(project, ['env | sort'], { env, allow: ['MY_DB'] })
    const names = Object.fromEntries((result?.tail ?? '').split('\n').map(line => line.split('=', 2)))
    expect(names).toMatchObject({
      CI: 'true',
      NO_COLOR: '1',
      FORCE_COLOR: '0',
      TERM: 'dumb',
      HOME: '/home/x',
      MY_DB: 'y',
    })
    expect(Object.keys(names)).not.toContain('ANTHROPIC_API_KEY')
    expect(Object.keys(names)).not.toContain('NODE_OPTIONS')
  })
})

describe('gateEnvironment', () => {
  it('lets the user’s word win', () => {
    project = bench()
    expect(gateEnvironment({ CI: 'false', FORCE_COLOR: '1' }, ['CI'])).toMatchObject({
      CI: 'false',
      FORCE_COLOR: '0',
    })
  })
})
