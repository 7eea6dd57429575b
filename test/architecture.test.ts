import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

/** The layer rule of the design, kept by a small scanner: who may import whom. */

const src = fileURLToPath(new URL('../src', import.meta.url))

/**
 * What each folder may import besides itself: a whole folder, or single files of it. A folder that is not named here
 * may not exist.
 */
const layers: Record<string, string[]> = {
  // The pure heart.
  core: [],
  presets: ['core'],
  // Adapters: the outside world, one kind each. Between them only these few helpers are shared.
  agents: ['core', 'process'],
  layouts: ['core', 'store/atomic-file.ts'],
  gates: ['core', 'process'],
  git: ['core', 'process'],
  sandbox: ['core', 'process'],
  guard: ['core'],
  store: ['core'],
  process: ['core'],
  hooks: ['core', 'guard', 'compiled-code.ts'],
  // Takes an effect, calls an adapter, appends an event. Of the faces it knows only what a listener looks like.
  config: ['core', 'presets'],
  engine: [
    ...[
      'core',
      'presets',
      'config',
      'agents',
      'layouts',
      'gates',
      'git',
      'sandbox',
      'guard',
      'store',
      'process',
    ],
    'reporters/reporter.ts',
  ],
  // Faces read events and never write state.
  reporters: ['core', 'agents/agent.ts'],
  dashboard: ['core', 'store', 'reporters'],
  // Whoever puts it all together.
  commands: ['*'],
  'launch.ts': ['*'],
  'main.ts': ['*'],
  'compiled-code.ts': [],
  'program.ts': ['*'],
  'index.ts': ['*'],
}

const entries = [
  'launch.ts',
  'index.ts',
  'agents/acp/program.ts',
  'agents/scripted/program.ts',
  'hooks/guard-start.ts',
  'hooks/pretool-program.ts',
]

/** Files that nothing leads to yet, each with the reason. To be emptied. */
const notYetReached: Record<string, string> = {}

/** Cycles that are there, each with the way out. To be emptied. */
const knownCycles: Record<string, string> = {}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map(name => name.replaceAll('\\', '/'))
  .filter(name => /\.tsx?$/u.test(name))
  .sort()
const text = new Map(files.map(file => [file, readFileSync(join(src, file), 'utf8')]))
const imports = new Map(files.map(file => [file, importsOf(text.get(file) ?? '')]))

function importsOf(source: string): string[] {
  const fixed = source.matchAll(
    /^(?:import|export)\s[^'";]*?\bfrom\s+['"]([^'"]+)['"]|^import\s+['"]([^'"]+)['"]/gmu,
  )
  const lazy = source.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/gu)
  return [...fixed, ...lazy].map(match => match[1] ?? match[2] ?? '')
}

/** Files of ours that a file imports, from src/. */
function ours(file: string): string[] {
  return (
    (imports.get(file) ?? [])
      .filter(name => name.startsWith('.'))
      .map(name => posix.join(dirname(file), name).replace(/\?.*$/u, ''))
      // Templates lie beside src/ and come in as text.
      .filter(name => !name.startsWith('../templates/'))
  )
}

const layerOf = (file: string) => file.split('/')[0] ?? file
const core = files.filter(file => layerOf(file) === 'core')

it('finds the files and their imports', () => {
  expect(core.length).toBeGreaterThan(10)
  expect(ours('core/transition.ts')).toContain('core/walk.ts')
  const source = "import './a.ts'\nexport type {\n  B,\n} from './b.ts'\nawait import('./c.ts')"
  expect(importsOf(source)).toEqual(['./a.ts', './b.ts', './c.ts'])
})

it('every folder has a place in the layers, every import a file', () => {
  expect([...new Set(files.map(layerOf))].filter(layer => !Object.hasOwn(layers, layer))).toEqual([])
  const lost = files.flatMap(file =>
    ours(file)
      .filter(target => /\.tsx?$/u.test(target) && !text.has(target))
      .map(target => `${file} imports ${target}, which is not there`),
  )
  expect(lost).toEqual([])
})

it('a layer imports only what lies below it', () => {
  const broken = files.flatMap(file => {
    const allowed = layers[layerOf(file)] ?? []
    if (allowed.includes('*')) return []
    return ours(file)
      .filter(target => layerOf(target) !== layerOf(file))
      .filter(target => !allowed.includes(layerOf(target)) && !allowed.includes(target))
      .map(target => `${file} may not import ${target}`)
  })
  expect(broken).toEqual([])
})

it('no file imports itself, however far the way', () => {
  const found = cycles()
  const key = (cycle: string[]) => [...cycle].sort().join(' ')
  const fresh = found.filter(cycle => !Object.hasOwn(knownCycles, key(cycle)))
  expect(fresh.map(cycle => [...cycle, cycle[0]].join(' → '))).toEqual([])
  const stale = Object.keys(knownCycles).filter(known => !found.some(cycle => key(cycle) === known))
  expect(stale, 'take these out of knownCycles').toEqual([])
})

function cycles(): string[][] {
  const found: string[][] = []
  const state = new Map<string, 'open' | 'closed'>()
  const visit = (file: string, path: string[]): void => {
    if (state.get(file) === 'closed') return
    if (state.get(file) === 'open') {
      found.push(path.slice(path.indexOf(file)))
      return
    }
    state.set(file, 'open')
    for (const target of ours(file)) if (text.has(target)) visit(target, [...path, file])
    state.set(file, 'closed')
  }
  for (const file of files) visit(file, [])
  return found
}

it('every file is reached from an entry', () => {
  const reached = new Set<string>()
  const todo = entries.filter(entry => text.has(entry))
  for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
    if (reached.has(file)) continue
    reached.add(file)
    todo.push(...ours(file).filter(target => text.has(target)))
  }
  const dead = files.filter(file => !reached.has(file))
  expect(dead.filter(file => !Object.hasOwn(notYetReached, file))).toEqual([])
  const stale = Object.keys(notYetReached).filter(file => !dead.includes(file))
  expect(stale, 'take these out of notYetReached').toEqual([])
})

describe('the core is pure', () => {
  it('imports nothing from outside but node:crypto', () => {
    const outside = core.flatMap(file => (imports.get(file) ?? []).filter(name => !name.startsWith('.')))
    expect([...new Set(outside)].filter(name => name !== 'node:crypto')).toEqual([])
  })

  it.each([
    ['waits for nothing', /\b(?:async|await|Promise|setTimeout|setInterval)\b/u],
    ['does not know the time', /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\b/u],
    ['throws no dice', /\bMath\.random\b|\brandom(?:Bytes|UUID|Int)\b/u],
    ['knows no process, file or network', /\b(?:process|console|globalThis)\s*\.|\bfetch\(|\brequire\(/u],
  ])('%s', (_, forbidden) => {
    const found = core.flatMap(file =>
      code(text.get(file) ?? '').flatMap((line, index) =>
        forbidden.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [],
      ),
    )
    expect(found).toEqual([])
  })
})

/** The lines without comments and without what stands between quotation marks. */
function code(source: string): string[] {
  return source
    .replace(/\/\*.*?\*\//gsu, comment => comment.replace(/[^\n]/gu, ''))
    .split('\n')
    .map(line =>
      line.replace(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`/gu, "''").replace(/\/\/.*$/u, ''),
    )
}

it('no file is longer than 400 lines', () => {
  const long = files.filter(file => (text.get(file) ?? '').split('\n').length > 401)
  expect(long).toEqual([])
})
