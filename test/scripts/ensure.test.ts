import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

/**
 * The real script in a project that is like ours but needs no network: its only package is a `vite` of a few lines that
 * copies src/ and counts its builds.
 */
const scripts = fileURLToPath(new URL('../../scripts', import.meta.url))
const running: ChildProcess[] = []
let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-ensure-'))
  mkdirSync(join(root, 'scripts'))
  for (const name of ['ensure.mjs', 'lock.mjs']) cpSync(join(scripts, name), join(root, 'scripts', name))
  const vite = { name: 'vite', version: '1.0.0', bin: { vite: 'vite.mjs' } }
  write('fake-vite/package.json', JSON.stringify(vite))
  write('fake-vite/vite.mjs', fakeVite)
  write(
    'package.json',
    JSON.stringify({ name: 'p', version: '1.0.0', devDependencies: { vite: 'file:fake-vite' } }),
  )
  write('package-lock.json', JSON.stringify(lockFile))
  write('vite.config.ts', '')
  write('src/main.ts', 'one')
})

afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
  rmSync(root, { recursive: true, force: true })
})

const lockFile = {
  name: 'p',
  version: '1.0.0',
  lockfileVersion: 3,
  requires: true,
  packages: {
    '': { name: 'p', version: '1.0.0', devDependencies: { vite: 'file:fake-vite' } },
    'fake-vite': { name: 'vite', version: '1.0.0', dev: true, bin: { vite: 'vite.mjs' } },
    'node_modules/vite': { resolved: 'fake-vite', link: true },
  },
}

const fakeVite = `#!/usr/bin/env node
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
const out = process.argv[process.argv.indexOf('--outDir') + 1]
const text = readFileSync('src/main.ts', 'utf8')
mkdirSync(out, { recursive: true })
if (text === 'broken') { console.error('src/main.ts is broken'); process.exit(3) }
for (const name of ['ralph.js', 'index.js', 'scripted-agent.js', 'acp-client.js', 'guard-hook.js', 'guard-start.js']) writeFileSync(out + '/' + name, text)
appendFileSync('builds', 'x')
`

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text, { mode: 0o755 })
}

/** What `npm ci` would leave. */
function installed(): void {
  write('node_modules/.package-lock.json', JSON.stringify({ packages: lockFile.packages }))
  mkdirSync(join(root, 'node_modules/.bin'), { recursive: true })
  symlinkSync(join(root, 'fake-vite/vite.mjs'), join(root, 'node_modules/.bin/vite'))
}

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const args = (steps: string[]) => [join(root, 'scripts/ensure.mjs'), ...steps]

function ensure(steps: string[], env: NodeJS.ProcessEnv = process.env) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args(steps), {
    cwd: tmpdir(),
    env,
    encoding: 'utf8',
  })
  return { status, output: stdout + stderr }
}

const nothing = { status: 0, output: '' }
const installing = 'ensure: installing packages (npm ci)\n'
const building = 'ensure: building dist/ (vite build)\n'

describe('on a fresh clone', () => {
  it('installs and builds once, saying so; then it is silent until something changes', () => {
    expect(ensure(['install', 'build'])).toEqual({ status: 0, output: installing + building })
    expect(read('dist/ralph.js')).toBe('one')
    expect(ensure(['install', 'build'])).toEqual(nothing)

    write('src/main.ts', 'two')
    expect(ensure(['install', 'build'])).toEqual({ status: 0, output: building })
    expect(read('dist/ralph.js')).toBe('two')

    write('package-lock.json', JSON.stringify(lockFile, null, 1))
    expect(ensure(['install', 'build'])).toEqual({ status: 0, output: installing })

    rmSync(join(root, 'dist/index.js'))
    expect(ensure(['build'])).toEqual({ status: 0, output: building })
    write('dist/ralph.js', 'built by hand from something else')
    expect(ensure(['build'])).toEqual({ status: 0, output: building })
    expect(read('builds')).toBe('xxxx')
    expect(readdirSync(join(root, '.cache')).sort()).toEqual(['build-stamp'])
  })

  it('takes packages that somebody installed himself for what they are', () => {
    const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root })
    expect(status).toBe(0)
    expect(ensure(['install'])).toEqual(nothing)
    expect(existsSync(join(root, 'node_modules/.ralph-lock'))).toBe(true)
  })
})

it('a failed build is an error with the line to run, and dist/ stays as it was', () => {
  installed()
  expect(ensure(['install', 'build'])).toEqual({ status: 0, output: building })
  write('src/main.ts', 'broken')
  const { status, output } = ensure(['build'])
  expect(status).toBe(1)
  expect(output).toContain(
    "src/main.ts is broken\nensure: 'npx vite build' ended with exit code 3\n  → Run: npx vite build\n",
  )
  expect(read('dist/ralph.js')).toBe('one')
  expect(readdirSync(join(root, '.cache'))).toEqual(['build-stamp'])
})

it('several at once do the work once, and all find it done', async () => {
  installed()
  const all = [1, 2, 3, 4].map(() => {
    const child = spawn(process.execPath, args(['build']), { stdio: ['ignore', 'ignore', 'pipe'] })
    running.push(child)
    let output = ''
    child.stderr.setEncoding('utf8').on('data', text => {
      output += text
    })
    return new Promise<{ code: number | null; output: string }>(resolve => {
      child.on('close', code => resolve({ code, output }))
    })
  })
  const results = await Promise.all(all)
  expect(results.map(result => result.code)).toEqual([0, 0, 0, 0])
  expect(read('builds')).toBe('x')
  const said = results.map(result => result.output).join('')
  expect(said.split(building)).toHaveLength(2)
})

it.each([
  ['a dead process', { pid: 2 ** 22 + 5, started: '7' }],
  ['a process whose number another one has now', { pid: process.pid, started: '7' }],
])('the lock of %s is taken over', (_, holder) => {
  installed()
  write('.cache/ensure.lock/holder', JSON.stringify(holder))
  expect(ensure(['build'])).toEqual({ status: 0, output: building })
  expect(existsSync(join(root, '.cache/ensure.lock'))).toBe(false)
})

describe('test-tools', () => {
  /** A PATH with these programs and nothing else. */
  function pathWith(programs: string[]): NodeJS.ProcessEnv {
    const folder = join(root, 'bin')
    mkdirSync(folder)
    for (const program of programs) {
      const found = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim()
      symlinkSync(found, join(folder, program))
    }
    return { ...process.env, PATH: folder }
  }

  it('says nothing when all are there', () => {
    expect(ensure(['test-tools'], pathWith(['git', 'ps', 'sh', 'zsh', 'fish', 'bwrap']))).toEqual(nothing)
  })

  it('names what is missing and the line to run, where it cannot install it', () => {
    const output =
      'ensure: the tests need ps, which is not on the PATH\n' +
      '  → Run: sudo apt-get install -y --no-install-recommends procps\n'
    expect(ensure(['test-tools'], pathWith(['git', 'sh', 'zsh', 'fish', 'bwrap']))).toEqual({
      status: 1,
      output,
    })
  })
})

it('an unknown step is refused', () => {
  expect(ensure(['instal'])).toEqual({
    status: 2,
    output: "ensure: unknown step 'instal'\n  → Choose of: install, build, test-tools, agents\n",
  })
})
