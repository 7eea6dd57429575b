import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { detectVerify } from '../../src/gates/detect.ts'
import type { Files } from './helpers/trees.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function project(files: Files): string {
  const root = mkdtempSync(join(tmpdir(), 'ralph-detect-'))
  folders.push(root)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

const manifest = (scripts: Record<string, string>, more: object = {}) => ({
  'package.json': JSON.stringify({ scripts, ...more }),
})
const detected = (files: Files) => detectVerify(project(files))?.commands ?? null

describe('detectVerify', () => {
  it.each<[string, Files, string[] | null]>([
    ['nothing', { 'README.md': '' }, null],
    ['an npm project', manifest({ test: 'vitest run' }), ['npm test']],
    [
      'all the usual scripts',
      manifest({ test: 'jest', lint: 'eslint .', typecheck: 'tsc', check: 'x', build: 'y' }),
      ['npm test', 'npm run check', 'npm run lint', 'npm run typecheck'],
    ],
    [
      'a check that runs the others',
      manifest({ test: 'jest', lint: 'eslint .', check: 'npm run lint && npm test' }),
      ['npm run check'],
    ],
    ['npm’s placeholder', manifest({ test: 'echo "Error: no test specified" && exit 1' }), null],
    [
      'npm’s placeholder beside a real script',
      manifest({ test: 'echo "Error: no test specified" && exit 1', lint: 'eslint .' }),
      ['npm run lint'],
    ],
    [
      'a test script that watches',
      manifest({ test: 'vitest --watch', 'test:ci': 'vitest run' }),
      ['npm run test:ci'],
    ],
    ['Angular, which watches by default', manifest({ test: 'ng test' }), ['npm test -- --watch=false']],
    ['a broken package.json', { 'package.json': '{' }, null],
    ['pnpm', { ...manifest({ test: 'x', lint: 'y' }), 'pnpm-lock.yaml': '' }, ['pnpm test', 'pnpm run lint']],
    ['yarn', { ...manifest({ test: 'x' }), 'yarn.lock': '' }, ['yarn test']],
    [
      'bun, whose `bun test` is another thing',
      { ...manifest({ test: 'x' }), 'bun.lock': '' },
      ['bun run test'],
    ],
    ['the packageManager field', manifest({ test: 'x' }, { packageManager: 'pnpm@10.0.0' }), ['pnpm test']],
    [
      'a lock file against the field',
      { ...manifest({ test: 'x' }, { packageManager: 'pnpm@10.0.0' }), 'package-lock.json': '' },
      ['npm test'],
    ],
    ['a runner without a script', manifest({}, { devDependencies: { vitest: '4' } }), ['npx vitest run']],
    ['a Makefile', { Makefile: 'build:\n\tx\ntest: build\n\ty\n' }, ['make test']],
    ['a Makefile with check only', { Makefile: 'check:\n\tx\n' }, ['make check']],
    ['a Makefile without either', { Makefile: 'test-data:\n\tx\n' }, null],
    ['a Makefile before the language', { Makefile: 'test:\n\tx\n', 'go.mod': '' }, ['make test']],
    ['just', { justfile: 'test arg="x":\n  y\n' }, ['just test']],
    ['pytest by its section', { 'pyproject.toml': '[tool.pytest.ini_options]\n' }, ['pytest']],
    ['pytest by its tests', { 'tests/test_a.py': 'def test_a(): pass' }, ['pytest']],
    ['pytest with uv', { 'pytest.ini': '', 'uv.lock': '' }, ['uv run pytest']],
    ['pytest with poetry', { 'conftest.py': '', 'poetry.lock': '' }, ['poetry run pytest']],
    ['unittest', { 'tests/test_a.py': 'import unittest\n' }, ['python3 -m unittest discover -s tests']],
    ['tox', { 'tox.ini': '[tox]' }, ['tox']],
    ['a pyproject without tests', { 'pyproject.toml': '[project]' }, null],
    ['cargo', { 'Cargo.toml': '' }, ['cargo test']],
    ['go', { 'go.mod': '' }, ['go test ./...']],
    ['gradle with its wrapper', { 'build.gradle.kts': '', gradlew: '' }, ['./gradlew test']],
    ['maven', { 'pom.xml': '' }, ['mvn -B test']],
    ['composer', { 'composer.json': '{"scripts":{"test":"phpunit"}}' }, ['composer test']],
    ['phpunit', { 'phpunit.xml.dist': '' }, ['vendor/bin/phpunit']],
    ['mix', { 'mix.exs': '' }, ['mix test']],
    ['deno', { 'deno.json': '{}' }, ['deno test']],
    ['deno with a task', { 'deno.jsonc': '{ /* x */ "tasks": { "test": "y" } }' }, ['deno task test']],
    ['dotnet', { 'App.sln': '' }, ['dotnet test']],
    ['rspec', { '.rspec': '', Gemfile: '' }, ['bundle exec rspec']],
    ['rails', { 'bin/rails': '', 'test/a_test.rb': '', Gemfile: '' }, ['bin/rails test']],
    ['several languages at once', { 'Cargo.toml': '', 'go.mod': '' }, ['cargo test', 'go test ./...']],
  ])('%s', (_, files, commands) => {
    expect(detected(files)).toEqual(commands)
  })

  it('says why', () => {
    expect(detectVerify(project(manifest({ test: 'x', lint: 'y' })))?.because).toBe(
      'package.json has the scripts test, lint',
    )
    expect(detectVerify(project({ 'Cargo.toml': '', 'go.mod': '' }))?.because).toBe(
      'Cargo.toml is there; go.mod is there',
    )
  })

  it('finds nothing in a folder that is not there', () => {
    expect(detectVerify('/nowhere/at/all')).toBeNull()
  })
})
