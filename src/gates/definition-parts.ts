import { matches } from '../core/glob.ts'
import { makeTarget } from './makefile.ts'

/**
 * The part of a shared file that a gate depends on, as text that can be compared; null when it is not there. So an
 * agent may add a dependency to `package.json` or a fixture to `conftest.py`, but not change what checks it.
 *
 * Pointers: `scripts.test` or `jest` (JSON) · `[tool.pytest]` (TOML, INI: the section and those below it) · `target
 * test` (Makefile) · `test settings` (the lines of a build file that decide which tests run).
 */
export function partOf(text: string, file: string, pointer: string): string | null {
  if (pointer === settings) return settingsOf(text, file)
  if (pointer.startsWith('[')) return sections(text, pointer.slice(1, -1))
  if (pointer.startsWith('target ')) return makeTarget(text, pointer.slice('target '.length))?.text ?? null
  const json = parseJson(text)
  const value = json === undefined ? undefined : pick(json, pointer)
  return value === undefined ? null : JSON.stringify(value)
}

/** A file that cannot be read has no parts, so nothing can be said about them. */
export function isReadable(text: string, pointer: string): boolean {
  return pointer === settings || /^(?:\[|target )/u.test(pointer) || parseJson(text) !== undefined
}

export const settings = 'test settings'

/** JSON, also with comments and trailing commas; undefined when it is broken. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    try {
      return JSON.parse(withoutComments(text))
    } catch {
      return undefined
    }
  }
}

function withoutComments(text: string): string {
  return text
    .replace(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//gu, (_, kept: string | undefined) => kept ?? '')
    .replace(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/gu, (_, kept: string | undefined) => kept ?? '')
}

/** `scripts.test:unit.a` is the entry `test:unit.a` of `scripts`: only the first dot parts. */
function pick(json: unknown, pointer: string): unknown {
  const dot = pointer.indexOf('.')
  const first = field(json, dot < 0 ? pointer : pointer.slice(0, dot))
  return dot < 0 ? first : field(first, pointer.slice(dot + 1))
}

export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
}

/** The named section and all below it (`tool.pytest` covers `tool.pytest.ini_options`), without comments and blank lines. */
function sections(text: string, name: string): string | null {
  const kept: string[] = []
  let within = false
  for (const raw of text.split('\n')) {
    const line = raw.trim()
    const header = /^\[{1,2}\s*([^\]]+?)\s*\]{1,2}/u.exec(line)?.[1]?.replace(/["'\s]/gu, '')
    if (header !== undefined)
      within = header === name || (header.startsWith(name) && /^[.:-]/u.test(header.slice(name.length)))
    // `tool.pytest.ini_options = { … }` says the same without a section.
    const dotted =
      line.startsWith(`${name}.`) || (name.startsWith('tool.') && line.startsWith(`${name.slice(5)}.`))
    if ((within || dotted) && line !== '' && !/^[#;]/u.test(line)) kept.push(line)
  }
  return kept.length === 0 ? null : kept.join('\n')
}

/** Lines that decide which tests run, by kind of file; `whole`: one such line makes the whole file count. */
const deciding: readonly { files: string; lines: RegExp; whole?: true }[] = [
  {
    files: 'conftest.py',
    lines:
      /\bdef pytest_(?:collect|ignore|itemcollected|deselected|generate|runtest|pyfunc|report|session|cmdline|configure|unconfigure|load|exception|assertrepr|fixture_setup|make)|\bcollect_ignore|\bos\._exit\b|\bsys\.exit\b|\bhookimpl\b|\bhookwrapper\b|\bpytest_plugins\b/u,
    whole: true,
  },
  {
    files: '{spec,rails}_helper.rb',
    lines: /filter_run|exclude|exit|at_exit|run_all_when|only_failures|\.around\b|\bdry_run/u,
    whole: true,
  },
  {
    files: 'test_helper.rb',
    lines: /\bexit|at_exit|Minitest\.(?:extensions|after_run)|def (?:run|skip)\b|runnable_methods/u,
    whole: true,
  },
  {
    files: 'test_helper.exs',
    lines: /exclude|include|only|ExUnit\.configure|System\.(?:halt|stop)|at_exit/u,
    whole: true,
  },
  {
    files: '{bootstrap,Pest}.php',
    lines: /\bexit\b|\bdie\b|register_shutdown_function|->skip|->only/u,
    whole: true,
  },
  {
    files: 'setupTests.*',
    lines: /process\.exit|\b(?:it|test|describe|expect)\s*=|globalThis\.|global\./u,
    whole: true,
  },
  { files: 'Cargo.toml', lines: /^\s*(?:test|harness|doctest|autotests|default-members|exclude)\s*=/u },
  {
    files: 'build.gradle{,.kts}',
    lines:
      /ignoreFailures|onlyIf|\.enabled\b|\benabled\s*=|\bexcludeTest|\bexclude\b|filter\s*\{|useJUnit|useTestNG|failFast|failOnNoDiscoveredTests|\bskip/iu,
  },
  { files: 'gradle.properties', lines: /test|skip|ignore/iu },
  {
    files: 'pom.xml',
    lines:
      /skipTests|skipITs|maven\.test|testFailureIgnore|<skip>|<excludes?>|<includes?>|surefire|failsafe|<groups>|excludedGroups|failIfNoTests|testSourceDirectory/u,
  },
  { files: '*.{cs,fs,vb}proj', lines: /IsTestProject|VSTest|RunSettings|TestingPlatform/u },
  { files: 'mix.exs', lines: /\btest|aliases|elixirc_paths/u },
  {
    files: '.env{,.*}',
    lines:
      /^\s*(?:export\s+)?(?:NODE_OPTIONS|NODE_PATH|PATH|LD_\w+|DYLD_\w+|PYTHON\w*|PYTEST_\w+|RUBYOPT|RUBYLIB|PERL5\w+|JAVA_\w+|MAVEN_\w+|GRADLE_\w+|GOFLAGS|RUSTFLAGS|CARGO_\w+|BASH_ENV|ENV|CI|VITEST\w*|JEST\w*|npm_config_\w+)\s*=/iu,
  },
  {
    files: 'pnpm-workspace.yaml',
    lines: /scriptShell|shellEmulator|nodeOptions|enablePrePostScripts|ignoreScripts|pnpmfile/u,
  },
]

function settingsOf(text: string, file: string): string | null {
  const kind = deciding.find(one => matches(file, one.files))
  const lines = kind ? text.split('\n').filter(line => kind.lines.test(line)) : []
  if (lines.length === 0) return null
  return kind?.whole ? text : lines.map(line => line.trim()).join('\n')
}
