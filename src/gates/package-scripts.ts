import { matches } from '../core/glob.ts'
import { field, parseJson } from './definition-parts.ts'
import { inside, type Tree } from './tree.ts'

/** What a package manager's command line asks for: scripts of some packages, or a program. */
export type PackageCommand = {
  /** Script names, also with `*` (npm-run-all). */
  scripts: string[]
  /** Further words for the script. */
  extra: string[]
  /** When there is no such script, this program is run instead. */
  program: string[]
  /** `-C`, `--prefix`, `--cwd`. */
  folder: string
  /** All packages of the workspace, not only the one in the folder. */
  workspace: boolean
}

const withValue = new Set([
  '-C',
  '--prefix',
  '--dir',
  '--cwd',
  '-w',
  '--workspace',
  '--filter',
  '-F',
  '-p',
  '--package',
  '--loglevel',
])
const wholeWorkspace = /^(?:-r|--recursive|-ws|--workspaces|-w|--workspace|--filter|-F|-A|--all)(?:=|$)/u
const folderFlag = /^(?:-C|--prefix|--dir|--cwd)$/u

export function packageCommand(manager: string, args: readonly string[]): PackageCommand {
  const found: PackageCommand = { scripts: [], program: [], folder: '', workspace: false }
  const words: string[] = []
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? ''
    if (
      words.length > 0 &&
      !['workspace', 'workspaces', 'foreach', 'run', 'run-script', 'exec', 'x', 'dlx'].includes(
        words.at(-1) ?? '',
      )
    ) {
      // Behind the script or the program everything is its own, except a late `--workspaces`.
      if (wholeWorkspace.test(word) && manager === 'npm' && !args.slice(0, at).includes('--'))
        found.workspace = true
      words.push(word)
      continue
    }
    if (word === '--') continue
    if (!word.startsWith('-')) {
      words.push(word)
      continue
    }
    if (wholeWorkspace.test(word)) found.workspace = true
    const [flag = '', value] = word.split('=', 2)
    if (folderFlag.test(flag)) found.folder = value ?? args[at + 1] ?? ''
    if (withValue.has(word)) at += 1
  }
  return { ...found, ...asked(manager, words, found.workspace) }
}

function asked(
  manager: string,
  words: string[],
  workspace: boolean,
): Pick<PackageCommand, 'scripts' | 'program' | 'workspace'> {
  const [first = '', second = '', ...rest] = words
  const script = (name: string, program: string[] = []) => ({
    scripts: name ? [name] : [],
    program,
    workspace,
  })
  const program = (line: string[]) => ({ scripts: [], program: line, workspace })
  if (manager === 'npx' || manager === 'bunx' || manager === 'pnpx') return program(words)
  if (first === 'exec' || first === 'x' || first === 'dlx') return program([second, ...rest])
  if (manager === 'yarn' && first === 'workspace') return { ...asked(manager, rest, true), workspace: true }
  if (manager === 'yarn' && first === 'workspaces') {
    return {
      ...asked(
        manager,
        second === 'foreach' || second === 'run' ? (second === 'run' ? ['run', ...rest] : rest) : [],
        true,
      ),
      workspace: true,
    }
  }
  if (first === 'run' || first === 'run-script' || first === 'rum')
    return script(second, manager === 'npm' ? [] : [second, ...rest])
  if (manager === 'npm') {
    if (['test', 't', 'tst'].includes(first)) return script('test')
    return script(['start', 'stop', 'restart'].includes(first) ? first : '')
  }
  if (manager === 'bun' && first === 'test') return program([])
  if (first === 't' && manager === 'pnpm') return script('test')
  // `pnpm lint`, `yarn vitest`, `bun scripts/check.ts`: the script if there is one, else the program or file.
  return script(first, words)
}

/** npm's own placeholder: a project that has it has no test script yet. */
export function isPlaceholder(script: string): boolean {
  return /no test specified/u.test(script) && /exit 1/u.test(script)
}

export async function scriptsOf(tree: Tree, folder: string): Promise<Map<string, string> | null> {
  const text = await tree.read(folder ? `${folder}/package.json` : 'package.json')
  if (text === null) return null
  const scripts = field(parseJson(text), 'scripts')
  const found = new Map<string, string>()
  if (typeof scripts !== 'object' || scripts === null) return found
  for (const [name, script] of Object.entries(scripts)) {
    if (typeof script === 'string' && !isPlaceholder(script)) found.set(name, script)
  }
  return found
}

/** npm-run-all's patterns: `test:*` is one level, `test:**` all. */
export function matchingScripts(scripts: Map<string, string>, name: string): string[] {
  if (!name.includes('*')) return scripts.has(name) ? [name] : []
  const pattern = name.replaceAll(':', '/')
  return [...scripts.keys()].filter(one => matches(one.replaceAll(':', '/'), `/${pattern}`))
}

const maxMembers = 200

/** The folders of a workspace's packages, as `workspaces` or `pnpm-workspace.yaml` list them. */
export async function workspaceMembers(tree: Tree, folder: string): Promise<string[]> {
  const at = (name: string) => (folder ? `${folder}/${name}` : name)
  const listed = field(parseJson((await tree.read(at('package.json'))) ?? ''), 'workspaces')
  const fromPackage = Array.isArray(listed) ? listed : field(listed, 'packages')
  const yaml = (await tree.read(at('pnpm-workspace.yaml'))) ?? ''
  const fromYaml = [...yaml.matchAll(/^\s*-\s*['"]?([^'"#\n]+?)['"]?\s*$/gmu)].map(match => match[1] ?? '')
  const patterns = [...(Array.isArray(fromPackage) ? fromPackage : []), ...fromYaml].filter(
    one => typeof one === 'string' && !one.startsWith('!'),
  )
  const found: string[] = []
  for (const pattern of patterns) {
    const fixed = inside(folder, String(pattern).replace(/\/?\*.*$/u, ''))
    if (fixed === null) continue
    if (!String(pattern).includes('*')) found.push(fixed)
    else {
      const names = await tree.list(fixed)
      found.push(
        ...names
          .filter(name => name.endsWith('/'))
          .map(name => `${fixed ? `${fixed}/` : ''}${name.slice(0, -1)}`),
      )
    }
    if (found.length >= maxMembers) break
  }
  return found.slice(0, maxMembers)
}
