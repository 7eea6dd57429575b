import { posix } from 'node:path'
import {
  addConfigured,
  addFile,
  addNamed,
  addProjects,
  addRunner,
  addViteConfig,
  type Found,
  isTypeChecker,
} from './definition-files.ts'
import { field, parseJson } from './definition-parts.ts'
import { isSimpleMakefile, makeTarget } from './makefile.ts'
import { matchingScripts, packageCommand, scriptsOf, workspaceMembers } from './package-scripts.ts'
import { shellCommands } from './shell-lines.ts'
import { inside, type Tree } from './tree.ts'

type Walk = Found & { seen: Set<string>; left: number }

/** Follows the commands through scripts, makefiles and wrappers, without running anything. */
export async function walkCommands(commands: readonly string[], tree: Tree): Promise<Found> {
  const found: Found = { tree, programs: new Set(), files: new Set(), parts: [], patterns: new Set() }
  const walk: Walk = { ...found, seen: new Set(), left: maxCommands }
  for (const command of commands) await walkLine(walk, command, '')
  await addConfigured(walk)
  return walk
}

/** Scripts may call each other without end. */
const maxCommands = 500

/** One shell line or script, run in a folder of the project. `script` is the file it stands in. */
async function walkLine(walk: Walk, text: string, folder: string, script = ''): Promise<void> {
  const key = `${folder}\0${text}`
  if (walk.seen.has(key)) return
  walk.seen.add(key)
  const folders = new Map([[0, folder]])
  for (const { words, scope, parent } of shellCommands(text)) {
    const here = folders.get(scope) ?? folders.get(parent) ?? folder
    folders.set(scope, here)
    if (words[0] === 'cd' || words[0] === 'pushd') folders.set(scope, entered(words[1] ?? '', here, script))
    else await walkWords(walk, words, here)
  }
}

/** `cd "$(dirname "$0")/.."` leads to the script's own folder; where another variable leads nobody knows. */
function entered(word: string, here: string, script: string): string {
  const own = /^\$(?:\(dirname [^)]*\)|\{BASH_SOURCE[^}]*\})?(\/.*)?$/u.exec(word)
  if (own && script !== '') return inside(posix.dirname(script), `.${own[1] ?? ''}`) ?? here
  return word.includes('$') ? here : (inside(here, word) ?? here)
}

/** Programs that run another one; the number says how many words of their own come first. */
const wrappers = new Map([
  ...[
    'env',
    'nice',
    'nohup',
    'cross-env',
    'cross-env-shell',
    'xvfb-run',
    'sudo',
    'corepack',
    'xargs',
    'stdbuf',
  ].map(name => [name, 0] as const),
  ...['dotenv', 'dotenvx', 'env-cmd', 'c8', 'nyc', 'start-server-and-test'].map(name => [name, 0] as const),
  ...['timeout', 'gtimeout'].map(name => [name, 1] as const),
])

/** `poetry run pytest`, `bundle exec rspec`: the second word must be this one. */
const runs = new Map([
  ...['uv', 'poetry', 'pipenv', 'rye', 'doppler', 'op', 'infisical', 'devbox', 'coverage'].map(
    name => [name, 'run'] as const,
  ),
  ...['bundle', 'mise'].map(name => [name, 'exec'] as const),
])

const shells = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh'])
const managers = new Set(['npm', 'pnpm', 'yarn', 'bun', 'npx', 'bunx', 'pnpx'])

async function walkWords(walk: Walk, all: readonly string[], folder: string): Promise<void> {
  walk.left -= 1
  if (walk.left < 0) return
  const words = all.slice(all.findIndex(word => !/^\w+=/u.test(word)))
  const [first = '', ...args] = words
  if (first === '' || /^\w+=/u.test(first)) return
  const program = posix.basename(first).replace(/\.(?:cmd|exe|bat)$/u, '')
  await addProgram(walk, first, folder)
  walk.programs.add(program)
  addRunner(walk, program, folder)
  if (program === 'vitest') await addViteConfig(walk, folder)
  if (isTypeChecker(program)) await addProjects(walk, program, args, folder)

  const delegate = delegation(program, args)
  if (delegate) return delegate(walk, folder)
  await addNamed(walk, program, args, folder)
  if (program === 'node') await walkNode(walk, args, folder)
}

type Delegation = (walk: Walk, folder: string) => Promise<void>

/** What runs something else, and so is defined by that. */
function delegation(program: string, args: readonly string[]): Delegation | null {
  const [first = ''] = args
  const own = wrappers.get(program)
  if (own !== undefined) return (walk, folder) => walkWords(walk, afterFlags(args).slice(own), folder)
  const run = runs.get(program)
  if (run !== undefined && run === first)
    return (walk, folder) => walkWords(walk, afterFlags(args.slice(1)), folder)
  if (shells.has(program)) return (walk, folder) => walkShell(walk, args, folder)
  if (managers.has(program)) return (walk, folder) => walkPackage(walk, program, args, folder)
  if (program === 'make' || program === 'gmake') return (walk, folder) => walkMake(walk, args, folder)
  if (/^python[\d.]*$/u.test(program) && args.includes('-m'))
    return (walk, folder) => walkModule(walk, args, folder)
  if (program === 'deno' && first === 'task') return (walk, folder) => walkTask(walk, args[1] ?? '', folder)
  if (program === 'composer') return (walk, folder) => walkComposer(walk, args, folder)
  if (program === 'concurrently') return (walk, folder) => walkConcurrently(walk, args, folder)
  if (/^(?:run-s|run-p|npm-run-all2?)$/u.test(program))
    return (walk, folder) => walkNames(walk, args, [folder])
  if (['turbo', 'lerna', 'nx'].includes(program)) return (walk, folder) => walkWorkspace(walk, args, folder)
  return null
}

function afterFlags(words: readonly string[]): string[] {
  const from = words.findIndex(word => !word.startsWith('-') && !/^\w+=/u.test(word))
  return from < 0 ? [] : words.slice(from)
}

/** `./check.sh` is the gate itself; a shell script is followed further. */
async function addProgram(walk: Walk, word: string, folder: string): Promise<void> {
  const path = /[./]/u.test(word) ? inside(folder, word) : null
  if (path === null || !(await walk.tree.isFile(path))) return
  walk.files.add(path)
  const text = (await walk.tree.read(path)) ?? ''
  if (/\.(?:sh|bash|zsh)$/u.test(path) || /^#!.*\b(?:ba|da|z|k)?sh\b/u.test(text))
    await walkLine(walk, text, folder, path)
}

async function walkShell(walk: Walk, args: readonly string[], folder: string): Promise<void> {
  const flag = args.findIndex(word => /^-\w*c\w*$/u.test(word))
  if (flag >= 0) return walkLine(walk, args[flag + 1] ?? '', folder)
  const [script, ...rest] = afterFlags(args)
  const path = script === undefined ? null : inside(folder, script)
  if (path !== null && (await walk.tree.isFile(path))) {
    walk.files.add(path)
    await walkLine(walk, (await walk.tree.read(path)) ?? '', folder, path)
  }
  await addNamed(walk, 'sh', rest, folder)
}

async function walkPackage(
  walk: Walk,
  manager: string,
  args: readonly string[],
  folder: string,
): Promise<void> {
  const call = args.indexOf('-c')
  if (manager === 'npx' && call >= 0) return walkLine(walk, args[call + 1] ?? '', folder)
  const asked = packageCommand(manager, args)
  const here = asked.folder ? (inside(folder, asked.folder) ?? folder) : folder
  const folders = asked.workspace ? [here, ...(await workspaceMembers(walk.tree, here))] : [here]
  const found = await walkScripts(walk, asked.scripts, folders, asked.extra)
  if (!found && asked.program.length > 0) await walkWords(walk, asked.program, here)
}

/** Scripts of `package.json`, with what npm runs before and after them. True when at least one was found. */
async function walkScripts(
  walk: Walk,
  names: readonly string[],
  folders: readonly string[],
  extra: readonly string[] = [],
): Promise<boolean> {
  let found = false
  for (const folder of folders) {
    const scripts = await scriptsOf(walk.tree, folder)
    if (!scripts) continue
    for (const name of names.flatMap(one => matchingScripts(scripts, one))) {
      found = true
      for (const one of [`pre${name}`, name, `post${name}`]) {
        walk.parts.push({ file: `/${folder ? `${folder}/` : ''}package.json`, pointer: `scripts.${one}` })
        const script = scripts.get(one)
        // What follows the script's name on the command line is put behind the script.
        const behind = one === name ? extra.map(word => ` '${word.replaceAll("'", '')}'`).join('') : ''
        if (script !== undefined) await walkLine(walk, `${script}${behind}`, folder)
      }
    }
  }
  return found
}

async function walkMake(walk: Walk, args: readonly string[], folder: string): Promise<void> {
  const value = (flag: string) =>
    args.find((_, at) => args[at - 1] === flag) ??
    args.find(word => word.startsWith(`${flag}=`))?.slice(flag.length + 1)
  const here = inside(folder, value('-C') ?? value('--directory') ?? '') ?? folder
  const names = [value('-f') ?? value('--file') ?? '', 'GNUmakefile', 'makefile', 'Makefile'].filter(
    name => name !== '',
  )
  const targets = args.filter(
    (word, at) =>
      !word.startsWith('-') &&
      !word.includes('=') &&
      !/^-[Cfj]$|^--(?:directory|file)$/u.test(args[at - 1] ?? ''),
  )
  for (const name of names) {
    const path = inside(here, name)
    const text = path === null ? null : await walk.tree.read(path)
    if (path === null || text === null) continue
    if (!isSimpleMakefile(text) || targets.length === 0) walk.files.add(path)
    for (const [, file = ''] of text.matchAll(/^-?s?include\s+(\S+)/gmu)) await addFile(walk, file, here)
    for (const target of targets) {
      const rule = makeTarget(text, target)
      if (!rule) continue
      walk.parts.push({ file: `/${path}`, pointer: `target ${target}` })
      for (const line of rule.recipes) await walkLine(walk, line, here)
    }
    return
  }
}

async function walkModule(walk: Walk, args: readonly string[], folder: string): Promise<void> {
  const flag = args.indexOf('-m')
  const module_ = args[flag + 1] ?? ''
  const path = module_.replaceAll('.', '/')
  for (const file of [`${path}.py`, `${path}/__main__.py`]) await addFile(walk, file, folder)
  await walkWords(walk, [module_, ...args.slice(flag + 2)], folder)
}

async function walkNode(walk: Walk, args: readonly string[], folder: string): Promise<void> {
  const run = args.indexOf('--run')
  if (run >= 0) await walkScripts(walk, [args[run + 1] ?? ''], [folder])
  // `node scripts/check` finds `scripts/check.js`, unless somebody adds a file `scripts/check`.
  const script = args.find(word => !word.startsWith('-'))
  const path = script === undefined ? null : inside(folder, script)
  if (path === null || path === '' || (await walk.tree.isFile(path))) return
  for (const file of [`${path}.js`, `${path}.cjs`, `${path}/index.js`]) {
    if (!(await walk.tree.isFile(file))) continue
    walk.files.add(file)
    walk.patterns.add(`/${path}`)
    return
  }
}

async function walkTask(walk: Walk, name: string, folder: string): Promise<void> {
  for (const file of ['deno.json', 'deno.jsonc']) {
    const path = posix.join(folder, file)
    const task = field(field(parseJson((await walk.tree.read(path)) ?? ''), 'tasks'), name)
    if (task === undefined) continue
    walk.parts.push({ file: `/${path}`, pointer: `tasks.${name}` })
    const command = typeof task === 'string' ? task : field(task, 'command')
    if (typeof command === 'string') await walkLine(walk, command, folder)
  }
}

async function walkComposer(walk: Walk, args: readonly string[], folder: string): Promise<void> {
  const [first = '', second = ''] = afterFlags(args)
  const name = first === 'run' || first === 'run-script' ? second : first
  const path = posix.join(folder, 'composer.json')
  const script = field(field(parseJson((await walk.tree.read(path)) ?? ''), 'scripts'), name)
  if (script === undefined) return
  for (const one of [`pre-${name}-cmd`, name, `post-${name}-cmd`])
    walk.parts.push({ file: `/${path}`, pointer: `scripts.${one}` })
  for (const line of Array.isArray(script) ? script : [script]) {
    if (typeof line === 'string')
      await walkLine(
        walk,
        line.replace(/^@(?:php|putenv)?\s*/u, match => (match === '@' ? 'composer ' : '')),
        folder,
      )
  }
}

async function walkConcurrently(walk: Walk, args: readonly string[], folder: string): Promise<void> {
  for (const word of args) {
    const script = /^(?:npm|pnpm|yarn|bun|node):(.+)$/u.exec(word)
    if (script) await walkScripts(walk, [script[1] ?? ''], [folder])
    else if (word.includes(' ')) await walkLine(walk, word, folder)
  }
}

/** turbo, nx and lerna run the script of that name in every package. */
async function walkWorkspace(walk: Walk, args: readonly string[], folder: string): Promise<void> {
  const names = args
    .filter(word => !['run', 'run-many', 'affected'].includes(word))
    .map(word => word.split(':').at(-1) ?? word)
  await walkNames(walk, names, [folder, ...(await workspaceMembers(walk.tree, folder))])
}

async function walkNames(walk: Walk, words: readonly string[], folders: readonly string[]): Promise<void> {
  const names = words.filter(word => !word.startsWith('-'))
  await walkScripts(walk, names, folders)
}
