import { matches, matchesAny } from '../core/glob.ts'
import { verbOf } from '../core/integrity.ts'
import type { ChangedFile, Violation } from '../core/outcome.ts'
import { isReadable, partOf, settings } from './definition-parts.ts'
import { walkCommands } from './definition-walk.ts'
import { cached, type Tree, type TreeReader } from './tree.ts'

/** What a gate is made of, read from the commands and from the tree at the task's start. */
export type GateDefinition = {
  /** Files that the commands name, run or are configured by. A folder of tests is not among them: tests may be added. */
  gateFiles: string[]
  /** Parts of files that hold other things as well; `file` may be a glob. */
  entries: { file: string; pointer: string }[]
  /** Globs of configuration that would change the gate, were it added. */
  watch: string[]
}

export async function gateDefinition(
  commands: readonly string[],
  start: TreeReader,
): Promise<GateDefinition> {
  return define(commands, cached(start))
}

async function define(commands: readonly string[], tree: Tree): Promise<GateDefinition> {
  const { files, parts, patterns } = await walkCommands(commands, tree)
  // Values that reach every program by way of a file.
  if (commands.length > 0) parts.push({ file: '/.env*', pointer: settings })
  return {
    gateFiles: [...files].sort(),
    entries: parts,
    // A project that has not begun yet is being set up by this very task.
    watch: (await hasBegun(tree, patterns)) ? [...patterns].sort() : [],
  }
}

/** How an attempt changed what it is checked by, in words. `before` is the tree at the task's start. */
export async function definitionViolations(options: {
  commands: readonly string[]
  before: TreeReader
  after: TreeReader
  changed: ChangedFile[]
  allows: string[]
}): Promise<Violation[]> {
  const changed = options.changed.filter(file => !matchesAny(file.path, options.allows))
  if (changed.length === 0 || options.commands.length === 0) return []
  const before = cached(options.before)
  const after = cached(options.after)
  const definition = await define(options.commands, before)
  const violations: Violation[] = []
  for (const file of changed) {
    const whole = definition.gateFiles.includes(file.path) || matchesAny(file.path, definition.watch)
    if (!whole) violations.push(...(await changedParts(file.path, definition, before, after)))
    else if (!(await isSame(file.path, before, after)))
      violations.push(violation(file.path, `${verbOf(file)} ${file.path}`))
  }
  return violations
}

/** A later stage may have put back what an earlier one changed. */
async function isSame(path: string, before: Tree, after: Tree): Promise<boolean> {
  const old = await before.read(path)
  return old !== null && old === (await after.read(path))
}

async function changedParts(
  path: string,
  definition: GateDefinition,
  before: Tree,
  after: Tree,
): Promise<Violation[]> {
  const entries = definition.entries.filter(entry => matches(path, entry.file))
  if (entries.length === 0) return []
  const [old, now] = [await before.read(path), await after.read(path)]
  const found = new Map<string, Violation>()
  for (const { pointer } of entries) {
    // What was not there or could not be read at the start defined nothing.
    if (old === null ? !isSupport(path) : !isReadable(old, pointer)) continue
    const was = old === null ? null : partOf(old, path, pointer)
    const is = now === null ? null : partOf(now, path, pointer)
    if (was === is) continue
    const did = was === null ? 'Added' : is === null ? 'Removed' : 'Changed'
    found.set(pointer, violation(path, `${did} ${pointer} in ${path}`))
  }
  return [...found.values()]
}

/** Files a runner loads by itself wherever they stand: a new one counts as well. */
function isSupport(path: string): boolean {
  return matchesAny(path, [
    'conftest.py',
    '.env{,.*}',
    '{spec,rails,test}_helper.rb',
    'test_helper.exs',
    'setupTests.*',
  ])
}

function violation(path: string, what: string): Violation {
  return { rule: 'gate-definition', path, detail: `${what}, which defines how the work is checked` }
}

const signsOfLife = [
  ...[
    'package.json',
    'deno.json',
    'deno.jsonc',
    'pyproject.toml',
    'setup.py',
    'setup.cfg',
    'requirements*.txt',
    'tox.ini',
  ],
  ...[
    'Cargo.toml',
    'go.mod',
    'pom.xml',
    'build.gradle',
    'build.gradle.kts',
    'composer.json',
    'Gemfile',
    'mix.exs',
    'Makefile',
  ],
  ...[
    'CMakeLists.txt',
    '*.sln',
    '*.csproj',
    'Package.swift',
    'test/',
    'tests/',
    'spec/',
    'src/',
    'lib/',
    'app/',
  ],
]

async function hasBegun(tree: Tree, patterns: ReadonlySet<string>): Promise<boolean> {
  const names = await tree.list('')
  if (names.some(name => matchesAny(name, [...patterns]))) return true
  return names.some(name =>
    signsOfLife.some(sign => (sign.endsWith('/') ? name === sign : matches(name, sign))),
  )
}
