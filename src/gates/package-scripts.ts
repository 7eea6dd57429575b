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
])
const wholeWorkspace = /^(?:-r|--recursive|-ws|--workspaces|-w|--workspace|--filter|-F|-A|--all)(?:=|$)/u
const folderFlag = /^(?:-C|--prefix|--dir|--cwd)$/u

export function packageCommand(manager: string, args: readonly string[]): PackageCommand {
  const { word, rest, folder, workspace } = take(args)
  const around = { folder, workspace }
  const program = (words: string[]): PackageCommand => ({ ...around, scripts: [], extra: [], program: words })
  const script = (name: string, extra: string[], words: string[] = []): PackageCommand => ({
    folder,
    // npm reads its own flags also behind the script's name.
    workspace: workspace || (manager === 'npm' && beforeDashes(extra).some(one => wholeWorkspace.test(one))),
    scripts: [name],
    extra: extra.filter(one => one !== '--'),
    program: words,
  })
  if (['npx', 'bunx', 'pnpx'].includes(manager)) return program([word, ...rest])
  if (['exec', 'x', 'dlx'].includes(word)) {
    const inner = take(rest)
    return program([inner.word, ...inner.rest])
  }
  if (['run', 'run-script', 'rum'].includes(word)) {
    const inner = take(rest)
    const found = script(inner.word, inner.rest, manager === 'npm' ? [] : [inner.word, ...inner.rest])
    return { ...found, folder: folder || inner.folder, workspace: found.workspace || inner.workspace }
  }
  if (manager === 'npm') {
    if (['test', 't', 'tst'].includes(word)) return script('test', rest)
    return ['start', 'stop', 'restart'].includes(word) ? script(word, rest) : program([])
  }
  if (manager === 'yarn' && (word === 'workspace' || word === 'workspaces')) {
    // `workspace <name> …`, `workspaces foreach … run …`, `workspaces run …`.
    const inner = take(rest)
    const line = inner.word === 'run' ? ['run', ...inner.rest] : inner.rest
    return { ...packageCommand(manager, line), workspace: true }
  }
  if (manager === 'bun' && word === 'test') return program(['bun-test', ...rest])
  // `pnpm lint`, `yarn vitest`, `bun scripts/check.ts`: the script if there is one, else the program or file.
  return script(manager === 'pnpm' && word === 't' ? 'test' : word, rest, [word, ...rest])
}

/** The first word that is no flag, what the flags before it say, and everything behind it. */
function take(args: readonly string[]): { word: string; rest: string[]; folder: string; workspace: boolean } {
  let folder = ''
  let workspace = false
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? ''
    if (word === '--') continue
    if (!word.startsWith('-')) return { word, rest: args.slice(at + 1), folder, workspace }
    if (wholeWorkspace.test(word)) workspace = true
    const [flag = '', value] = word.split('=', 2)
    if (folderFlag.test(flag)) folder = value ?? args[at + 1] ?? ''
    if (withValue.has(word)) at += 1
  }
  return { word: '', rest: [], folder, workspace }
}

function beforeDashes(words: readonly string[]): readonly string[] {
  const dashes = words.indexOf('--')
  return dashes < 0 ? words : words.slice(0, dashes)
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
