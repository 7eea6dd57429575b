/** What a program reads besides its arguments, and what of it an agent must not change. Paths are from the command's folder. */
export type Runner = {
  programs: readonly string[]
  /** Files that belong to the program alone, as globs; also those that do not exist yet. */
  files?: readonly string[]
  /** The same, wherever they stand. */
  anywhere?: readonly string[]
  /** Parts of shared files: a glob (with a slash in front: only in the command's folder) and a pointer. */
  parts?: readonly (readonly [file: string, pointer: string])[]
}

const manifest = (...keys: string[]) => keys.map(key => ['/package.json', key] as const)
const pyproject = (...sections: string[]) => sections.map(section => ['/pyproject.toml', section] as const)

/** A module of this name in the project would be taken instead of the real one. */
const python = ['sitecustomize.py', 'usercustomize.py']

const strictness = [
  ...['strict', 'noImplicitAny', 'strictNullChecks', 'strictFunctionTypes', 'strictBindCallApply', 'noCheck'],
  ...[
    'strictPropertyInitialization',
    'noImplicitThis',
    'useUnknownInCatchVariables',
    'alwaysStrict',
    'noEmit',
  ],
  ...[
    'noUnusedLocals',
    'noUnusedParameters',
    'exactOptionalPropertyTypes',
    'noImplicitReturns',
    'skipLibCheck',
  ],
  ...['noFallthroughCasesInSwitch', 'noUncheckedIndexedAccess', 'noImplicitOverride', 'checkJs'],
]

export const runners: readonly Runner[] = [
  { programs: ['vitest'], files: ['vitest.config.*', 'vitest.workspace.*', 'vitest.projects.*'] },
  { programs: ['jest'], files: ['jest.config.*', 'jest.setup.*', 'jest.preset.*'], parts: manifest('jest') },
  {
    programs: ['react-scripts', 'craco'],
    files: ['craco.config.*'],
    parts: [...manifest('jest'), ['/src/setupTests.*', 'test settings']],
  },
  {
    programs: ['mocha', 'electron-mocha'],
    files: ['.mocharc*', 'test/mocha.opts'],
    parts: manifest('mocha'),
  },
  { programs: ['ava'], files: ['ava.config.*'], parts: manifest('ava') },
  { programs: ['playwright'], files: ['playwright.config.*', 'playwright-ct.config.*'] },
  { programs: ['cypress'], files: ['cypress.config.*', 'cypress.json'] },
  { programs: ['jasmine'], files: ['spec/support/jasmine*'] },
  { programs: ['karma'], files: ['karma.conf.*'] },
  { programs: ['ng'], files: ['angular.json', 'karma.conf.*'] },
  { programs: ['tap'], files: ['.taprc'], parts: manifest('tap') },
  { programs: ['c8', 'nyc'], files: ['.c8rc*', '.nycrc*', 'nyc.config.*'], parts: manifest('c8', 'nyc') },
  {
    programs: ['eslint', 'xo', 'standard', 'next'],
    files: ['xo.config.*'],
    anywhere: ['.eslintrc*', '.eslintignore', 'eslint.config.*'],
    parts: manifest('eslintConfig', 'eslintIgnore', 'xo', 'standard'),
  },
  { programs: ['biome'], anywhere: ['biome.json', 'biome.jsonc'] },
  {
    programs: ['prettier'],
    anywhere: ['.prettierrc*', '.prettierignore', 'prettier.config.*'],
    parts: manifest('prettier'),
  },
  { programs: ['oxlint'], files: ['.oxlintrc.json', 'oxlint.config.*'] },
  {
    programs: ['stylelint'],
    anywhere: ['.stylelintrc*', '.stylelintignore', 'stylelint.config.*'],
    parts: manifest('stylelint'),
  },
  {
    programs: ['tsc', 'vue-tsc', 'tsgo', 'svelte-check'],
    // A new option such as `jsx` or `paths` is the task's business; what is checked and how strictly is not.
    parts: [
      'files',
      'include',
      'exclude',
      'extends',
      'references',
      ...strictness.map(name => `compilerOptions.${name}`),
    ].map(pointer => ['/tsconfig*.json', pointer] as const),
  },
  { programs: ['turbo'], anywhere: ['turbo.json', 'turbo.jsonc'] },
  { programs: ['nx'], files: ['nx.json'], anywhere: ['project.json'] },
  { programs: ['lerna'], files: ['lerna.json'] },
  { programs: ['wireit'], parts: manifest('wireit') },
  { programs: ['npm', 'npx'], files: ['.npmrc', 'node_modules/.bin/'] },
  {
    programs: ['pnpm', 'pnpx'],
    files: ['.npmrc', '.pnpmfile.cjs', 'node_modules/.bin/'],
    parts: [['/pnpm-workspace.yaml', 'test settings']],
  },
  {
    programs: ['yarn'],
    files: [
      '.npmrc',
      '.yarnrc',
      '.yarnrc.yml',
      '.yarn/releases/',
      '.yarn/plugins/',
      '.pnp.cjs',
      'node_modules/.bin/',
    ],
  },
  { programs: ['bun', 'bunx'], files: ['bunfig.toml', '.npmrc', 'node_modules/.bin/'] },
  {
    programs: ['pytest', 'py.test'],
    files: [...python, 'pytest.py', 'pytest/', '_pytest/', '.coveragerc'],
    anywhere: ['pytest.ini', '.pytest.ini', 'pytest.toml', '.pytest.toml'],
    parts: [
      ...pyproject('[tool.pytest]', '[tool.coverage]'),
      ['/tox.ini', '[pytest]'],
      ['/setup.cfg', '[tool:pytest]'],
      ['conftest.py', 'test settings'],
    ],
  },
  { programs: ['unittest'], files: [...python, 'unittest.py', 'unittest/'] },
  { programs: ['python', 'python3'], files: python },
  {
    programs: ['tox'],
    files: ['tox.ini'],
    parts: [...pyproject('[tool.tox]'), ['/setup.cfg', '[tox:tox]'], ['/setup.cfg', '[testenv]']],
  },
  { programs: ['nox'], files: ['noxfile.py'] },
  { programs: ['ruff'], anywhere: ['ruff.toml', '.ruff.toml'], parts: pyproject('[tool.ruff]') },
  {
    programs: ['mypy', 'dmypy'],
    files: ['mypy.ini', '.mypy.ini'],
    parts: [...pyproject('[tool.mypy]'), ['/setup.cfg', '[mypy]']],
  },
  {
    programs: ['pyright', 'basedpyright'],
    files: ['pyrightconfig.json'],
    parts: pyproject('[tool.pyright]', '[tool.basedpyright]'),
  },
  {
    programs: ['flake8'],
    files: ['.flake8'],
    parts: [
      ['/setup.cfg', '[flake8]'],
      ['/tox.ini', '[flake8]'],
    ],
  },
  { programs: ['pylint'], files: ['.pylintrc', 'pylintrc'], parts: pyproject('[tool.pylint]') },
  { programs: ['black', 'isort'], parts: pyproject('[tool.black]', '[tool.isort]') },
  { programs: ['coverage'], files: ['.coveragerc'], parts: pyproject('[tool.coverage]') },
  { programs: ['poe'], parts: pyproject('[tool.poe]') },
  { programs: ['pdm'], parts: pyproject('[tool.pdm.scripts]') },
  { programs: ['hatch'], files: ['hatch.toml'], parts: pyproject('[tool.hatch.envs]') },
  {
    programs: ['cargo', 'cargo-nextest'],
    files: [
      '.cargo/',
      'rust-toolchain',
      'rust-toolchain.toml',
      '.config/nextest.toml',
      'clippy.toml',
      '.clippy.toml',
    ],
    parts: [['Cargo.toml', 'test settings']],
  },
  { programs: ['go', 'gotestsum'], files: ['go.work'] },
  { programs: ['golangci-lint'], files: ['.golangci.*'] },
  {
    programs: ['gradle', 'gradlew'],
    files: ['gradlew', 'gradle/wrapper/', 'init.gradle', 'init.gradle.kts'],
    parts: [
      ['build.gradle', 'test settings'],
      ['build.gradle.kts', 'test settings'],
      ['gradle.properties', 'test settings'],
    ],
  },
  { programs: ['mvn', 'mvnw'], files: ['mvnw', '.mvn/'], parts: [['pom.xml', 'test settings']] },
  {
    programs: ['phpunit', 'pest', 'paratest', 'artisan'],
    files: ['phpunit.xml', 'phpunit.xml.dist', 'phpunit.dist.xml', 'vendor/bin/'],
    parts: [
      ['/tests/bootstrap.php', 'test settings'],
      ['/tests/Pest.php', 'test settings'],
    ],
  },
  { programs: ['phpstan'], files: ['phpstan*.neon*'] },
  { programs: ['psalm'], files: ['psalm.xml*'] },
  {
    programs: ['rspec'],
    files: ['.rspec', '.rspec-local'],
    parts: [
      ['/spec/spec_helper.rb', 'test settings'],
      ['/spec/rails_helper.rb', 'test settings'],
    ],
  },
  {
    programs: ['rake', 'rails', 'm'],
    files: ['Rakefile', 'rakefile', 'Rakefile.rb', 'lib/tasks/'],
    parts: [['/test/test_helper.rb', 'test settings']],
  },
  { programs: ['rubocop'], anywhere: ['.rubocop*.yml'] },
  {
    programs: ['dotnet'],
    files: ['global.json'],
    anywhere: [
      '*.runsettings',
      'Directory.Build.props',
      'Directory.Build.targets',
      'xunit.runner.json',
      'testconfig.json',
    ],
    parts: [
      ['*.csproj', 'test settings'],
      ['*.fsproj', 'test settings'],
      ['*.vbproj', 'test settings'],
    ],
  },
  {
    programs: ['mix'],
    parts: [
      ['/mix.exs', 'test settings'],
      ['/test/test_helper.exs', 'test settings'],
    ],
  },
  {
    programs: ['deno'],
    parts: [
      ['/deno.json', 'test'],
      ['/deno.jsonc', 'test'],
    ],
  },
  {
    programs: ['ctest'],
    files: ['CTestCustom.cmake', 'CTestCustom.ctest', 'CTestTestfile.cmake', 'CTestConfig.cmake'],
  },
  { programs: ['just'], files: ['justfile', 'Justfile', '.justfile'] },
  { programs: ['task'], files: ['Taskfile.*', 'taskfile.*'] },
  { programs: ['make', 'gmake'], files: ['GNUmakefile', 'makefile'] },
  { programs: ['docker', 'docker-compose', 'podman'], files: ['docker-compose*.y*ml', 'compose*.y*ml'] },
  { programs: ['pre-commit', 'prek'], files: ['.pre-commit-config.yaml'] },
  { programs: ['bazel', 'bazelisk'], files: ['.bazelrc', '.bazeliskrc'] },
  { programs: ['composer'], files: ['vendor/bin/'] },
]

/** Programs that look at the files they are given: these are the work, not the check. */
export const lookers: ReadonlySet<string> = new Set([
  ...[
    'test',
    '[',
    '[[',
    'grep',
    'egrep',
    'fgrep',
    'rg',
    'ag',
    'cat',
    'head',
    'tail',
    'wc',
    'ls',
    'jq',
    'yq',
    'stat',
    'file',
  ],
  ...[
    'diff',
    'cmp',
    'find',
    'sed',
    'awk',
    'sort',
    'uniq',
    'cut',
    'tr',
    'tee',
    'echo',
    'printf',
    'true',
    'false',
    'rm',
    'mkdir',
  ],
  ...[
    'cp',
    'mv',
    'touch',
    'chmod',
    'md5sum',
    'sha256sum',
    'sha1sum',
    'shasum',
    'curl',
    'wget',
    'xmllint',
    'export',
    'set',
  ],
  ...[
    'tsc',
    'vue-tsc',
    'tsgo',
    'svelte-check',
    'eslint',
    'biome',
    'prettier',
    'oxlint',
    'stylelint',
    'xo',
    'standard',
  ],
  ...[
    'ruff',
    'mypy',
    'pyright',
    'flake8',
    'pylint',
    'black',
    'isort',
    'rubocop',
    'shellcheck',
    'shfmt',
    'hadolint',
    'yamllint',
  ],
  ...[
    'markdownlint',
    'markdownlint-cli2',
    'phpstan',
    'psalm',
    'gofmt',
    'rustfmt',
    'rustc',
    'gcc',
    'g++',
    'clang',
    'clang-format',
  ],
  ...[
    'javac',
    'kotlinc',
    'ajv',
    'htmlhint',
    'html-validate',
    'terraform',
    'actionlint',
    'git',
    'docker',
    'tar',
    'zip',
    'unzip',
  ],
])
