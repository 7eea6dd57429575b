import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { definitionViolations, gateDefinition } from '../../src/gates/definition.ts'
import { changed, changes, type Files, treeOf } from './helpers/trees.ts'

const json = (value: unknown) => JSON.stringify(value, null, 2)

async function violations(
  command: string | string[],
  before: Files,
  by: Record<string, string | undefined>,
  allows: string[] = [],
) {
  const after = changed(before, by)
  const found = await definitionViolations({
    commands: [command].flat(),
    before: treeOf(before),
    after: treeOf(after),
    changed: changes(before, after),
    allows,
  })
  for (const one of found) expect(one.rule).toBe('gate-definition')
  return found.map(one => one.detail.replace(', which defines how the work is checked', ''))
}

const files = async (command: string, tree: Files) =>
  (await gateDefinition([command], treeOf(tree))).gateFiles

const node: Files = {
  'package.json': json({ scripts: { test: 'vitest run', lint: 'eslint .' }, dependencies: { a: '1' } }),
  'src/a.ts': 'export {}',
  'test/a.test.ts': "test('a', () => {})",
}

describe('gateDefinition: the files a command names', () => {
  const tree: Files = {
    'check.sh': '#!/bin/sh\n# all checks\nset -e\nnode scripts/check.mjs\n(cd sub && ./inner.sh)\nmake ci\n',
    'scripts/check.mjs': '',
    'scripts/tool.js': '',
    'sub/inner.sh': 'python tools/deep.py',
    'sub/tools/deep.py': '',
    'tools/verify.py': '',
    'pkg/tests/run.py': '',
    Makefile: 'RUN = python tools/verify.py\nci: build\n\t@$(RUN)\nbuild:\n\tnode scripts/tool.js\n',
    'tests/test_a.py': '',
    'tests/expected.txt': '',
    'ci/jest.json': '',
    'src/a.ts': '',
    'README.md': '',
  }

  it.each([
    [
      './check.sh',
      [
        'check.sh',
        'scripts/check.mjs',
        'scripts/tool.js',
        'sub/inner.sh',
        'sub/tools/deep.py',
        'tools/verify.py',
      ],
    ],
    [
      'sh check.sh',
      [
        'check.sh',
        'scripts/check.mjs',
        'scripts/tool.js',
        'sub/inner.sh',
        'sub/tools/deep.py',
        'tools/verify.py',
      ],
    ],
    ['node scripts/check.mjs', ['scripts/check.mjs']],
    ['node scripts/tool', ['scripts/tool.js']],
    ['CI=1 timeout 60 node ./scripts/check.mjs', ['scripts/check.mjs']],
    ["bash -c 'cd scripts && node check.mjs'", ['scripts/check.mjs']],
    ['bash -lc "node scripts/check.mjs" && python tools/verify.py', ['scripts/check.mjs', 'tools/verify.py']],
    ['cd sub; ./inner.sh', ['sub/inner.sh', 'sub/tools/deep.py']],
    ['echo $(node scripts/check.mjs)', ['scripts/check.mjs']],
    ['make ci', ['scripts/tool.js', 'tools/verify.py']],
    ['python3 -m pkg.tests.run', ['pkg/tests/run.py']],
    ['python -m pytest tests/test_a.py::test_x', ['tests/test_a.py']],
    ['npx jest --config=ci/jest.json', ['ci/jest.json']],
    ['uv run python tools/verify.py', ['tools/verify.py']],
    ['diff tests/expected.txt README.md', ['tests/expected.txt']],
    ['node scripts/check.mjs < tests/expected.txt', ['scripts/check.mjs', 'tests/expected.txt']],
    // A folder of tests stays open, and what is only looked at is the work itself.
    ['pytest tests', []],
    ['grep -q done README.md', []],
    ['test -f README.md && cat src/a.ts', []],
    ['npx eslint src/a.ts', []],
    ['shellcheck check.sh', []],
    ['node /usr/lib/x.js ../outside.js missing.js', []],
  ])('%s', async (command, expected) => {
    expect(await files(command, tree)).toEqual(expected)
  })

  it('follows scripts of package.json, through each other and into workspaces', async () => {
    const workspace: Files = {
      'package.json': json({
        workspaces: ['packages/*'],
        scripts: {
          test: 'run-s unit:*',
          'unit:a': 'node a.js',
          'unit:b': 'npm run deep -- c.js',
          deep: 'node b.js',
          pretest: 'node pre.js',
        },
      }),
      'a.js': '',
      'b.js': '',
      'c.js': '',
      'pre.js': '',
      'other.js': '',
      'packages/x/package.json': json({ scripts: { test: 'node x.js' } }),
      'packages/x/x.js': '',
    }
    for (const command of [
      'npm test',
      'npm t',
      'npm run test',
      'pnpm test',
      'yarn test',
      'bun run test',
      'node --run test',
    ]) {
      expect([command, await files(command, workspace)]).toEqual([
        command,
        ['a.js', 'b.js', 'c.js', 'pre.js'],
      ])
    }
    const all = ['a.js', 'b.js', 'c.js', 'packages/x/x.js', 'pre.js']
    for (const command of [
      'npm test --workspaces',
      'pnpm -r test',
      'npm test -w x',
      'turbo run test',
      'yarn workspaces foreach -A run test',
    ]) {
      expect([command, await files(command, workspace)]).toEqual([command, all])
    }
    expect(await files('npm --prefix packages/x test', workspace)).toEqual(['packages/x/x.js'])
  })

  it('follows a script into its own folder', async () => {
    const tree: Files = {
      'tools/ci/check.sh':
        'cd "$(dirname "$0")/../.."\nnode scripts/a.mjs\nnode "$ROOT/scripts/b.mjs"\ncd $ELSEWHERE && node scripts/c.mjs\n',
      'scripts/a.mjs': '',
      'scripts/b.mjs': '',
      'scripts/c.mjs': '',
    }
    expect(await files('bash tools/ci/check.sh', tree)).toEqual([
      'scripts/a.mjs',
      'scripts/b.mjs',
      'scripts/c.mjs',
      'tools/ci/check.sh',
    ])
  })

  it('ends, even when scripts call each other in circles', async () => {
    const circle: Files = {
      'package.json': json({ scripts: { test: 'npm run a', a: 'npm run test && npm run a' } }),
      'a.sh': 'sh a.sh; ./b.sh',
      'b.sh': '. ./a.sh; sh a.sh',
    }
    expect(await files('npm test; sh a.sh', circle)).toEqual(['a.sh', 'b.sh'])
  })

  it('never throws on whatever stands in commands, scripts and makefiles', async () => {
    const sign = fc.constantFrom(...'ab /.\'"$(){}&;|=:*%\t\n-'.split(''))
    const text = fc.string({ unit: sign, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(text, text, text, async (command, script, makefile) => {
        const tree: Files = {
          'package.json': json({ scripts: { test: script, a: command } }),
          Makefile: makefile,
          a: script,
        }
        const found = await gateDefinition([command, 'npm test', 'make a b', 'sh a'], treeOf(tree))
        expect(found.gateFiles).toContain('a')
      }),
    )
  })
})

describe('definitionViolations', () => {
  it('lets an agent work: sources, tests and dependencies', async () => {
    const by = {
      'src/a.ts': 'export const a = 1',
      'test/b.test.ts': "test('b', () => {})",
      'test/a.test.ts': "test('a', () => {})\ntest('a2', () => {})",
      'package.json': json({
        scripts: { test: 'vitest run', lint: 'eslint .', build: 'vite build' },
        dependencies: { a: '2', b: '1' },
      }),
      'package-lock.json': '{}',
      'tsconfig.json': '{}',
    }
    expect(await violations(['npm test', 'npm run lint'], node, by)).toEqual([])
  })

  it('blames a changed script, and what npm would run before or after it', async () => {
    const scripts = (value: object) => ({ 'package.json': json({ scripts: value }) })
    expect(await violations('npm test', node, scripts({ test: 'true', lint: 'eslint .' }))).toEqual([
      'Changed scripts.test in package.json',
    ])
    expect(
      await violations('npm test', node, scripts({ test: 'vitest run', pretest: 'rm -rf test' })),
    ).toEqual(['Added scripts.pretest in package.json'])
    expect(await violations('npm test', node, scripts({ lint: 'eslint .' }))).toEqual([
      'Removed scripts.test in package.json',
    ])
    expect(await violations('npm test', node, { 'package.json': undefined })).toEqual([
      'Removed scripts.test in package.json',
    ])
    expect(await violations('npm run lint', node, scripts({ test: 'true', lint: 'eslint .' }))).toEqual([])
  })

  it('lets the task’s own spec allow a file', async () => {
    expect(
      await violations('npm test', node, { 'vitest.config.ts': 'x', 'package.json': '{}' }, [
        'vitest.config.ts',
        'package.json',
      ]),
    ).toEqual([])
  })

  it('blames configuration of the runner that is changed, added or deleted', async () => {
    expect(
      await violations('npm test', node, { 'vitest.config.ts': 'export default { test: { include: [] } }' }),
    ).toEqual(['Added vitest.config.ts'])
    const configured = { ...node, 'vitest.config.mts': 'x' }
    expect(await violations('npm test', configured, { 'vitest.config.mts': 'y' })).toEqual([
      'Changed vitest.config.mts',
    ])
    expect(await violations('npm test', configured, { 'vitest.config.mts': undefined })).toEqual([
      'Deleted vitest.config.mts',
    ])
    expect(await violations('npm test', node, { '.npmrc': 'script-shell=/bin/true' })).toEqual([
      'Added .npmrc',
    ])
    expect(await violations('npm test', node, { 'packages/new/vitest.config.ts': 'x' })).toEqual([])
  })

  it('takes vite.config for vitest’s only when vitest does', async () => {
    const vite = { ...node, 'vite.config.ts': 'a' }
    expect(await violations('npm test', vite, { 'vite.config.ts': 'b' })).toEqual(['Changed vite.config.ts'])
    expect(
      await violations('npm test', { ...vite, 'vitest.config.ts': 'x' }, { 'vite.config.ts': 'b' }),
    ).toEqual([])
    expect(
      await violations(
        'npm test',
        { ...vite, 'vitest.config.ts': "import './vite.config'" },
        { 'vite.config.ts': 'b' },
      ),
    ).toEqual(['Changed vite.config.ts'])
  })

  it('blames a changed setup file that the configuration loads before the tests', async () => {
    const jest: Files = {
      'package.json': json({ scripts: { test: 'jest' }, jest: { setupFiles: ['<rootDir>/test/setup.js'] } }),
      'test/setup.js': 'a',
      'test/helper.js': 'a',
    }
    expect(
      await violations('npm test', jest, {
        'test/setup.js': 'globalThis.expect = () => ({})',
        'test/helper.js': 'b',
      }),
    ).toEqual(['Changed test/setup.js'])
  })

  const others: [what: string, command: string, before: Files, lie: Files, honest: Files, blamed: string][] =
    [
      [
        'jest in package.json',
        'npx jest',
        { 'package.json': json({ jest: { bail: 1 } }) },
        { 'package.json': json({ jest: { testMatch: [] } }) },
        { 'package.json': json({ jest: { bail: 1 }, name: 'a' }) },
        'Changed jest in package.json',
      ],
      [
        'mocha',
        'npx mocha',
        { 'package.json': '{}' },
        { '.mocharc.json': '{}' },
        { 'src/mocharc.json': '{}' },
        'Added .mocharc.json',
      ],
      [
        'pytest in pyproject',
        'pytest',
        { 'pyproject.toml': '[project]\nname = "a"\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n' },
        { 'pyproject.toml': '[project]\nname = "a"\n[tool.pytest.ini_options]\ntestpaths = ["none"]\n' },
        {
          'pyproject.toml':
            '[project]\nname = "a"\ndependencies = ["b"]\n\n[tool.pytest.ini_options]\n# where they are\ntestpaths = ["tests"]\n[tool.black]\n',
        },
        'Changed [tool.pytest] in pyproject.toml',
      ],
      [
        'pytest.ini in the tests',
        'pytest tests',
        { 'setup.py': '' },
        { 'tests/pytest.ini': '[pytest]' },
        { 'tests/test_b.py': '' },
        'Added tests/pytest.ini',
      ],
      [
        'conftest that decides',
        'pytest',
        { 'tests/conftest.py': 'import pytest\n' },
        { 'tests/conftest.py': 'def pytest_collection_modifyitems(items): items.clear()\n' },
        { 'tests/conftest.py': 'import pytest\n@pytest.fixture\ndef a(): return 1\n' },
        'Added test settings in tests/conftest.py',
      ],
      [
        'a new conftest that decides',
        'pytest',
        { 'tests/test_a.py': '' },
        { 'conftest.py': 'collect_ignore = ["tests"]' },
        { 'tests/conftest.py': '@pytest.fixture\ndef b(): pass' },
        'Added test settings in conftest.py',
      ],
      [
        'a module in place of pytest',
        'python -m pytest',
        { 'setup.py': '' },
        { 'pytest.py': 'exit(0)' },
        { 'src/pytest_helper.py': '' },
        'Added pytest.py',
      ],
      [
        'setup.cfg',
        'pytest',
        { 'setup.cfg': '[metadata]\nname = a\n[tool:pytest]\naddopts = -q\n' },
        { 'setup.cfg': '[metadata]\nname = a\n[tool:pytest]\naddopts = -k none\n' },
        { 'setup.cfg': '[metadata]\nname = b\n[tool:pytest]\naddopts = -q\n' },
        'Changed [tool:pytest] in setup.cfg',
      ],
      [
        'cargo',
        'cargo test',
        { 'Cargo.toml': '[package]\nname = "a"\n' },
        { 'Cargo.toml': '[package]\nname = "a"\n[lib]\ntest = false\n' },
        { 'Cargo.toml': '[package]\nname = "a"\n[dependencies]\nb = "1"\n' },
        'Added test settings in Cargo.toml',
      ],
      [
        'a runner for cargo',
        'cargo test',
        { 'Cargo.toml': '' },
        { '.cargo/config.toml': '[target.x]\nrunner = "true"' },
        { 'src/cargo/config.rs': '' },
        'Added .cargo/config.toml',
      ],
      [
        'gradle',
        './gradlew test',
        { 'build.gradle': 'dependencies {\n}\n', gradlew: '' },
        { 'build.gradle': 'dependencies {\n}\ntest {\n  ignoreFailures = true\n}\n' },
        { 'build.gradle': 'dependencies {\n  implementation "a:b:1"\n}\n' },
        'Added test settings in build.gradle',
      ],
      [
        'a wrapper',
        './gradlew test',
        { gradlew: 'a', 'build.gradle': '' },
        { gradlew: 'exit 0' },
        { 'gradlew.txt': '' },
        'Changed gradlew',
      ],
      [
        'maven',
        'mvn -B test',
        { 'pom.xml': '<project>\n<dependencies/>\n</project>' },
        { 'pom.xml': '<project>\n<skipTests>true</skipTests>\n</project>' },
        { 'pom.xml': '<project>\n<dependencies><x/></dependencies>\n</project>' },
        'Added test settings in pom.xml',
      ],
      [
        'phpunit',
        'vendor/bin/phpunit',
        { 'phpunit.xml.dist': 'a', 'composer.json': '{}' },
        { 'phpunit.xml': 'b' },
        { 'composer.json': '{"a":1}' },
        'Added phpunit.xml',
      ],
      [
        'rspec',
        'bundle exec rspec',
        { '.rspec': '--format d', Gemfile: '' },
        { '.rspec': '--tag none' },
        { Gemfile: 'gem "a"' },
        'Changed .rspec',
      ],
      [
        'tsc',
        'npx tsc --noEmit',
        { 'tsconfig.json': '{ "compilerOptions": { "strict": true, /* kept */ }, }' },
        { 'tsconfig.json': '{ "compilerOptions": { "strict": false } }' },
        { 'tsconfig.json': '{ "compilerOptions": { "strict": true, "jsx": "react-jsx" } }' },
        'Changed compilerOptions.strict in tsconfig.json',
      ],
      [
        'tsc of a package',
        'tsc -p packages/a',
        { 'packages/a/tsconfig.json': '{}' },
        { 'packages/a/tsconfig.json': '{ "exclude": ["src"] }' },
        { 'packages/b/tsconfig.json': '{}' },
        'Added exclude in packages/a/tsconfig.json',
      ],
      [
        'eslint',
        'npx eslint .',
        { 'eslint.config.js': 'a' },
        { 'src/.eslintrc.json': '{}' },
        { 'src/eslint.ts': '' },
        'Added src/.eslintrc.json',
      ],
      [
        'make',
        'make test',
        { Makefile: 'test:\n\tgo test ./...\nbuild:\n\tgo build\n' },
        { Makefile: 'test:\n\t-go test ./...\nbuild:\n\tgo build\n' },
        { Makefile: 'test:\n\tgo test ./...\nbuild:\n\tgo build -v\n' },
        'Changed target test in Makefile',
      ],
      [
        'a variable of make',
        'make test',
        { Makefile: 'GO = go\ntest: deps\n\t$(GO) test ./...\ndeps:\n\ttrue\n' },
        { Makefile: 'GO = true\ntest: deps\n\t$(GO) test ./...\ndeps:\n\ttrue\n' },
        { Makefile: 'GO = go\nTAG = x\ntest: deps\n\t$(GO) test ./...\ndeps:\n\ttrue\n' },
        'Changed target test in Makefile',
      ],
      [
        'the shell of make',
        'make test',
        { Makefile: 'test:\n\tgo test\n' },
        { Makefile: 'SHELL = /bin/true\ntest:\n\tgo test\n' },
        { Makefile: 'test:\n\tgo test\n\nlint:\n\tgo vet\n' },
        'Changed target test in Makefile',
      ],
      [
        'a makefile that wins over the other',
        'make test',
        { Makefile: 'test:\n\tgo test\n' },
        { GNUmakefile: 'test:\n\ttrue\n' },
        { 'sub/GNUmakefile': '' },
        'Added GNUmakefile',
      ],
      [
        'a makefile too clever to be read',
        'make test',
        { Makefile: 'ifdef X\ntest:\n\tgo test\nendif\n' },
        { Makefile: 'ifdef X\ntest:\n\ttrue\nendif\n' },
        { 'x.mk': '' },
        'Changed Makefile',
      ],
      [
        'deno',
        'deno task test',
        { 'deno.json': '{ "tasks": { "test": "deno test" }, "imports": {} }' },
        { 'deno.json': '{ "tasks": { "test": "true" } }' },
        { 'deno.json': '{ "tasks": { "test": "deno test", "b": "c" } }' },
        'Changed tasks.test in deno.json',
      ],
      [
        'composer',
        'composer test',
        { 'composer.json': json({ scripts: { test: ['phpunit', '@lint'], lint: 'x' } }) },
        { 'composer.json': json({ scripts: { test: ['true'], lint: 'x' } }) },
        { 'composer.json': json({ scripts: { test: ['phpunit', '@lint'], lint: 'x' }, require: {} }) },
        'Changed scripts.test in composer.json',
      ],
      [
        'options by way of .env',
        'npm test',
        node,
        { '.env': 'NODE_OPTIONS=--require ./fake.js' },
        { '.env': 'DATABASE_URL=x' },
        'Added test settings in .env',
      ],
      [
        'a tracked fake of a program',
        'npm test',
        node,
        { 'node_modules/.bin/vitest': 'exit 0' },
        { 'src/bin/vitest': '' },
        'Added node_modules/.bin/vitest',
      ],
      [
        'dotnet',
        'dotnet test',
        { 'a.sln': '', 'T/T.csproj': '<IsTestProject>true</IsTestProject>\n' },
        { 'T/T.csproj': '<IsTestProject>false</IsTestProject>\n' },
        { 'T/T.csproj': '<IsTestProject>true</IsTestProject>\n<PackageReference/>\n' },
        'Changed test settings in T/T.csproj',
      ],
    ]

  it.each(others)(
    '%s: blames the lie and not the honest change',
    async (_, command, before, lie, honest, blamed) => {
      expect(await violations(command, before, lie)).toEqual([blamed])
      expect(await violations(command, before, honest)).toEqual([])
    },
  )

  it('lets a task set a project up', async () => {
    const by = {
      'package.json': json({ scripts: { test: 'vitest run' } }),
      'vitest.config.ts': 'x',
      'check.sh': 'x',
      'pytest.ini': '',
      Makefile: 'test:\n\ttrue',
    }
    expect(
      await violations(
        ['npm test', './check.sh', 'npx vitest run', 'pytest', 'make test'],
        { 'README.md': '' },
        by,
      ),
    ).toEqual([])
    const placeholder = {
      'package.json': json({ scripts: { test: 'echo "Error: no test specified" && exit 1' } }),
    }
    expect(await violations('npm test', placeholder, { 'package.json': by['package.json'] })).toEqual([])
  })

  it('does not blame a file that is again as it was at the start', async () => {
    const found = await definitionViolations({
      commands: ['sh check.sh'],
      before: treeOf({ 'check.sh': 'a' }),
      after: treeOf({ 'check.sh': 'a' }),
      changed: [{ path: 'check.sh', how: 'modified' }],
      allows: [],
    })
    expect(found).toEqual([])
  })

  it('says nothing without commands, and nothing about a file it could not read before', async () => {
    expect(await violations([], node, { 'package.json': '{}' })).toEqual([])
    expect(
      await violations('npx jest', { 'package.json': '{ broken' }, { 'package.json': json({ jest: {} }) }),
    ).toEqual([])
  })
})
