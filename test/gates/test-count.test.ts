import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { TestCounts } from '../../src/core/gate.ts'
import { countTests, createTestCounter } from '../../src/gates/test-count.ts'

const fixtures = join(import.meta.dirname, 'fixtures')
const recorded = (name: string) => readFileSync(join(fixtures, `${name}.txt`), 'utf8')

type Expected = [passed: number, failed: number, skipped: number, ...names: string[]]

/**
 * Recorded from the real runners, except those that were not at hand: dotnet, modern gradle, maven with several modules,
 * nextest, gotestsum, pest, karma, test-unit and the cache of turbo are written by hand, after what is known of their
 * output. They show that the counter reads that form, not that the runner prints it.
 */
const expected: Record<string, Expected | null> = {
  vitest: [3, 1, 2, 'a.test.ts > sum > fails here'],
  'vitest-verbose': [3, 1, 2, 'a.test.ts > sum > fails here'],
  'vitest-tap': [3, 1, 2, 'a.test.ts', 'sum', 'fails here'],
  'vitest-ok': [2, 0, 0],
  'vitest-zero': [0, 0, 0],
  'vitest-none': [0, 0, 0],
  'vitest-suitefail': [0, 0, 0, 'a.test.ts [ a.test.ts ]'],
  jest: [3, 1, 2, 'jest/a.test.js › sum › fails here'],
  'jest-ok': [2, 0, 1],
  'jest-zero': [0, 0, 0],
  'jest-only-some': [1, 0, 5],
  'jest-suitefail': [0, 0, 0, 'zero/jest/a.test.js › could not run'],
  mocha: [1, 2, 1, 'sum > fails here', 'sum > deep > also bad'],
  'mocha-dot': [1, 2, 1, 'sum > fails here', 'sum > deep > also bad'],
  'mocha-tap': [1, 2, 1, 'sum fails here', 'sum deep also bad'],
  'mocha-ok': [2, 0, 0],
  'mocha-zero': [0, 0, 0],
  ava: [1, 1, 2, 'fails here'],
  'ava-tap': [1, 1, 2, 'fails here'],
  'ava-ok': [4, 0, 2],
  'ava-zero': [0, 0, 0],
  playwright: [2, 1, 1, 'pw/a.spec.ts › fails here'],
  'playwright-line': [1, 2, 1, 'pw/a.spec.ts › fails here', 'pw/a.spec.ts › flaky one'],
  'playwright-ok': [2, 0, 0],
  'playwright-zero': null,
  tape: [1, 1, 0, 'one is two'],
  'tape-ok': [1, 0, 0],
  'tape-zero': [0, 0, 0],
  jasmine: [1, 1, 1, 'sum fails here'],
  'jasmine-ok': [2, 0, 0],
  'jasmine-zero': [0, 0, 0],
  karma: [2, 1, 1],
  bun: [1, 1, 2, 'sum > fails here'],
  'bun-ok': [2, 0, 0],
  'bun-zero': [0, 0, 0],
  deno: [1, 2, 1, './deno/a_test.ts > fails here', './deno/a_test.ts > steps ... inner bad'],
  'deno-ok': [2, 0, 0],
  'deno-zero': [0, 0, 0],
  'node-spec': [2, 3, 2, 'fails here', 'sum', 'sub bad', 'top'],
  'node-spec-ok': [2, 0, 0],
  'node-spec-zero': [1, 0, 0],
  'node-tap': [2, 3, 2, 'fails here', 'sum', 'sub bad', 'top'],
  'node-tap-ok': [2, 0, 0],
  'node-tap-zero': [1, 0, 0],
  'node-dot': null,
  tap: [1, 1, 1, 'b'],
  prove: [3, 1, 0, 't/a.t: 2'],
  'prove-v': [2, 1, 1, 'b', 't/a.t: 2'],
  pytest: [
    1,
    3,
    2,
    'py/test_a.py::test_fails_here',
    'py/test_a.py::TestC::test_in_class',
    'py/test_a.py::test_err',
  ],
  'pytest-q': [
    1,
    3,
    2,
    'py/test_a.py::test_fails_here',
    'py/test_a.py::TestC::test_in_class',
    'py/test_a.py::test_err',
  ],
  'pytest-ok': [1, 0, 0],
  'pytest-q-ok': [1, 0, 0],
  'pytest-zero': [0, 0, 0],
  'pytest-deselect': [0, 0, 0],
  'pytest-importerr': [0, 1, 0, 'py/test_imp.py'],
  unittest: [1, 2, 2, 'test_c (ut.T.test_c)', 'test_b (ut.T.test_b)'],
  'unittest-ok': [2, 0, 0],
  'unittest-zero': [0, 0, 0],
  cargo: [3, 1, 1, 'unittests src/lib.rs tests::fails_here'],
  'cargo-stop': [1, 1, 1, 'unittests src/lib.rs tests::fails_here'],
  'cargo-ok': [4, 0, 1],
  'cargo-q': [4, 0, 1],
  nextest: [3, 1, 1, 'm tests::fails_here'],
  'go-v': [3, 2, 1, 'TestSub', 'TestSub/two'],
  'go-json': [3, 2, 1, 'example.com/m/a.TestSub/two', 'example.com/m/a.TestSub'],
  gotestsum: [2, 2, 1],
  rspec: [1, 1, 1, './rb/a_spec.rb sum fails here'],
  'rspec-doc': [1, 1, 1, './rb/a_spec.rb sum fails here'],
  'rspec-zero': [0, 0, 0],
  minitest: [1, 2, 1, 'TestA#test_b', 'TestA#test_d'],
  'test-unit': [1, 1, 2],
  phpunit: [1, 2, 2, 'ATest::testD', 'ATest::testB'],
  'phpunit-testdox': [1, 2, 2],
  'phpunit-ok': [2, 0, 0],
  'phpunit-okskip': [1, 0, 1],
  'phpunit-zero': [0, 0, 0],
  pest: [1, 1, 1, 'Tests\\Unit\\SumTest > it fails here'],
  mix: [1, 1, 1, 'test fails here (ATest)'],
  ctest: [1, 1, 1, 'fails_here'],
  'ctest-ok': [1, 0, 0],
  'ctest-zero': [0, 0, 0],
  maven: [2, 2, 1, 'failsHere(ATest)', 'err(ATest)'],
  'maven-modules': [3, 1, 1, 'x.ATest.failsHere'],
  'gradle-green': null,
  'gradle-no-source': [0, 0, 0],
  dotnet: [10, 1, 1, 'Core.Tests.SumTests.FailsHere'],
  'dotnet-terminal-logger': [3, 1, 1],
  'dotnet-testing-platform': [3, 1, 1, 'FailsHere'],
  'dotnet-old': [3, 1, 1],
  'dotnet-normal': [3, 1, 1, 'Core.Tests.SumTests.FailsHere'],
  'npm-workspaces': [4, 1, 0, 'fails here'],
  'pnpm-r': [4, 1, 0, 'packages/b test: fails here'],
  turbo: [4, 1, 0, '@x/b:test: fails here'],
  concurrently: [4, 1, 0, '[b] fails here'],
}

const further: Record<string, TestCounts> = {
  go: { passed: 1, failed: 1, skipped: 0, names: ['TestSub', 'TestSub/two'], unit: 'packages' },
  'go-ok': { passed: 1, failed: 0, skipped: 0, names: [], unit: 'packages' },
  'go-none': { passed: 0, failed: 0, skipped: 0, names: [], unit: 'packages' },
  'go-build': {
    passed: 0,
    failed: 2,
    skipped: 0,
    names: ['TestSub', 'TestSub/two', 'example.com/m/b does not build'],
    unit: 'packages',
  },
  gradle: { passed: 2, failed: 2, skipped: 1, names: ['ATest > failsHere', 'ATest > err'], partial: true },
  'gradle-modern': { passed: 3, failed: 1, skipped: 1, names: ['SumTest > failsHere()'], partial: true },
}

describe('countTests on what runners print', () => {
  it.each(Object.entries(expected))('%s', (name, counts) => {
    const [passed = 0, failed = 0, skipped = 0, ...names] = counts ?? []
    expect(countTests(recorded(name))).toEqual(counts && { passed, failed, skipped, names })
  })

  it.each(Object.entries(further))('%s, where not every test is told', (name, counts) => {
    expect(countTests(recorded(name))).toEqual(counts)
  })

  it('knows that turbo keeps some suites silent, but only of a command that runs turbo', () => {
    const counts = { passed: 2, failed: 0, skipped: 0, names: [] }
    expect(countTests(recorded('turbo-cached'), { caches: true })).toEqual({ ...counts, partial: true })
    expect(countTests(recorded('turbo-cached'))).toEqual(counts)
    expect(countTests('@x/a:test: cache hit, suppressing logs 1', { caches: true })).toEqual({
      passed: 0,
      failed: 0,
      skipped: 0,
      names: [],
      partial: true,
    })
    expect(countTests('@x/a:test: cache hit, suppressing logs 1')).toBeNull()
  })

  it('knows every recording', () => {
    const names = readdirSync(fixtures).map(name => name.replace(/\.txt$/u, ''))
    expect(
      names.filter(name => !(name in expected) && !(name in further) && name !== 'turbo-cached'),
    ).toEqual([])
  })

  it('reads colours and Windows line ends', () => {
    expect(
      countTests(
        '\u001b[2m Test Files \u001b[22m \u001b[1m1 passed\u001b[22m (1)\r\n\u001b[2m      Tests \u001b[22m \u001b[32m2 passed\u001b[39m (2)\r\n',
      ),
    ).toEqual({
      passed: 2,
      failed: 0,
      skipped: 0,
      names: [],
    })
  })

  it('adds up different runners in one output', () => {
    expect(countTests(`${recorded('jest')}\n${recorded('pytest')}\n${recorded('cargo')}`)).toMatchObject({
      passed: 7,
      failed: 5,
      skipped: 5,
    })
  })

  it('says nothing of a plain script', () => {
    for (const text of [
      '',
      'ok\n',
      'all good, 12 files checked\n',
      '1..4\n',
      '2 passed the exam\n',
      'Tests: none\n',
      'error: 3 problems\n',
    ]) {
      expect(countTests(text)).toBeNull()
    }
  })
})

describe('a program under test that prints a summary of its own', () => {
  const fakes: [runner: string, recording: string, fake: string, at: string][] = [
    [
      'vitest',
      'vitest',
      ' Test Files  9 passed (9)\n      Tests  42 passed (42)\n   Start at  1\n',
      ' ✓ b.test.ts',
    ],
    ['pytest', 'pytest', '===== 42 passed in 0.01s =====\n', 'py/test_a.py'],
    [
      'cargo',
      'cargo-ok',
      'test result: ok. 99 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n',
      'test tests::later',
    ],
    ['node --test in TAP', 'node-tap', '# tests 42\n# pass 42\n# fail 0\n# skipped 0\n', '# Subtest: top'],
    ['playwright', 'playwright', '  42 passed (1s)\n', '  1) pw/a.spec.ts'],
    ['phpunit', 'phpunit', 'OK (42 tests, 42 assertions)\n', 'There was 1 error'],
    ['bun', 'bun', ' 42 pass\n 0 fail\nRan 42 tests across 9 files. [3.00ms]\n', '(fail) sum'],
    ['ctest', 'ctest', '100% tests passed, 0 tests failed out of 42\n', '    Start 2'],
  ]

  it.each(fakes)('%s: the runner’s own summary at the end is the true one', (_, recording, fake, at) => {
    const text = recorded(recording)
    const place = text.indexOf(at)
    expect(place).toBeGreaterThan(0)
    const { names: _names, ...counts } = countTests(text) ?? { names: [] }
    expect(countTests(text.slice(0, place) + fake + text.slice(place))).toMatchObject(counts)
  })

  it.each([
    ['one line of jest', 'Tests: 42 passed, 42 total\n'],
    ['one line of vitest', '      Tests  42 passed (42)\n'],
    ['one line of cargo', 'test result: ok. 42 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n'],
    ['half the closing lines of node --test', 'ℹ tests 42\nℹ pass 42\nℹ fail 0\n'],
    ['result lines of TAP without a plan', 'ok 1 - a\nok 2 - b\n'],
  ])('%s is no summary', (_, text) => {
    expect(countTests(text)).toBeNull()
  })
})

describe('real runs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-count-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const env = { PATH: process.env.PATH ?? '', HOME: folder, NO_COLOR: '1', CI: 'true' }

  it('node --test', () => {
    writeFileSync(
      join(folder, 'a.test.mjs'),
      "import { test } from 'node:test'\ntest('adds', () => {})\ntest('breaks', () => { throw new Error('x') })\ntest.skip('later', () => {})\n",
    )
    for (const reporter of ['spec', 'tap']) {
      const run = spawnSync(process.execPath, ['--test', `--test-reporter=${reporter}`, 'a.test.mjs'], {
        cwd: folder,
        env,
        encoding: 'utf8',
      })
      expect(run.status).toBe(1)
      expect(countTests(run.stdout)).toEqual({ passed: 1, failed: 1, skipped: 1, names: ['breaks'] })
    }
  })

  it('vitest', () => {
    const tool = join(import.meta.dirname, '../../node_modules/vitest')
    writeFileSync(
      join(folder, 'b.test.js'),
      `import { test } from '${tool}/dist/index.js'\ntest('adds', () => {})\ntest('is fine', () => { console.log('      Tests  42 passed (42)') })\n`,
    )
    const output = execFileSync(
      process.execPath,
      [join(tool, 'vitest.mjs'), 'run', '--root', folder, '--no-cache', 'b.test.js'],
      { cwd: folder, env, encoding: 'utf8' },
    )
    expect(countTests(output)).toEqual({ passed: 2, failed: 0, skipped: 0, names: [] })
  })
})

describe('createTestCounter', () => {
  const words = [
    'ok',
    'not ok',
    'Tests',
    'Test Files',
    'passed',
    'failed',
    'FAIL',
    'running',
    'tests',
    '1..',
    '---',
    '...',
    '{',
    '}',
    ':',
    '|',
    '(',
    ')',
    '#',
    'ℹ',
    '✖',
    '=',
    ' in ',
    '0.1s',
    'total',
    '\u001b[31m',
    '\r',
    '[a] ',
    'x test: ',
  ]
  const piece = fc.oneof(
    fc.constantFrom(...words),
    fc.constantFrom('  ', '    ', '\t'),
    fc.nat(99).map(String),
    fc.string({ maxLength: 4 }),
  )
  const line = fc.array(piece, { maxLength: 10 }).map(parts => parts.join(''))
  const recordedLine = fc.constantFrom(
    ...readdirSync(fixtures).flatMap(name => readFileSync(join(fixtures, name), 'utf8').split('\n')),
  )

  it('never throws and never counts what is no number, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(line, recordedLine), { maxLength: 60 }), lines => {
        const counter = createTestCounter()
        for (const text of lines) counter.line(text)
        const counts = counter.end()
        if (counts === null) return
        for (const value of [counts.passed, counts.failed, counts.skipped]) {
          expect(Number.isSafeInteger(value) && value >= 0).toBe(true)
        }
        expect(counter.end()).toEqual(counts)
      }),
      { numRuns: 300 },
    )
  })

  it('keeps few names, and short ones, of however many failures', () => {
    const counter = createTestCounter()
    for (let at = 0; at < 20_000; at += 1) {
      counter.line(` FAIL  a.test.ts > case ${at} ${'x'.repeat(5_000)}`)
      counter.line(`[lane-${at}] FAIL x`)
    }
    counter.line(' Test Files  1 failed (1)')
    counter.line('      Tests  20000 failed (20000)')
    const counts = counter.end()
    expect(counts?.failed).toBe(20_000)
    expect(counts?.names.length).toBe(200)
    expect(Math.max(...(counts?.names ?? []).map(name => name.length))).toBeLessThanOrEqual(300)
  })

  it('takes no more than linear time for a hostile line', () => {
    const hostile = [
      '=',
      ' ',
      '1 ',
      'a > ',
      'ok 1 ',
      'x:',
      '[[[',
      '1 passed, ',
      '\u001b]',
      ' | 1 failed',
      'Time elapsed: ',
      '--- FAIL: ',
      'not ok ',
      '(1) ',
    ].map(text => text.repeat(2_000))
    const counter = createTestCounter()
    // Processor time: a busy machine must not fail this.
    const from = process.cpuUsage()
    for (const text of hostile)
      for (const end of ['', 'FAILED', ' <<< FAILURE!', ' in 1s', ' =>'])
        for (let again = 0; again < 5; again += 1) counter.line(text + end)
    expect(process.cpuUsage(from).user).toBeLessThan(5_000_000)
    expect(counter.end()).toBeNull()
  })
})
