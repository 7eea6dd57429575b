import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'

const script = fileURLToPath(new URL('../../scripts/trace.mjs', import.meta.url))
let root = ''

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-trace-'))
  write(
    'docs/requirements-ids.txt',
    'S4-01 One\nS4-02 Two\nS4-03 Three\nS4-T01 Test\nG-14 Skeleton\nG-15 Order\n',
  )
  // The names are put together, so that this file itself does not claim anything.
  const name = (id: string) => `${id} works`
  write(
    'test/a.test.ts',
    [
      `// it's the reader's job not to stumble over an apostrophe`,
      `it('${name('S4-01')}', () => {})`,
      `describe.each([['x', 'y']])(\n  "${name('S4-T01')} %s",\n  () => {},\n)`,
      `expect('S4-02 in a string is not a test')`,
      `it('${name('S4-99')}', () => {})`,
    ].join('\n'),
  )
  write('test/contracts/suite.ts', `export const suite = () => it.concurrent(\`${name('G-14')}\`, () => {})`)
  write('test/helpers/other.ts', `it('${name('G-15')}', () => {})`)
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

function trace(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--root', root, ...args], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

it('counts the requirements that a test names, by family, and lists the others', () => {
  const { status, stdout, stderr } = trace()
  expect(status).toBe(0)
  expect(stdout).toBe(
    'S4      2 / 4\nG       1 / 2\nall     3 / 6\n\nwithout a test:\n  S4-02..S4-03\n  G-15\n',
  )
  expect(stderr).toBe('trace: no requirement S4-99, named in test/a.test.ts: S4-99 works\n')
})

it('shows one family with titles, or everything as JSON', () => {
  expect(trace('--seed', 'G').stdout).toBe(
    'G       1 / 2\nall     1 / 2\n\nwithout a test:\n  G-15    Order\n',
  )
  const { families, requirements } = JSON.parse(trace('--json', '--seed', 'G').stdout)
  expect(families).toEqual([{ family: 'G', covered: 1, total: 2 }])
  expect(requirements[0].tests).toEqual([{ file: join('test', 'contracts', 'suite.ts'), name: 'G-14 works' }])
})

it.each([
  ['S4-01', 0],
  ['S4-01,G-14', 0],
  ['S4', 1],
  ['G-14..G-15', 1],
  ['S4-03..S4-T01', 1],
  ['S7', 2],
])('--check %s ends with %i', (selection, code) => {
  expect(trace('--check', selection).status).toBe(code)
})
