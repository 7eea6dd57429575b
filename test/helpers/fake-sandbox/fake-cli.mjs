// A stand-in for `sbx` and for `docker sandbox`, after their documentation: what they list, refuse and start. A "sandbox"
// is a folder; its programs run on this machine, with a home of their own, and outlive the client that started them.
import { spawn } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { pull, push, snapshot } from './fake-sync.mjs'

const [dir, kind, ...given] = process.argv.slice(2)
const config = JSON.parse(readFileSync(path.join(dir, kind, 'config.json'), 'utf8'))
const vms = path.join(dir, kind, 'vms')
const agents = ['claude', 'codex', 'copilot', 'gemini', 'opencode']
/** What a template starts its agent with. */
const defaults = {
  claude: ['--dangerously-skip-permissions'],
  codex: ['--dangerously-bypass-approvals-and-sandbox'],
  copilot: ['--yolo'],
  gemini: ['--yolo'],
  opencode: [],
}

if (given[0] === '__push') {
  await new Promise(resolve => setTimeout(resolve, Number(given[2])))
  push(folderOf(given[1]), read(given[1]).workspaces)
} else {
  await main()
}

async function main() {
  const args = kind === 'docker' ? given.slice(1) : given
  const stdin = takesInput(args) ? readAll() : null
  record(stdin)
  if (kind === 'docker' && given[0] !== 'sandbox') fail(`docker: unknown command: docker ${given[0]}`)
  if (kind === 'docker' && config.plugin === false)
    fail("docker: unknown command: docker sandbox\n\nRun 'docker --help' for more information")
  const [command, ...rest] = args
  const commands = { version, ls, create, exec, run, stop, rm, network, policy }
  if (!Object.hasOwn(commands, command)) fail(`ERROR: unknown command "${command}"`)
  await commands[command](rest, stdin)
}

function version() {
  print(
    kind === 'sbx'
      ? 'sbx version: v0.42.0 0123456789abcdef\n'
      : 'github.com/docker/sandboxes/cli-plugin v0.12.0 0123456789abcdef\n',
  )
}

function ls([how]) {
  if (config.daemonStopped)
    print('Starting sandboxd daemon...\nDaemon started (PID: 1, socket: /x)\nLogs: /x.log\n')
  if (config.signedIn === false)
    fail(
      'ERROR: list runtimes: request failed: 401 Unauthorized: no valid user session found, please sign in to Docker to proceed',
    )
  const all = existsSync(vms) ? readdirSync(vms).sort().map(read) : []
  const rows = all.map(({ name, agent, status, workspaces }) => ({ name, agent, status, workspaces }))
  if (how === '--json')
    print(`${JSON.stringify(kind === 'sbx' ? { sandboxes: rows } : { vms: rows }, null, 2)}\n`)
  else if (how === '-q' || how === '--quiet') print(rows.map(row => `${row.name}\n`).join(''))
  else {
    const lines = rows.map(row => `${row.name}  ${row.agent}  ${row.status}  ${row.workspaces.join(', ')}`)
    print(`${['SANDBOX  AGENT  STATUS  WORKSPACE', ...lines].join('\n')}\n`)
  }
}

function create(args) {
  if (args.includes('--help')) {
    print(`Usage: ${kind} create [flags] AGENT PATH [PATH...]\n  --name string\n`)
    if (config.sharesSkills) print('  --no-share-skills\n')
    return
  }
  const words = [...args]
  const name = words[0] === '--name' ? words.splice(0, 2)[1] : ''
  if (words[0] === '--no-share-skills' && config.sharesSkills) words.shift()
  const [agent, ...paths] = words
  if (agent?.startsWith('-')) fail(`ERROR: unknown flag: ${agent}`)
  if (!agents.includes(agent)) fail(`ERROR: unknown agent "${agent}"`)
  if (config.policyChosen === false) fail('ERROR: the global network policy is not initialized')
  checkName(name)
  if (existsSync(folderOf(name))) fail(`ERROR: sandbox already exists with this name: ${name}`)
  const workspaces = paths.map(one => one.replace(/:ro$/u, ''))
  for (const one of workspaces) if (!existsSync(one)) fail(`ERROR: workspace ${one} does not exist`)
  if (workspaces.length === 0) fail('ERROR: a workspace is required')
  mkdirSync(path.join(folderOf(name), 'home'), { recursive: true })
  write({ name, agent, status: 'stopped', workspaces, policy: 'allow', allowed: [], blocked: [] })
  boot(name)
}

function checkName(name) {
  if (kind === 'sbx' && !/^[A-Za-z0-9][A-Za-z0-9.-]+$/u.test(name))
    fail(`ERROR: invalid sandbox name "${name}"`)
  if (kind === 'docker' && !(config.refusesDots ? /^[\w-]+$/u : /^[\w.-]+$/u).test(name))
    fail(
      'failed to create sandbox: status 400: {"message":"invalid VM name: VM name can only contain alphanumeric characters, hyphens, and underscores"}',
    )
}

async function exec(args, stdin) {
  const env = {}
  let cwd = null
  const words = [...args]
  while (words[0]?.startsWith('-')) {
    const flag = words.shift()
    if (flag === '-i') continue
    const value = words.shift() ?? ''
    if (flag === '-w') cwd = value
    else if (flag === '-e') Object.assign(env, variable(value))
    else if (flag === '--env-file') for (const line of lines(value)) Object.assign(env, variable(line))
    else if (flag !== '-u') fail(`ERROR: unknown flag: ${flag}`)
  }
  const [name, ...argv] = words
  const vm = found(name)
  if (vm.status === 'stopped' && config.execStarts === false) fail(`Error: sandbox ${name} is not running`)
  boot(name)
  await perform({ name, argv, cwd: cwd ?? vm.workspaces[0], env, stdin })
}

async function run(args) {
  const at = args.indexOf('--')
  const before = at < 0 ? args : args.slice(0, at)
  const after = at < 0 ? [] : args.slice(at + 1)
  const name = before.filter(word => word !== '-d' && word !== '--name')[0]
  const vm = found(name)
  boot(name)
  if (before.includes('-d')) return print(`${name}\n`)
  // A bare word takes the place of the template's flags.
  const flags = after.length === 0 || after[0].startsWith('-') ? defaults[vm.agent] : []
  await perform({ name, argv: [vm.agent, ...flags, ...after], cwd: vm.workspaces[0], env: {}, stdin: null })
}

function stop(names) {
  for (const name of names) {
    const vm = found(name)
    for (const job of jobs(name)) end(job)
    write({ ...vm, status: 'stopped' })
  }
}

function rm(names) {
  stop(names)
  for (const name of names) rmSync(folderOf(name), { recursive: true })
}

function network([command, name, ...flags]) {
  if (kind !== 'docker' || command !== 'proxy') fail('ERROR: unknown command')
  const vm = found(name)
  const next = { ...vm, allowed: [...vm.allowed], blocked: [...vm.blocked] }
  for (let at = 0; at < flags.length; at += 2) {
    const [flag, value] = [flags[at], flags[at + 1]]
    if (flag === '--policy') next.policy = value
    else if (flag === '--allow-host') next.allowed.push(value)
    else if (flag === '--block-host') next.blocked.push(value)
    else fail(`ERROR: unknown flag: ${flag}`)
  }
  write(next)
}

function policy([verb, what, flag, name, ...rest]) {
  if (kind !== 'sbx' || what !== 'network' || flag !== '--sandbox') fail('ERROR: unknown command')
  const vm = found(name)
  if (verb === 'allow') write({ ...vm, allowed: [...vm.allowed, ...rest[0].split(',')] })
  else if (verb === 'rm' && rest[0] === '--resource')
    write({ ...vm, allowed: vm.allowed.filter(host => host !== rest[1]) })
  else fail('ERROR: unknown command')
}

/** A start takes the files as they are outside now; after that, a file that is in there is no longer looked at. */
function boot(name) {
  const vm = found(name)
  if (vm.status === 'running') return
  if (config.files === 'synced') snapshot(folderOf(name), vm.workspaces)
  write({ ...vm, status: 'running' })
}

/** Runs a program in a session of its own, whose parent is gone at once, and prints what it prints. */
async function perform({ name, argv, cwd, env, stdin }) {
  const { workspaces } = found(name)
  const folder = folderOf(name)
  const job = path.join(folder, 'jobs', `${process.hrtime.bigint()}`)
  mkdirSync(job, { recursive: true })
  writeFileSync(path.join(job, 'in'), stdin ?? '')
  if (config.files === 'synced') pull(folder, workspaces)
  const inside = text => {
    const home = text.replaceAll('/home/agent', path.join(folder, 'home'))
    if (config.files !== 'synced') return home
    return workspaces.reduce((all, one) => all.replaceAll(one, path.join(folder, 'files', one)), home)
  }
  const child = spawn(
    '/bin/sh',
    ['-c', '( shift; "$@" <"$0/in" >"$0/out" 2>"$0/err"; echo $? >"$0/rc" ) &', job, '', ...argv.map(inside)],
    {
      cwd: inside(cwd),
      env: { PATH: config.path, HOME: path.join(folder, 'home'), ...env },
      stdio: 'ignore',
      detached: true,
    },
  )
  child.on('error', error => fail(`Error: ${error.message}`))
  writeFileSync(path.join(job, 'group'), String(child.pid))
  const code = await follow(job)
  if (config.files === 'synced') {
    if (config.syncDelay) later(name, config.syncDelay)
    else push(folder, workspaces)
  }
  process.exitCode = code
}

function later(name, delay) {
  spawn(process.execPath, [process.argv[1], dir, kind, '__push', name, String(delay)], {
    stdio: 'ignore',
    detached: true,
  }).unref()
}

/** By builtins of the shell only: the program's PATH is its own affair. */
async function follow(job) {
  const at = { out: 0, err: 0 }
  const rc = () => (existsSync(path.join(job, 'rc')) ? readFileSync(path.join(job, 'rc'), 'utf8') : '')
  for (;;) {
    const code = rc()
    const stopped = !existsSync(job) || existsSync(path.join(job, 'stopped'))
    at.out += copyFrom(path.join(job, 'out'), at.out, 1)
    at.err += copyFrom(path.join(job, 'err'), at.err, 2)
    if (stopped) return 137
    if (code.endsWith('\n')) {
      rmSync(job, { recursive: true, force: true })
      return Number(code)
    }
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

function copyFrom(file, from, to) {
  if (!existsSync(file)) return 0
  const descriptor = openSync(file, 'r')
  const buffer = Buffer.alloc(65_536)
  let copied = 0
  for (;;) {
    const count = readSync(descriptor, buffer, 0, buffer.length, from + copied)
    if (count === 0) break
    for (let done = 0; done < count; ) done += writeSync(to, buffer, done, count - done)
    copied += count
  }
  closeSync(descriptor)
  return copied
}

function jobs(name) {
  const folder = path.join(folderOf(name), 'jobs')
  return existsSync(folder) ? readdirSync(folder).map(job => path.join(folder, job)) : []
}

function end(job) {
  writeFileSync(path.join(job, 'stopped'), '')
  const group = existsSync(path.join(job, 'group'))
    ? Number(readFileSync(path.join(job, 'group'), 'utf8'))
    : 0
  rmSync(path.join(job, 'group'), { force: true })
  if (group <= 1) return
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // It is over.
  }
}

function found(name) {
  if (!name || !existsSync(path.join(folderOf(name), 'vm.json'))) fail(`ERROR: sandbox "${name}" not found`)
  return read(name)
}

function folderOf(name) {
  return path.join(vms, name)
}

function read(name) {
  return JSON.parse(readFileSync(path.join(folderOf(name), 'vm.json'), 'utf8'))
}

function write(vm) {
  const file = path.join(folderOf(vm.name), 'vm.json')
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(vm))
  renameSync(`${file}.${process.pid}`, file)
}

function record(stdin) {
  const folder = path.join(dir, kind, 'calls')
  mkdirSync(folder, { recursive: true })
  const envFile = given.indexOf('--env-file')
  const call = {
    program: kind,
    args: given,
    env: process.env,
    cwd: process.cwd(),
    stdin,
    envFile: envFile < 0 ? null : readFileSync(given[envFile + 1], 'utf8'),
  }
  writeFileSync(
    path.join(folder, `${process.hrtime.bigint().toString().padStart(20, '0')}.json`),
    JSON.stringify(call),
  )
}

function takesInput(args) {
  return args[0] === 'exec' && args.includes('-i')
}

function readAll() {
  return readFileSync(0, 'utf8')
}

function lines(file) {
  return readFileSync(file, 'utf8').split('\n').filter(Boolean)
}

function variable(text) {
  const at = text.indexOf('=')
  return at < 0 ? { [text]: process.env[text] ?? '' } : { [text.slice(0, at)]: text.slice(at + 1) }
}

function print(text) {
  writeSync(1, text)
}

function fail(text) {
  writeSync(2, `${text}\n`)
  process.exit(1)
}
