// Makes sure that what a command needs is there, and does nothing when it is. Plain Node, so that it works on a fresh
// clone with nothing installed: `npm test` and `npm run demo` call it first.
//
//   node scripts/ensure.mjs install build test-tools
//
// install      node_modules is what package-lock.json says (`npm ci`)
// build        dist/ is built from what lies in src/ and templates/ (`vite build`)
// test-tools   the system programs that the tests use are there (`apt-get install`, where that is possible)
// agents       the real agent CLIs of `npm run test:agents` are in .cache/agents (`npm install`)
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withLock } from './lock.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const at = path => join(root, path)

/** Programs that the tests start, and the Debian packages that bring them. */
const tools = [
  { program: 'git', debian: 'git' },
  { program: 'ps', debian: 'procps' },
  { program: 'sh', debian: 'dash' },
  { program: 'zsh', debian: 'zsh' },
  { program: 'fish', debian: 'fish' },
  { program: 'bwrap', debian: 'bubblewrap' },
]

const built = ['ralph', 'index', 'scripted-agent', 'acp-client', 'guard-hook', 'guard-start'].map(
  name => `dist/${name}.js`,
)
const sources = ['src', 'templates', 'package.json', 'vite.config.ts']

const steps = {
  install: { isMissing: () => !isInstalled(), make: install },
  build: { isMissing: () => !isBuilt(), make: build },
  'test-tools': { isMissing: () => missingTools().length > 0, make: installTools },
  agents: { isMissing: () => installAgents('--check') !== 0, make: makeAgents },
}

function main() {
  const names = process.argv.slice(2)
  const unknown = names.filter(name => !Object.hasOwn(steps, name))
  if (unknown.length > 0 || names.length === 0) {
    fail(`unknown step '${unknown.join(' ')}'`, `Choose of: ${Object.keys(steps).join(', ')}`, 2)
  }
  if (!names.some(name => steps[name].isMissing())) return
  withLock(at('.cache/ensure.lock'), say, () => {
    // Looked at once more: whoever held the lock may have done it.
    for (const name of names) if (steps[name].isMissing()) steps[name].make()
  })
}

const lockStamp = 'node_modules/.ralph-lock'

function isInstalled() {
  const stamp = read(lockStamp)
  if (stamp !== null) return stamp === installHash()
  if (!agreesWithLock()) return false
  // Somebody ran `npm ci` himself.
  writeFileSync(at(lockStamp), installHash())
  return true
}

function installHash() {
  return hash([read('package-lock.json') ?? '', process.platform, process.arch])
}

/** npm leaves its own account of what it installed; optional packages of other platforms are not in it. */
function agreesWithLock() {
  const installed = JSON.parse(read('node_modules/.package-lock.json') ?? '{}').packages
  const wanted = JSON.parse(read('package-lock.json') ?? '{}').packages
  if (!installed || !wanted) return false
  return Object.entries(wanted).every(([path, { version, optional }]) => {
    const there = installed[path]
    return path === '' || (there ? there.version === version : optional === true)
  })
}

function install() {
  say('installing packages (npm ci)')
  run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'], 'npm ci')
  writeFileSync(at(lockStamp), installHash())
}

const buildStamp = '.cache/build-stamp'

function isBuilt() {
  return built.every(file => existsSync(at(file))) && read(buildStamp) === builtHash(sourceHash())
}

/** Of what went in, and of when it came out: a build by hand is not mistaken for ours. */
function builtHash(inputs) {
  return hash([inputs, ...built.map(file => String(statSync(at(file)).mtimeMs))])
}

function sourceHash() {
  const files = sources.flatMap(source => (isFolder(source) ? filesIn(source) : [source])).sort()
  return hash(files.flatMap(file => [file, read(file) ?? '']))
}

/** Built aside and put in place at once, so that whoever runs dist/ meanwhile never sees half of it. */
function build() {
  say('building dist/ (vite build)')
  // Before the build: what is edited meanwhile may not be in it.
  const inputs = sourceHash()
  const aside = `.cache/dist-${process.pid}`
  const old = `.cache/dist-old-${process.pid}`
  process.once('exit', () => rmSync(at(aside), { recursive: true, force: true }))
  const vite = join('node_modules', '.bin', process.platform === 'win32' ? 'vite.cmd' : 'vite')
  run(at(vite), ['build', '--outDir', aside, '--emptyOutDir', '--logLevel', 'warn'], 'npx vite build')
  if (existsSync(at('dist'))) renameSync(at('dist'), at(old))
  renameSync(at(aside), at('dist'))
  rmSync(at(old), { recursive: true, force: true })
  writeFileSync(at(buildStamp), builtHash(inputs))
}

function missingTools() {
  return tools.filter(({ program }) => !isOnPath(program))
}

function installTools() {
  const missing = missingTools()
  const names = missing.map(tool => tool.program).join(', ')
  const command = ['apt-get', 'install', '-y', '--no-install-recommends', ...missing.map(tool => tool.debian)]
  if (process.getuid?.() !== 0 || !isOnPath('apt-get')) {
    fail(`the tests need ${names}, which is not on the PATH`, `Run: sudo ${command.join(' ')}`)
  }
  say(`installing ${names} (${command.join(' ')})`)
  const [program, ...args] = command
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const options = { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] }
  // The package lists may be empty, as in a fresh container.
  if (spawnSync(program, args, options).status === 0) return
  spawnSync(program, ['update'], options)
  run(program, args, command.join(' '), env)
}

/** A program of its own, with its own words; this file must work on a clone that holds nothing else. */
function installAgents(...args) {
  return spawnSync(process.execPath, [at('scripts/install-agents.mjs'), ...args], { stdio: 'inherit' }).status
}

function makeAgents() {
  const code = installAgents()
  if (code !== 0) process.exit(code ?? 1)
}

function isOnPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some(folder => isExecutable(join(folder || '.', program)))
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function run(program, args, command, env = process.env) {
  const shell = process.platform === 'win32'
  const done = spawnSync(program, args, {
    cwd: root,
    env,
    shell,
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  })
  if (done.status === 0) return
  process.stderr.write(`${done.stdout ?? ''}${done.stderr ?? ''}`)
  fail(
    done.error ? done.error.message : `'${command}' ended with exit code ${done.status}`,
    `Run: ${command}`,
  )
}

function filesIn(folder) {
  const names = readdirSync(at(folder), { recursive: true, encoding: 'utf8' })
  return names.map(name => join(folder, name)).filter(name => !isFolder(name))
}

function isFolder(path) {
  return statSync(at(path), { throwIfNoEntry: false })?.isDirectory() ?? false
}

function read(path) {
  try {
    return readFileSync(at(path), 'utf8')
  } catch {
    return null
  }
}

function hash(parts) {
  const sum = createHash('sha256')
  for (const part of parts) sum.update(`${part.length}:${part}`)
  return sum.digest('hex')
}

function say(text) {
  process.stderr.write(`ensure: ${text}\n`)
}

function fail(problem, fix, code = 1) {
  process.stderr.write(`ensure: ${problem}\n  → ${fix}\n`)
  process.exit(code)
}

mkdirSync(dirname(at(buildStamp)), { recursive: true })
main()
