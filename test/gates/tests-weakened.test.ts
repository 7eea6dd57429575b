import { describe, expect, it } from 'vitest'
import { testCases, weakenedTests } from '../../src/gates/tests-weakened.ts'
import { changed, changes, type Files, treeOf } from './helpers/trees.ts'

async function weakened(before: Files, by: Record<string, string | undefined>, allows: string[] = []) {
  const after = changed(before, by)
  const found = await weakenedTests({
    before: treeOf(before),
    after: treeOf(after),
    changed: changes(before, after),
    allows,
  })
  return found.map(one => `${one.rule}: ${one.detail}`)
}

const cases = (...titles: string[]) =>
  titles.map(title => `test('${title}', () => {\n  expect(1).toBe(1)\n})\n`).join('\n')
const before: Files = {
  'test/a.test.ts': cases('one', 'two', 'three', 'four'),
  'test/helper.ts': 'export const a = 1',
  'src/a.ts': '',
}

describe('weakenedTests', () => {
  it('lets tests be added and changed', async () => {
    expect(
      await weakened(before, {
        'test/a.test.ts': cases('one', 'two', 'three again', 'four', 'five'),
        'test/b.test.ts': cases('six'),
      }),
    ).toEqual([])
  })

  it('sees a deleted test file', async () => {
    expect(await weakened(before, { 'test/a.test.ts': undefined })).toEqual([
      'tests-deleted: Deleted the test file test/a.test.ts',
    ])
    expect(await weakened({ 'check.test.mjs': 'assert(1)' }, { 'check.test.mjs': undefined })).toEqual([
      'tests-deleted: Deleted the test file check.test.mjs',
    ])
  })

  it('lets a helper go that holds no test', async () => {
    expect(await weakened(before, { 'test/helper.ts': undefined })).toEqual([])
  })

  it('sees an emptied test file, also one that is only comments now', async () => {
    expect(await weakened(before, { 'test/a.test.ts': '' })).toEqual([
      'tests-deleted: Emptied the test file test/a.test.ts',
    ])
    expect(await weakened(before, { 'test/a.test.ts': '// soon\n' })).toEqual([
      'tests-deleted: Emptied the test file test/a.test.ts',
    ])
    expect(
      await weakened(
        { 'test/plain.py': 'assert add(1, 2) == 3\n' },
        { 'test/plain.py': '# nothing\npass\n' },
      ),
    ).toEqual(['tests-deleted: Emptied the test file test/plain.py'])
  })

  it('sees a test file cut to less than half', async () => {
    expect(await weakened(before, { 'test/a.test.ts': cases('one') })).toEqual([
      'tests-deleted: Cut test/a.test.ts from 4 tests to 1',
    ])
    expect(await weakened(before, { 'test/a.test.ts': cases('one', 'two') })).toEqual([])
  })

  it('knows tests that moved to another file, or a file of another name', async () => {
    expect(
      await weakened(before, { 'test/a.test.ts': undefined, 'test/b.test.ts': before['test/a.test.ts'] }),
    ).toEqual([])
    expect(
      await weakened(before, {
        'test/a.test.ts': undefined,
        'test/b.test.ts': cases('one', 'two'),
        'test/c.test.ts': cases('three', 'four'),
      }),
    ).toEqual([])
    expect(
      await weakened(before, {
        'test/a.test.ts': cases('four'),
        'test/b.test.ts': cases('one', 'two', 'three'),
      }),
    ).toEqual([])
    expect(
      await weakened(before, { 'test/a.test.ts': undefined, 'test/b.test.ts': cases('one', 'two', 'three') }),
    ).toEqual(['tests-deleted: Deleted the test file test/a.test.ts'])
    expect(
      await weakened(before, { 'test/a.test.ts': undefined, 'docs/a.test.ts.txt': before['test/a.test.ts'] }),
    ).toEqual(['tests-deleted: Deleted the test file test/a.test.ts'])
  })

  it('does not take one marked test for another', async () => {
    const java = (...names: string[]) => names.map(name => `  @Test\n  void ${name}() {}\n`).join('')
    expect(
      await weakened(
        { 'ATest.java': java('a', 'b') },
        { 'ATest.java': undefined, 'BTest.java': java('c', 'd') },
      ),
    ).toEqual(['tests-deleted: Deleted the test file ATest.java'])
    expect(
      await weakened(
        { 'ATest.java': java('a', 'b') },
        { 'ATest.java': undefined, 'BTest.java': java('a', 'b', 'c') },
      ),
    ).toEqual([])
  })

  it('lets a table of cases take the place of many', async () => {
    expect(
      await weakened(before, {
        'test/a.test.ts': "test.each([1, 2, 3, 4])('%s', n => {\n  expect(n).toBe(n)\n})",
      }),
    ).toEqual([])
  })

  it('sees tests switched off in added lines, not in those that were there', async () => {
    const skip = "test.skip('old', () => {})\n"
    expect(await weakened({ 'a.test.ts': skip }, { 'a.test.ts': `${skip}${cases('new')}` })).toEqual([])
    expect(
      await weakened(
        { 'a.test.ts': `${skip}${cases('x')}` },
        { 'a.test.ts': undefined, 'b.test.ts': `  ${skip}${cases('x')}` },
      ),
    ).toEqual([])
    expect(
      await weakened(before, {
        'test/a.test.ts': (before['test/a.test.ts'] ?? '').replace("test('two'", "test.only('two'"),
      }),
    ).toEqual(["tests-skipped: Switched tests off in test/a.test.ts: test.only('two', () => {"])
    expect(await weakened({ 'a.test.ts': skip }, { 'a.test.ts': `${skip}${skip}` })).toHaveLength(1)
  })

  it('follows the task’s own spec', async () => {
    expect(await weakened(before, { 'test/a.test.ts': undefined }, ['test/**'])).toEqual([])
  })

  it('looks at tests only', async () => {
    expect(
      await weakened(
        { 'src/a.ts': cases('x'), 'README.md': 'x' },
        { 'src/a.ts': undefined, 'README.md': undefined },
      ),
    ).toEqual([])
  })
})

describe('testCases', () => {
  it.each([
    ['a.test.ts', "it('a', f)\n  test(\"b\", f)\nit.each([1])('c', f)\ndescribe('d', f)\nsubmit('e')", 3],
    ['test_a.py', 'def test_a():\n  pass\nclass T:\n  async def test_b(self): pass\ndef helper(): pass', 2],
    ['a_test.go', 'func TestA(t *testing.T) {\n\tt.Run("x", f)\n}\nfunc help() {}', 2],
    ['tests/a.rs', '#[test]\nfn a() {}\n#[tokio::test]\nasync fn b() {}\nfn c() {}', 2],
    ['a_spec.rb', "describe 'x' do\n  it 'a' do\n  end\nend\ndef test_b; end", 2],
    ['ATest.php', 'public function testA() {}\n#[Test]\npublic function b() {}', 2],
    ['ATests.cs', '[Fact]\npublic void A() {}\n[Theory]\npublic void B() {}', 2],
    ['a_test.exs', 'test "a" do\nend', 1],
    ['test/a.bats', '@test "a" {\n}', 1],
    ['test/a.zig', 'test "a" {}', 0],
  ])('counts in %s', (path, text, count) => {
    expect(testCases(path, text)).toHaveLength(count)
  })
})
