import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeLauncher } from '../../src/sandbox/box-launcher.ts'
import { bubblewrap } from '../../src/sandbox/bubblewrap.ts'
import { bundle } from '../helpers/bundle.ts'
import { type BoxProject, createBoxProject, processesWith } from './bubblewrap-project.ts'

let project: BoxProject
beforeAll(async () => {
  project = createBoxProject()
  const probe = await bubblewrap().probe({
    root: project.root,
    agents: [],
    worktrees: false,
    env: process.env,
  })
  // Without it these tests say nothing.
  if (!probe.ok) throw new Error(`bubblewrap does not work here: ${probe.problem}. ${probe.fix}`)
  expect(probe.version).toMatch(/^\d+\.\d+/)
})
afterAll(() => project.cleanup())

const until = async (condition: () => boolean) => {
  for (let rounds = 0; !condition() && rounds < 400; rounds++) await delay(25)
  expect(condition()).toBe(true)
}

/** The one that this process started: the box itself. */
const childOfOurs = (pids: number[]) =>
  pids.find(
    pid => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === String(process.pid),
  ) ?? 0

describe('how a program runs in a box', () => {
  it('hands on exit codes, signals, and a stdin of 1 MB', async () => {
    const box = await project.open()
    expect(await project.run(box, 'exit 7')).toMatchObject({ exit: 7, killed: null })
    expect(await project.run(box, 'kill -KILL $$')).toMatchObject({ exit: 137 })
    expect(await project.run(box, '', { argv: ['no-such-program'] })).toMatchObject({ exit: 127 })
    const stdin = project.write('stdin', 'x'.repeat(1024 * 1024))
    expect(await project.run(box, 'wc -c', { stdin })).toMatchObject({ exit: 0, output: `${1024 * 1024}\n` })
  })

  it('lets it take a TERM as it likes, and is gone with it', async () => {
    const box = await project.open()
    const stop = new AbortController()
    const script = 'trap "echo tidied > tidy; exit 3" TERM; touch ready; while :; do sleep 0.05; done'
    const ran = project.run(box, script, { signal: stop.signal, grace: 10_000 })
    await until(() => existsSync(join(project.root, 'ready')))
    stop.abort()
    expect(await ran).toMatchObject({ exit: 3, ended: 'stopped' })
    expect(project.read('project/tidy')).toBe('tidied\n')
  })

  it('leaves nobody behind: not when it ends, not when it is killed', async () => {
    const box = await project.open()
    const daemon = (word: string) =>
      `(setsid sh -c 'sleep ${word} & sleep ${word}' >/dev/null 2>&1 &) ; sleep 0.1`
    const word = `9${process.pid}.125`
    expect(await project.run(box, `${daemon(word)}; echo ended`)).toMatchObject({
      exit: 0,
      output: 'ended\n',
    })
    expect(processesWith(word)).toEqual([])
    const stop = new AbortController()
    const ran = project.run(box, `trap '' TERM; ${daemon(word)}; touch up; sleep ${word}`, {
      signal: stop.signal,
      grace: 50,
    })
    await until(() => existsSync(join(project.root, 'up')))
    expect(processesWith(word).length).toBeGreaterThan(2)
    stop.abort()
    await ran
    await until(() => processesWith(word).length === 0)
    const killed = project.run(box, `${daemon(word)}; touch again; sleep ${word}`)
    await until(() => existsSync(join(project.root, 'again')))
    process.kill(childOfOurs(processesWith(word)), 'SIGKILL')
    expect(await killed).toMatchObject({ killed: 'SIGKILL' })
    await until(() => processesWith(word).length === 0)
  })

  it('dies with the engine, and the next one clears up', async () => {
    const root = join(project.base, 'killed')
    mkdirSync(join(root, '.ralph'), { recursive: true })
    const word = `8${process.pid}.125`
    const program = await bundle('test/sandbox/bubblewrap-engine.ts')
    const script = `(setsid sleep ${word} &); touch up; sleep ${word}`
    const env = { PATH: process.env.PATH ?? '', HOME: project.home, TMPDIR: project.base }
    const engine = spawn(process.execPath, [program, root, script], { env, stdio: 'ignore' })
    await until(() => existsSync(join(root, 'up')))
    const left = () => readdirSync(project.base).filter(name => name.startsWith('ralph-box-'))
    expect(left()).toHaveLength(1)
    engine.kill('SIGKILL')
    await once(engine, 'exit')
    await until(() => processesWith(word).length === 0)
    const next = await project.open({ env: { ...env } })
    expect(left()).toHaveLength(1)
    await next.close()
    expect(left()).toEqual([])
  })

  it('several at once have homes, temporary files and ports of their own', async () => {
    const box = await project.open()
    const script = (name: string) =>
      `echo ${name} > ~/who; echo ${name} > /tmp/who; perl -e 'socket(S,2,1,0); bind(S,pack("S n a4 x8",2,4000,pack("C4",127,0,0,1))) or die; sleep 1'; cat ~/who /tmp/who`
    const ran = await Promise.all(['a', 'b', 'c'].map(name => project.run(box, script(name))))
    expect(ran.map(({ output }) => output)).toEqual(['a\na\n', 'b\nb\n', 'c\nc\n'])
  })

  it('works for a user who is not root', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ralph-nobody-'))
    chmodSync(folder, 0o755)
    const program = join(folder, 'engine.mjs')
    copyFileSync(await bundle('test/sandbox/bubblewrap-engine.ts'), program)
    const [root, home] = [join(folder, 'project'), join(folder, 'home')]
    for (const path of [root, home, join(root, '.ralph')]) mkdirSync(path)
    writeFileSync(join(home, 'canary'), 'secret')
    execFileSync('git', ['init', '-q', root])
    const asRoot = process.getuid?.() === 0
    if (asRoot) execFileSync('chown', ['-R', '65534:65534', folder])
    const script =
      'id -u; cat ~/canary; echo x > made && git add -A && git commit -qm work && git log --format=%an; cat /etc/shadow'
    const argv = [process.execPath, program, root, script]
    if (asRoot) argv.unshift('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: home }
    const said = JSON.parse(
      execFileSync(argv[0] ?? '', argv.slice(1), { env, cwd: folder, encoding: 'utf8' }),
    )
    expect(said.probe).toMatchObject({ ok: true, problem: null })
    expect(said.output).toMatch(/\nA\n/)
    expect(said.output).not.toContain('secret')
    expect(said.output).not.toContain('root:')
    expect(statSync(join(root, 'made')).uid).toBe(asRoot ? 65534 : process.getuid?.())
    rmSync(folder, { recursive: true })
  })

  it('says what is missing and how to get it', async () => {
    const path = project.write(
      'fake/bwrap',
      '#!/bin/sh\necho "bwrap: setting up uid map: Permission denied" >&2\nexit 1\n',
    )
    chmodSync(path, 0o755)
    const context = { root: project.root, agents: [], worktrees: false }
    const probe = await bubblewrap().probe({ ...context, env: { PATH: join(project.base, 'fake') } })
    expect(probe).toMatchObject({
      ok: false,
      problem: expect.stringContaining('setting up uid map: Permission denied'),
    })
    expect(probe.fix).toMatch(/namespaces|container/)
  })
})

describe('the network of a box', () => {
  let port: number
  const server = createServer((_, response) => response.end('from outside'))
  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  const node = (code: string) => `${process.execPath} -e '${code}'`
  const raw = (host: string, to: number) =>
    node(
      `require("net").connect(${to},"${host}").on("connect",()=>{console.log("CONNECTED");process.exit()}).on("error",e=>console.log(e.code))`,
    )

  it('S1-T02 reaches allowed hosts by the proxy and nothing else, however it tries', async () => {
    const box = await project.open({ hosts: [`allowed.test:${port}`, 'rebound.test'] })
    const fetched = (url: string) => project.run(box, `curl -sS -m 5 ${url}`)
    expect((await fetched(`http://allowed.test:${port}/`)).output).toBe('from outside')
    expect((await fetched(`http://evil.test:${port}/`)).output).toContain('add evil.test')
    expect((await fetched('https://evil.test/')).output).toContain('403')
    expect((await fetched('http://rebound.test/latest/meta-data/')).output).toContain('not a public address')
    expect(project.refused.join('\n')).toMatch(/evil\.test:\d+ .*\n.*evil\.test:443 .*\n.*rebound\.test:80/)
    const tries = [
      raw('127.0.0.1', port),
      raw('93.184.216.34', 443),
      raw('169.254.169.254', 80),
      raw('evil.test', 4444),
    ]
    tries.push(
      `curl -sS -m 5 --noproxy '*' http://127.0.0.1:${port}/`,
      `curl -sS -m 5 --noproxy '*' http://allowed.test:${port}/`,
    )
    tries.push(
      node(
        'require("dgram").createSocket("udp4").send("x",53,"93.184.216.34",e=>{console.log(e?e.code:"CONNECTED");process.exit()})',
      ),
    )
    for (const script of tries) {
      const { output } = await project.run(box, script)
      expect(output).not.toMatch(/CONNECTED|from outside/)
      expect(output).toMatch(
        /ECONNREFUSED|ENETUNREACH|EAI_AGAIN|ENOTFOUND|Could not resolve|connect to|onnection refused/,
      )
    }
  })

  it('a port of this machine is at the same port inside, for those that know no proxy, if it is allowed', async () => {
    const box = await project.open({ hosts: [`localhost:${port}`] })
    for (const host of ['127.0.0.1', 'localhost'])
      expect((await project.run(box, `curl -sS -m 5 --noproxy '*' http://${host}:${port}/`)).output).toBe(
        'from outside',
      )
  })

  it('is the same where there is no Perl', async () => {
    const box = await project.open({ hosts: [`allowed.test:${port}`, `localhost:${port}`] })
    const file = project.write('project/launch.cjs', nodeLauncher)
    const ports = `31281,${port + 1}`
    // Other ports than those of the launcher around it, by the same sockets.
    const sockets = 'mkdir /tmp/s; ln -s /run/ralph/31280.sock /tmp/s/31281.sock; '
    const inner = `curl -sS -m 5 -x http://127.0.0.1:31281 http://allowed.test:${port}/; wc -c; exit 5`
    const stdin = project.write('stdin', 'x'.repeat(1024 * 1024))
    const ran = await project.run(
      box,
      `${sockets} exec ${process.execPath} ${file} /tmp/s ${ports} sh -c '${inner}'`,
      { stdin },
    )
    expect(ran).toMatchObject({ exit: 5, output: `from outside${1024 * 1024}\n` })
  })
})

describe('the home of a box', () => {
  const login = '.agent/login.json'
  const copies = [
    { path: `~/${login}`, back: true },
    { path: '.agent/settings', back: false },
  ]
  const fresh = () => {
    project.write(`home/${login}`, 'old')
    project.write('home/.agent/settings/a', 'settings')
    chmodSync(join(project.home, login), 0o600)
    return project.open({ copies })
  }
  const outside = () => project.read(`home/${login}`)

  it('holds copies for agents, and none for gates', async () => {
    const box = await fresh()
    const script = `cat ~/${login} ~/.agent/settings/a`
    expect(await project.run(box, script)).toMatchObject({ output: 'oldsettings' })
    expect(await project.run(box, script, { agent: null })).toMatchObject({ exit: 1 })
    project.write(`home/${login}`, 'newer')
    expect(await project.run(box, script)).toMatchObject({ output: 'newersettings' })
  })

  it('a renewed login comes back, settings do not, and nothing that was renewed outside is lost', async () => {
    const box = await fresh()
    await project.run(box, `echo evil > ~/.agent/settings/a; echo renewed > ~/x && mv ~/x ~/${login}`)
    expect([outside(), project.read('home/.agent/settings/a')]).toEqual(['renewed\n', 'settings'])
    expect(statSync(join(project.home, login)).mode & 0o777).toBe(0o600)
    const running = project.run(
      box,
      `touch begun; while test ! -e go; do sleep 0.02; done; echo inside > ~/${login}`,
    )
    await until(() => existsSync(join(project.root, 'begun')))
    project.write(`home/${login}`, 'renewed by the user')
    project.write('project/go', '')
    await running
    expect(outside()).toBe('renewed by the user')
  })

  it.each([
    ['a link', `ln -s SECRET ~/x && mv -T ~/x ~/${login}`],
    ['a folder that is a link', 'rm -r ~/.agent; ln -s FOLDER ~/.agent'],
    ['a pipe', `rm ~/${login}; mkfifo ~/${login}`],
    ['a folder', `rm ~/${login}; mkdir ~/${login}`],
    ['a huge file', `head -c 5000000 /dev/zero > ~/${login}`],
    ['nothing', `rm -r ~/.agent`],
  ])('%s in the place of the login is not followed', async (_, script) => {
    const box = await fresh()
    const secret = project.write('beside/login.json', 'secret')
    await project.run(box, script.replace('SECRET', secret).replace('FOLDER', join(project.base, 'beside')))
    expect(outside()).toBe('old')
  })

  it('a login elsewhere keeps its path, and a linked one is renewed where it lies', async () => {
    const real = project.write('dotfiles/auth.json', 'old')
    rmSync(join(project.home, 'linked.json'), { force: true })
    symlinkSync(real, join(project.home, 'linked.json'))
    const far = project.write('elsewhere/auth.json', 'far')
    project.write('elsewhere/other', 'secret')
    const box = await project.open({ copies: [far, '~/linked.json'].map(path => ({ path, back: true })) })
    const ran = await project.run(
      box,
      `cat ${far}; ls ${project.base}/elsewhere; echo new > ~/linked.json; echo new > ${far}.t; mv ${far}.t ${far}`,
    )
    expect(ran).toMatchObject({ exit: 0, output: 'farauth.json\n' })
    expect([readFileSync(real, 'utf8'), readFileSync(far, 'utf8')]).toEqual(['new\n', 'new\n'])
  })

  it('takes with it whatever a program left, however it locked it', async () => {
    const env = { PATH: process.env.PATH ?? '', HOME: project.home, TMPDIR: project.base }
    const left = () => readdirSync(project.base).filter(name => name.startsWith('ralph-box-'))
    const box = await project.open({ env })
    expect(left()).toHaveLength(1)
    await project.run(
      box,
      'mkdir -p ~/locked/in /tmp/locked; touch ~/locked/in/x; chmod 0 ~/locked/in ~/locked /tmp/locked',
    )
    await box.close()
    expect(left()).toEqual([])
  })
})
