import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { judgeCommands, type TestCounts } from '../../src/core/gate.ts'
import type { CommandResult } from '../../src/core/outcome.ts'

const counts = (passed: number, failed = 0, skipped = 0, names: string[] = []): TestCounts => ({
  passed,
  failed,
  skipped,
  names,
})

function result(
  exit: number | null,
  tests: TestCounts | null = null,
  more: Partial<CommandResult> = {},
): CommandResult {
  return {
    command: 'npm test',
    exit,
    ended: 'exit',
    ms: 1,
    tests,
    fingerprint: '',
    tail: '',
    own: false,
    ...more,
  }
}

function judged(now: CommandResult, before: CommandResult | null) {
  const judgement = judgeCommands([now], before && [before])[0]
  return judgement?.verdict === 'pass'
    ? `pass${judgement.note ? `: ${judgement.note}` : ''}`
    : `fail: ${judgement?.reason}`
}

describe('judgeCommands', () => {
  const table: [what: string, before: CommandResult | null, now: CommandResult, verdict: RegExp][] = [
    ['green, no baseline', null, result(0), /^pass$/u],
    ['green to green', result(0, counts(5)), result(0, counts(6)), /^pass$/u],
    [
      'green to red',
      result(0, counts(5)),
      result(1, counts(4, 1, 0, ['a'])),
      /^fail: `npm test` fails with exit code 1, 1 of 5 tests$/u,
    ],
    ['red, no baseline', null, result(2), /^fail: `npm test` fails with exit code 2$/u],
    ['red to green', result(1, counts(4, 1)), result(0, counts(5)), /^pass$/u],
    [
      'the setup of a project: no tests could be counted before',
      result(127),
      result(0, counts(1)),
      /^pass$/u,
    ],
    ['a plain script stays a plain script', result(0), result(0), /^pass$/u],

    ['0 tests ran', null, result(0, counts(0)), /ran 0 tests$/u],
    ['0 tests ran, as before', result(0, counts(0)), result(0, counts(0)), /ran 0 tests$/u],
    ['only skipped tests ran', result(0, counts(0, 0, 3)), result(0, counts(0, 0, 3)), /ran 0 tests$/u],
    [
      'fewer tests than before',
      result(0, counts(12)),
      result(0, counts(11)),
      /ran 11 tests; before this task it ran 12$/u,
    ],
    ['one test where there were two', result(0, counts(2)), result(0, counts(1)), /ran 1 test; before/u],
    [
      'the counts are gone',
      result(0, counts(12)),
      result(0, null),
      /reported 12 tests before this task and none now$/u,
    ],
    [
      'the counts are gone, red before',
      result(1, counts(11, 1)),
      result(0, null),
      /reported 12 tests before/u,
    ],
    [
      'a failing test deleted',
      result(1, counts(11, 1, 0, ['a'])),
      result(0, counts(11)),
      /ran 11 tests; before this task it ran 12$/u,
    ],
    [
      'a failing test skipped',
      result(1, counts(11, 1, 0, ['a'])),
      result(0, counts(11, 0, 1)),
      /ran 11 tests/u,
    ],
    [
      'a test skipped and another added',
      result(0, counts(5)),
      result(0, counts(5, 0, 1)),
      /skips 1 test; before this task it skipped 0$/u,
    ],
    ['as many skipped as before', result(0, counts(5, 0, 2)), result(0, counts(6, 0, 2)), /^pass$/u],

    [
      'a swallowed exit code',
      result(0, counts(5)),
      result(0, counts(4, 1, 0, ['a > b'])),
      /ends with exit code 0 although 1 test failed: a > b$/u,
    ],
    ['a swallowed exit code, no baseline', null, result(0, counts(4, 1)), /although 1 test failed$/u],
    [
      'a swallowed exit code as before',
      result(0, counts(4, 1)),
      result(0, counts(5, 1)),
      /^pass: .*\(as before this task\)$/u,
    ],
    [
      'swallowed, and worse than before',
      result(0, counts(4, 1)),
      result(0, counts(3, 2)),
      /^fail: .*2 tests failed$/u,
    ],

    [
      'red to red, nothing known',
      result(1),
      result(1),
      /still fails with exit code 1 \(it failed before this task too\)$/u,
    ],
    [
      'red to red, the same',
      result(1, counts(4, 1, 0, ['a'])),
      result(1, counts(4, 1, 0, ['a'])),
      /^fail: .*still fails/u,
    ],
    [
      'red to red, old failures only and more that pass',
      result(1, counts(4, 1, 0, ['a'])),
      result(1, counts(6, 1, 0, ['a'])),
      /^pass: .*failed before this task: a$/u,
    ],
    [
      'red to red, one of two mended',
      result(1, counts(3, 2, 0, ['a', 'b'])),
      result(1, counts(4, 1, 0, ['b'])),
      /^pass: .*: b$/u,
    ],
    [
      'red to red, an old one mended and a new one broken',
      result(1, counts(4, 1, 0, ['a'])),
      result(1, counts(5, 1, 0, ['b'])),
      /^fail: .*still fails/u,
    ],
    [
      'red to red, a failure without a name',
      result(1, counts(4, 2, 0, ['a', 'b'])),
      result(1, counts(6, 2, 0, ['a'])),
      /^fail: .*still fails/u,
    ],
    [
      'red to red, a second failure of the same name',
      result(1, counts(4, 1, 0, ['a'])),
      result(1, counts(6, 2, 0, ['a', 'a'])),
      /^fail: .*still fails/u,
    ],
    [
      'red to red, and fewer tests',
      result(1, counts(9, 1, 0, ['a'])),
      result(1, counts(8, 1, 0, ['a'])),
      /^fail: .*ran 9 tests; before this task it ran 10$/u,
    ],
    [
      'red to red, and more skipped',
      result(1, counts(4, 1, 0, ['a'])),
      result(1, counts(5, 1, 1, ['a'])),
      /^fail: .*skips 1 test/u,
    ],
    [
      'the task’s own command must be green',
      result(1, counts(3, 2, 0, ['a', 'b']), { own: true }),
      result(1, counts(4, 1, 0, ['b']), { own: true }),
      /^fail: .*still fails/u,
    ],

    ['out of time', result(0), result(null, null, { ended: 'timeout' }), /did not end in time$/u],
    ['silent for too long', result(0), result(null, null, { ended: 'idle' }), /did not end in time$/u],
    ['stopped', result(0), result(0, counts(5), { ended: 'stopped' }), /was stopped$/u],
    ['killed', result(0), result(null), /was killed$/u],
    [
      'a baseline that was cut off counts nothing',
      result(null, counts(90), { ended: 'timeout' }),
      result(0, counts(5)),
      /^pass$/u,
    ],
    [
      'red after a baseline that was cut off',
      result(null, counts(4, 1, 0, ['a']), { ended: 'timeout' }),
      result(1, counts(6, 1, 0, ['a'])),
      /^fail: .*still fails/u,
    ],

    [
      'gradle tells nothing when all is green',
      result(1, { ...counts(4, 1, 0, ['a']), partial: true }),
      result(0, null),
      /^pass$/u,
    ],
    [
      'suites kept silent by a cache',
      result(0, counts(90)),
      result(0, { ...counts(3), partial: true }),
      /^pass$/u,
    ],
    [
      'packages, not tests',
      result(0, { ...counts(3), unit: 'packages' }),
      result(0, { ...counts(2), unit: 'packages' }),
      /ran 2 packages; before this task it ran 3$/u,
    ],
    [
      'packages where there were tests',
      result(0, counts(30)),
      result(0, { ...counts(3), unit: 'packages' }),
      /ran 3 packages; before this task it ran 30$/u,
    ],
    [
      'a filter by name counts the others as skipped',
      result(0, counts(2, 0, 5), { command: 'vitest run -t sum' }),
      result(0, counts(2, 0, 6), { command: 'vitest run -t sum' }),
      /^pass$/u,
    ],
  ]

  it.each(table)('%s', (_, before, now, verdict) => {
    expect(judged(now, before)).toMatch(verdict)
  })

  it('compares each command with its own baseline', () => {
    const before = [result(1, null, { command: 'lint' }), result(0, counts(3), { command: 'test' })]
    const now = [
      result(0, null, { command: 'lint' }),
      result(0, counts(2), { command: 'test' }),
      result(0, null, { command: 'new' }),
    ]
    expect(judgeCommands(now, before).map(one => [one.command, one.verdict])).toEqual([
      ['lint', 'pass'],
      ['test', 'fail'],
      ['new', 'pass'],
    ])
  })

  const anyCounts = fc.record({
    passed: fc.nat(9),
    failed: fc.nat(3),
    skipped: fc.nat(3),
    names: fc.subarray(['a', 'b', 'c']),
  })
  const anyResult = fc
    .record({
      exit: fc.constantFrom(0, 1, null),
      ended: fc.constantFrom('exit' as const, 'timeout' as const, 'idle' as const, 'stopped' as const),
      tests: fc.option(anyCounts),
      own: fc.boolean(),
    })
    .map(({ exit, tests, ...more }) => result(exit, tests, more))

  it('never passes a run that did not end, that tests nothing, or that breaks a new test', () => {
    fc.assert(
      fc.property(anyResult, fc.option(anyResult), (now, before) => {
        const passed = judgeCommands([now], before && [before])[0]?.verdict === 'pass'
        if (!passed) return
        expect(now.ended).toBe('exit')
        if (now.exit === 0) {
          if (now.tests) expect(now.tests.passed + now.tests.failed).toBeGreaterThan(0)
          return
        }
        expect(now.exit).toBe(1)
        expect(now.own).toBe(false)
        expect(before?.tests?.names).toEqual(expect.arrayContaining(now.tests?.names ?? []))
        expect(now.tests?.passed).toBeGreaterThan(before?.tests?.passed ?? 0)
      }),
      { numRuns: 2000 },
    )
  })
})
