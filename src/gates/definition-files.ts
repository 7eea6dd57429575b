import { posix } from 'node:path'
import { matches } from '../core/glob.ts'
import { lookers, runners } from './runner-config.ts'
import { inside, type Tree } from './tree.ts'

/** What was found on the way through the commands. */
export type Found = {
  tree: Tree
  /** Names of the programs that are run. */
  programs: Set<string>
  files: Set<string>
  parts: { file: string; pointer: string }[]
  /** Globs of configuration, whether it exists or not. */
  patterns: Set<string>
}

/** What a program is configured by in a folder. */
export function addRunner(found: Found, program: string, folder: string): void {
  const at = (pattern: string) => `/${folder ? `${folder}/` : ''}${pattern.replace(/^\//u, '')}`
  for (const runner of runners) {
    if (!runner.programs.includes(program)) continue
    for (const file of runner.files ?? []) found.patterns.add(at(file))
    for (const file of runner.anywhere ?? []) found.patterns.add(file)
    for (const [file, pointer] of runner.parts ?? [])
      found.parts.push({ file: file.startsWith('/') ? at(file) : file, pointer })
  }
}

/** vitest reads `vite.config` only when it has no configuration of its own, or when that one takes it in. */
export async function addViteConfig(found: Found, folder: string): Promise<void> {
  const names = await found.tree.list(folder)
  const own = names.find(name => matches(name, 'vitest.config.*'))
  const text = own ? ((await found.tree.read(posix.join(folder, own))) ?? '') : 'vite.config'
  if (text.includes('vite.config')) found.patterns.add(`/${folder ? `${folder}/` : ''}vite.config.*`)
}

const configFlag = /^--(?:config|file|configuration|settings|rulesdir|bootstrap)$/u
/** The short form means something else to each program (`test -f`, `wc -c`). */
const shortFlags = new Map([
  ['-f', /^(?:[ef]?grep|rg|awk|sed|jq|docker)$/u],
  ['-c', /^(?:eslint|phpstan|yamllint|ruff|sha\d*sum|shasum|md5sum)$/u],
])
const expectation = /expect|golden|snapshot|reference|\.snap$/iu

/** Files that the command names. What a looker looks at is the work itself; its configuration and its expectations are not. */
export async function addNamed(
  found: Found,
  program: string,
  args: readonly string[],
  folder: string,
): Promise<void> {
  for (const [at, word] of args.entries()) {
    const [flag, value] = word.startsWith('-') ? word.split('=', 2) : ['', word]
    if (value === undefined) continue
    const named = value.replace(/::.*$|:\d+$/u, '')
    const before = flag || (args[at - 1] ?? '')
    const asConfig = configFlag.test(before) || (shortFlags.get(before)?.test(program) ?? false)
    if (lookers.has(program) && !asConfig && !expectation.test(named)) continue
    await addFile(found, named, folder)
  }
}

export async function addFile(found: Found, word: string, folder: string): Promise<void> {
  // `$ROOT/scripts/check.mjs`: the variable most likely stands for the project's root or for this folder.
  const bare = word.replace(/^\$(?:\{\w+\}|\w+|\([^)]*\))?\//u, '')
  for (const path of bare === word ? [inside(folder, word)] : [inside(folder, bare), inside('', bare)]) {
    if (path && (await found.tree.isFile(path))) found.files.add(path)
  }
}

export function isTypeChecker(program: string): boolean {
  return ['tsc', 'vue-tsc', 'tsgo', 'svelte-check'].includes(program)
}

/** `tsc -p packages/a`, `tsc -b packages/a/tsconfig.json`: configured there, not here. */
export async function addProjects(
  found: Found,
  program: string,
  args: readonly string[],
  folder: string,
): Promise<void> {
  for (const word of args.filter(one => !one.startsWith('-'))) {
    const path = inside(folder, word)
    if (path === null || path === '') continue
    if (await found.tree.isFile(path))
      addRunner(found, program, posix.dirname(path) === '.' ? '' : posix.dirname(path))
    else if (await found.tree.isFile(`${path}/tsconfig.json`)) addRunner(found, program, path)
  }
}

/** The configuration that exists, and what it loads before the tests. */
export async function addConfigured(found: Found): Promise<void> {
  for (const pattern of found.patterns) {
    if (!pattern.startsWith('/') || pattern.endsWith('/')) continue
    const folder = posix.dirname(pattern).slice(1)
    for (const name of await found.tree.list(folder)) {
      const path = posix.join(folder, name)
      if (name.endsWith('/') || !matches(path, pattern)) continue
      found.files.add(path)
      for (const file of loadedFiles((await found.tree.read(path)) ?? ''))
        await addSource(found, file, folder)
    }
  }
  for (const { file, pointer } of found.parts.filter(part => part.pointer === 'jest')) {
    const text = (await found.tree.read(file.slice(1))) ?? ''
    if (text.includes(`"${pointer}"`))
      for (const one of loadedFiles(text)) await addSource(found, one, posix.dirname(file).slice(1))
  }
}

const loading =
  /["']?\b(?:setupFiles\w*|globalSetup|globalTeardown|testRunner|require|helpers|bootstrap)["']?\s*[:=]\s*(\[[^\]]*\]|"[^"]*"|'[^']*')/gu

function loadedFiles(text: string): string[] {
  return [...text.matchAll(loading)].flatMap(match =>
    [...(match[1] ?? '').matchAll(/["']([^"']+)["']/gu)].map(one => one[1] ?? ''),
  )
}

async function addSource(found: Found, name: string, folder: string): Promise<void> {
  const path = name.replace(/^<rootDir>\//u, '')
  for (const end of ['', '.ts', '.js', '.mjs', '.cjs', '.tsx']) await addFile(found, `${path}${end}`, folder)
}
