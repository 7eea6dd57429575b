import { matches } from '../core/glob.ts'
import { field, parseJson, partOf } from './definition-parts.ts'
import { makeTarget } from './makefile.ts'
import { isPlaceholder } from './package-scripts.ts'
import { folderTree } from './tree.ts'

/** The commands a project is usually checked with, and what in it says so. */
export type Detected = { commands: string[]; because: string }

/**
 * The usual verify commands of a project, from its files. What a project says itself comes first: the scripts of
 * `package.json`, else the targets of a Makefile; else every tool whose files are there.
 */
export function detectVerify(root: string): Detected | null {
  const project = look(root)
  const said = fromPackage(project) ?? fromTargets(project)
  const found = said ? [said] : tools.flatMap(tool => tool(project) ?? [])
  if (found.length === 0) return null
  return {
    commands: [...new Set(found.flatMap(one => one.commands))],
    because: found.map(one => one.because).join('; '),
  }
}

type Project = {
  /** A name of the project's folder that matches, or undefined. */
  find(...globs: string[]): string | undefined
  read(path: string): string
  list(folder: string): string[]
}

function look(root: string): Project {
  const tree = folderTree(root)
  const names = tree.list('')
  return {
    find: (...globs) => names.find(name => globs.some(glob => isNamed(name, glob))),
    read: path => tree.read(path) ?? '',
    list: tree.list,
  }
}

/** Folders end in a slash, in listings as in globs. */
function isNamed(name: string, glob: string): boolean {
  return name.endsWith('/') ? name === glob : matches(name, glob)
}

const watching = /(?:^|\s)(?:--watch(?:All)?(?!=false)|-w|--ui)(?:\s|=|$)|\bnodemon\b/u

function fromPackage({ find, read }: Project): Detected | null {
  if (!find('package.json')) return null
  const json = parseJson(read('package.json'))
  const script = (name: string): string => {
    const text = field(field(json, 'scripts'), name)
    return typeof text === 'string' && !isPlaceholder(text) && !watching.test(text) ? text : ''
  }
  const test = ['test', 'test:ci', 'test:run', 'test:unit'].find(name => script(name) !== '')
  const names = [test ?? '', 'check', 'lint', 'typecheck'].filter(name => name !== '' && script(name) !== '')
  // A script that runs another one makes that superfluous.
  const runs = (one: string, other: string) =>
    new RegExp(
      `\\b(?:npm|pnpm|yarn|bun|run-s|run-p|npm-run-all)\\b[^;|]*\\s${escaped(other)}(?:\\s|;|&|$)`,
      'u',
    ).test(script(one))
  const needed = names.filter(name => !names.some(other => other !== name && runs(other, name)))
  const manager = managerOf(find, json)
  if (needed.length > 0) {
    const commands = needed.map(name => command(manager, name, script(name)))
    return {
      commands,
      because: `package.json has ${needed.length > 1 ? 'the scripts' : 'the script'} ${needed.join(', ')}`,
    }
  }
  return fromDependencies(json, manager)
}

function escaped(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\]/gu, '\\$&')
}

function command(manager: string, name: string, script: string): string {
  // `ng test` watches unless it is told not to, whatever the environment says.
  const once = /^ng test\b(?!.*--watch)/u.test(script)
    ? `${manager === 'npm' ? ' --' : ''} --watch=false`
    : ''
  if (name === 'test' && manager !== 'bun') return `${manager} test${once}`
  return `${manager} run ${name}${once}`
}

/** The lock file decides; without one, the `packageManager` field. */
function managerOf(find: Project['find'], json: unknown): string {
  if (find('pnpm-lock.yaml')) return 'pnpm'
  if (find('yarn.lock')) return 'yarn'
  if (find('bun.lock', 'bun.lockb')) return 'bun'
  if (find('package-lock.json', 'npm-shrinkwrap.json')) return 'npm'
  const named = field(json, 'packageManager')
  return /^(?:pnpm|yarn|bun)(?=@)/u.exec(typeof named === 'string' ? named : '')?.[0] ?? 'npm'
}

function fromDependencies(json: unknown, manager: string): Detected | null {
  const has = (name: string) =>
    field(field(json, 'devDependencies'), name) ?? field(field(json, 'dependencies'), name)
  const runner = ['vitest', 'jest', 'mocha', 'ava'].find(name => has(name) !== undefined)
  if (!runner) return null
  const run = { npm: 'npx', pnpm: 'pnpm exec', yarn: 'yarn', bun: 'bunx' }[manager] ?? 'npx'
  return {
    commands: [`${run} ${runner}${runner === 'vitest' ? ' run' : ''}`],
    because: `package.json depends on ${runner}`,
  }
}

function fromTargets({ find, read }: Project): Detected | null {
  const makefile = find('GNUmakefile', 'makefile', 'Makefile')
  const target = makefile
    ? ['test', 'check'].find(name => makeTarget(read(makefile), name) !== null)
    : undefined
  if (makefile && target)
    return { commands: [`make ${target}`], because: `${makefile} has the target ${target}` }
  const justfile = find('justfile', 'Justfile', '.justfile')
  const recipe = justfile
    ? ['test', 'check'].find(name => new RegExp(`^${name}\\b[^:\\n]*:(?!=)`, 'mu').test(read(justfile)))
    : undefined
  return justfile && recipe
    ? { commands: [`just ${recipe}`], because: `${justfile} has the recipe ${recipe}` }
    : null
}

const one = (commands: string, because: string): Detected => ({ commands: [commands], because })

const tools: readonly ((project: Project) => Detected | null)[] = [
  python,
  ({ find }) => (find('Cargo.toml') ? one('cargo test', 'Cargo.toml is there') : null),
  ({ find }) => (find('go.mod') ? one('go test ./...', 'go.mod is there') : null),
  ({ find }) =>
    find('build.gradle', 'build.gradle.kts')
      ? one(find('gradlew') ? './gradlew test' : 'gradle test', 'a Gradle build is there')
      : null,
  ({ find }) =>
    find('pom.xml') ? one(find('mvnw') ? './mvnw -B test' : 'mvn -B test', 'pom.xml is there') : null,
  php,
  ({ find }) => (find('mix.exs') ? one('mix test', 'mix.exs is there') : null),
  deno,
  ({ find }) => {
    const file = find('*.sln', '*.slnx', '*.csproj', '*.fsproj')
    return file ? one('dotnet test', `${file} is there`) : null
  },
  ruby,
  ({ find }) => (find('Package.swift') ? one('swift test', 'Package.swift is there') : null),
]

function python({ find, read, list }: Project): Detected | null {
  const hint = find('pytest.ini', '.pytest.ini', 'conftest.py') ?? sectionHint(find, read)
  const folder = find('tests/', 'test/')?.slice(0, -1)
  const tests = [...(folder ? list(folder) : []), ...list('')].some(name =>
    /^test_.+\.py$|_test\.py$/u.test(name),
  )
  const required = /\bpytest\b/u.test(
    [read('pyproject.toml'), read('requirements.txt'), read('requirements-dev.txt'), read('setup.cfg')].join(
      '\n',
    ),
  )
  if (!hint && !tests) return find('tox.ini') ? one('tox', 'tox.ini is there') : null
  const run = find('uv.lock')
    ? 'uv run '
    : find('poetry.lock')
      ? 'poetry run '
      : find('pdm.lock')
        ? 'pdm run '
        : find('Pipfile')
          ? 'pipenv run '
          : ''
  if (!hint && !required && folder && usesUnittest(folder, read, list)) {
    return one(`${run}python3 -m unittest discover -s ${folder}`, `${folder}/ has tests for unittest`)
  }
  return one(`${run}pytest`, hint ? `${hint} is for pytest` : 'there are test files for pytest')
}

function sectionHint(find: Project['find'], read: Project['read']): string | undefined {
  const sections = [
    ['pyproject.toml', '[tool.pytest]'],
    ['tox.ini', '[pytest]'],
    ['setup.cfg', '[tool:pytest]'],
  ] as const
  return sections.find(([file, section]) => find(file) && partOf(read(file), file, section) !== null)?.[0]
}

function usesUnittest(folder: string, read: Project['read'], list: Project['list']): boolean {
  const files = list(folder)
    .filter(name => /^test_.+\.py$/u.test(name))
    .slice(0, 5)
  return (
    files.length > 0 &&
    files.every(name => /^\s*(?:import|from) unittest\b/mu.test(read(`${folder}/${name}`)))
  )
}

function php({ find, read }: Project): Detected | null {
  const script = find('composer.json')
    ? field(field(parseJson(read('composer.json')), 'scripts'), 'test')
    : undefined
  if (script !== undefined) return one('composer test', 'composer.json has the script test')
  return find('phpunit.xml', 'phpunit.xml.dist', 'phpunit.dist.xml')
    ? one('vendor/bin/phpunit', 'a PHPUnit configuration is there')
    : null
}

function deno({ find, read }: Project): Detected | null {
  const file = find('deno.json', 'deno.jsonc')
  if (!file) return null
  const task = field(field(parseJson(read(file)), 'tasks'), 'test')
  return task === undefined
    ? one('deno test', `${file} is there`)
    : one('deno task test', `${file} has the task test`)
}

function ruby({ find, list }: Project): Detected | null {
  const bundle = find('Gemfile') ? 'bundle exec ' : ''
  if (
    find('.rspec') ||
    (find('spec/') && list('spec').some(name => name.endsWith('_spec.rb') || name === 'spec_helper.rb'))
  ) {
    return one(`${bundle}rspec`, 'there are specs for RSpec')
  }
  if (find('bin/') && list('bin').includes('rails') && find('test/'))
    return one('bin/rails test', 'bin/rails and test/ are there')
  return find('Gemfile') && find('Rakefile') && find('test/')
    ? one('bundle exec rake test', 'Rakefile and test/ are there')
    : null
}
