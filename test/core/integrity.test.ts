import { describe, expect, it } from 'vitest'
import { fileViolations, isTestFile, skippedTests } from '../../src/core/integrity.ts'

const rules = {
  protect: ['specs/**', 'ralph.config.yaml'],
  gateFiles: ['check.sh'],
  allows: ['specs/1.1.md', 'check.sh'],
  readOnly: false,
}

describe('fileViolations', () => {
  it('names the rule and the file in plain words', () => {
    const found = fileViolations(
      [
        { path: 'src/a.ts', how: 'modified' },
        { path: 'specs/1.2.md', how: 'modified' },
        { path: 'ralph.config.yaml', how: 'deleted' },
        { path: 'check.sh', how: 'added' },
      ],
      { ...rules, allows: [] },
    )
    expect(found).toEqual([
      { rule: 'protected-file', path: 'specs/1.2.md', detail: 'Changed the protected file specs/1.2.md' },
      {
        rule: 'protected-file',
        path: 'ralph.config.yaml',
        detail: 'Deleted the protected file ralph.config.yaml',
      },
      {
        rule: 'gate-definition',
        path: 'check.sh',
        detail: 'Added check.sh, which defines how the work is checked',
      },
    ])
  })

  it('lets a task change what its own spec allows, but not its reviewer', () => {
    const files = [
      { path: 'specs/1.1.md', how: 'modified' },
      { path: 'check.sh', how: 'modified' },
    ] as const
    expect(fileViolations([...files], rules)).toEqual([])
    expect(
      fileViolations([...files, { path: 'src/a.ts', how: 'added' }], { ...rules, readOnly: true }).map(
        one => one.rule,
      ),
    ).toEqual(['protected-file', 'gate-definition', 'read-only'])
  })
})

describe('isTestFile', () => {
  it.each([
    'test/a.ts',
    'tests/deep/b.py',
    'src/__tests__/a.jsx',
    'src/a.test.ts',
    'src/a.spec.mjs',
    'a_test.go',
    'test_a.py',
    'app/tests.py',
    'spec/a_spec.rb',
    'lib/a_spec.rb',
    'src/test/java/ATest.java',
    'ATests.swift',
    'ASpec.groovy',
    'tests/ATest.php',
    'test/a_test.exs',
    'e2e/login.cy.ts',
    'cypress/login.cy.js',
    'tests/integration.rs',
    't/a.t',
    'test/a.bats',
    'tests/a.feature',
  ])('knows %s', path => {
    expect(isTestFile(path)).toBe(true)
  })

  it.each([
    'src/a.ts',
    'src/testing.ts',
    'latest.ts',
    'contest/a.ts',
    'test/fixtures/a.json',
    'test/__snapshots__/a.test.ts.snap',
    'docs/test.md',
    'src/attest.py',
    'protest.go',
  ])('does not take %s for one', path => {
    expect(isTestFile(path)).toBe(false)
  })
})

describe('skippedTests', () => {
  it.each([
    ['a.test.ts', "  it.skip('adds', () => {"],
    ['a.test.ts', "test.only('adds', () => {"],
    ['a.test.ts', "describe.skip('all', () => {"],
    ['a.test.ts', "test.concurrent.skip('adds', () => {"],
    ['a.test.ts', "xit('adds', () => {"],
    ['a.test.ts', "fdescribe('adds', () => {"],
    ['a.test.ts', "test.todo('adds')"],
    ['a.test.ts', "describe.skipIf(true)('x', () => {"],
    ['a.test.ts', '  this.skip()'],
    ['a.test.ts', "test('adds', { skip: 'later' }, () => {"],
    ['a.test.ts', '  skip: true,'],
    ['a.spec.ts', "test.fixme('adds', async () => {"],
    ['test_a.py', '@pytest.mark.skip'],
    ['test_a.py', "pytestmark = pytest.mark.skip(reason='x')"],
    ['test_a.py', '@pytest.mark.xfail'],
    ['test_a.py', '    pytest.skip("later")'],
    ['test_a.py', '@unittest.skip("later")'],
    ['test_a.py', '        self.skipTest("x")'],
    ['test_a.py', '__test__ = False'],
    ['a_test.go', '\tt.Skip("later")'],
    ['a_test.go', 'func TestMain(m *testing.M) {'],
    ['a_test.go', '//go:build ignore'],
    ['tests/a.rs', '    #[ignore]'],
    ['tests/a.rs', '#![cfg(any())]'],
    ['ATest.java', '  @Disabled("later")'],
    ['ATest.java', '  @Test(enabled = false)'],
    ['a_spec.rb', "  xit 'adds' do"],
    ['a_spec.rb', '    skip'],
    ['a_spec.rb', "  it 'adds', :skip do"],
    ['ATest.php', '$this->markTestSkipped();'],
    ['ATests.cs', '[Fact(Skip = "later")]'],
    ['a_test.exs', '  @tag :skip'],
    ['test/a.bats', '  skip "later"'],
  ])('sees in %s: %s', (path, line) => {
    expect(skippedTests(path, ['const a = 1', line])).toEqual([
      { rule: 'tests-skipped', path, detail: `Switched tests off in ${path}: ${line.trim()}` },
    ])
  })

  it.each([
    ['a.test.ts', "it('skips the header', () => {"],
    ['a.test.ts', "  // it.skip('old', …) was here"],
    ['a.test.ts', "  expect(lint('it.skip(1)')).toBe(false)"],
    ['a.test.ts', '  const benefit = audit(it)'],
    ['a.test.ts', '  model.fit(data)'],
    ['a.test.ts', '  const options = { only: true }'],
    ['a.test.ts', "describe.skipIf(process.platform === 'win32')('x', () => {"],
    ['src/a.ts', "it.skip('not a test file', () => {"],
    ['test_a.py', '    model.fit(x)  # pytest.skip() is not called'],
    ['test_a.py', '@pytest.mark.skipif(sys.platform == "win32", reason="x")'],
    ['a_test.go', '// t.Skip("later") was here'],
    ['a_test.go', '//go:build linux'],
    ['ATest.java', '    config.enabled = false;'],
    ['a_spec.rb', "  it 'can skip' do"],
    ['tests/a.rs', '// #[ignore] is not used'],
  ])('passes over in %s: %s', (path, line) => {
    expect(skippedTests(path, [line])).toEqual([])
  })
})
