// Installs the real agent CLIs that `npm run test:agents` drives: the exact versions of test/real-agents/agents.json,
// into .cache/agents. Called by scripts/ensure.mjs.
//
//   node scripts/install-agents.mjs            install what is missing
//   node scripts/install-agents.mjs --check    exit code 0 when nothing is
//
// A CLI that cannot be had on this machine (no build for it, no way to the registry) is told loudly and noted in
// .cache/agents/installed.json; its tests are left out. In CI that is a failure.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const pinned = join(root, 'test/real-agents/agents.json')
const folder = join(root, '.cache/agents')
const note = join(folder, 'installed.json')

const agents = Object.entries(JSON.parse(readFileSync(pinned, 'utf8'))).map(([name, one]) => ({
  name,
  ...one,
}))
const wanted = createHash('sha256')
  .update(JSON.stringify([agents, process.platform, process.arch]))
  .digest('hex')

if (process.argv.includes('--check')) process.exit(isDone() ? 0 : 1)
if (!isDone()) main()

function isDone() {
  const { hash, unavailable = [] } = readJson(note)
  if (hash !== wanted || (process.env.CI && unavailable.length > 0)) return false
  return agents.every(agent => unavailable.includes(agent.name) || isThere(agent))
}

function main() {
  mkdirSync(folder, { recursive: true })
  const missing = agents.filter(agent => !isThere(agent))
  if (missing.length > 0) {
    say(
      `installing ${missing.map(words).join(', ')} into .cache/agents (npm install, some hundred megabytes each)`,
    )
    // All at once is quicker; one by one, what cannot be had is no hindrance for the others.
    if (!install(missing) && missing.length > 1) for (const agent of missing) install([agent])
  }
  say(`starting each of them once: ${agents.map(words).join(', ')}`)
  const unavailable = agents.filter(agent => !starts(agent))
  const names = unavailable.map(agent => agent.name)
  writeFileSync(note, `${JSON.stringify({ hash: wanted, unavailable: names }, null, 2)}\n`)
  if (unavailable.length > 0) complain(unavailable)
}

function words({ package: name, version }) {
  return `${name}@${version}`
}

function isThere(agent) {
  return readJson(join(folder, 'node_modules', agent.package, 'package.json')).version === agent.version
}

function install(list) {
  const options = ['--prefix', folder, '--save-exact', '--no-audit', '--no-fund', '--loglevel', 'error']
  const done = spawnSync('npm', ['install', ...options, ...list.map(words)], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  })
  return done.status === 0
}

/** A package is not a program yet: most of them only fetch the build for this machine. */
function starts({ name }) {
  const home = mkdtempSync(join(tmpdir(), 'ralph-agents-'))
  const quiet = { COPILOT_AUTO_UPDATE: 'false', DISABLE_AUTOUPDATER: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' }
  const program = join(folder, 'node_modules', '.bin', name)
  try {
    const offline = fileURLToPath(new URL('offline.mjs', import.meta.url))
    const done = spawnSync(process.execPath, [offline, program, '--version'], {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, TERM: 'dumb', ...quiet },
      stdio: ['ignore', 'pipe', 'pipe'],
      encoding: 'utf8',
      timeout: 120_000,
    })
    if (done.status === 0) return true
    process.stderr.write(`${done.stdout}${done.stderr}`)
    return false
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

function complain(unavailable) {
  const names = unavailable.map(words).join(', ')
  const told = process.env.CI ? 'In CI they all must be there.' : 'Their tests are left out.'
  say(`!!! NOT AVAILABLE ON THIS MACHINE: ${names}. ${told}`)
  say(`  → To try again: rm -r .cache/agents && node scripts/ensure.mjs agents`)
  if (process.env.CI) process.exit(1)
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return {}
  }
}

function say(text) {
  process.stderr.write(`agents: ${text}\n`)
}
