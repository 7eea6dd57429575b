import { execFileSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sbx } from '../../src/sandbox/sbx.ts'
import { sandboxNames } from '../../src/sandbox/sbx-name.ts'
import { createBench, type SandboxBench } from '../helpers/fake-sandbox/sandbox-bench.ts'

let bench: SandboxBench
/** Looked at by several tests. */
let first: SandboxBench
afterEach(() => {
  if (bench !== first) bench.cleanup()
})

const open = (more = {}) => sbx({ syncTime: 0 }).open(bench.policy(more))

/** A call of the tool itself, as a user makes it. */
function tool(...args: string[]): string {
  const [program = '', ...rest] = [
    ...(bench.fake.calls()[0]?.program === 'sbx' ? ['sbx'] : ['docker', 'sandbox']),
  ]
  return execFileSync(program, [...rest, ...args], { env: bench.env, encoding: 'utf8' })
}

describe('docker sandbox, made for the first time', () => {
  let name: string
  let state: string
  beforeAll(async () => {
    bench = first = createBench('docker')
    name = sandboxNames('docker', bench.root, 'claude')[0]
    state = path.join(bench.home, '.dclaude_state')
    await open()
  })
  afterAll(() => first.cleanup())

  it('S1-40 S1-44 creates it from the stock template, with the project and the state folder', () => {
    expect(bench.fake.called('create')).toEqual([['--name', name, 'claude', bench.root, state]])
  })

  it("S1-41 leads the agent's login to the state folder, as root", () => {
    const [root] = bench.fake.called('exec')
    expect(root?.slice(0, 5)).toEqual(['-u', 'root', name, 'bash', '-c'])
    expect(readlinkSync(bench.fake.home(name, '.claude'))).toBe(path.join(state, '.claude'))
    expect(readlinkSync(bench.fake.home(name, '.claude.json'))).toBe(path.join(state, '.claude.json'))
    expect(root?.[5]).toContain('chown -h agent:agent /home/agent/.claude /home/agent/.claude.json')
  })

  it('S1-46 H-15 makes the state folder in the real home, with a file that is JSON', () => {
    expect(readFileSync(path.join(state, '.claude.json'), 'utf8').trim()).toBe('{}')
    expect(statSync(path.join(state, '.claude')).isDirectory()).toBe(true)
    const told = bench.fake
      .calls()
      .flatMap(call => call.args)
      .join('\n')
    expect(told).not.toContain('/Users/')
    expect(readFileSync(bench.fake.home(name, '.claude.json'), 'utf8').trim()).toBe('{}')
  })
})

describe('docker sandbox', () => {
  let name: string
  let state: string
  beforeEach(() => {
    bench = createBench('docker')
    name = sandboxNames('docker', bench.root, 'claude')[0]
    state = path.join(bench.home, '.dclaude_state')
  })

  it('S1-41 takes away what the template has there', async () => {
    await open()
    tool('exec', name, 'sh', '-c', 'rm "$HOME/.claude" && mkdir "$HOME/.claude" && touch "$HOME/.claude/x"')
    execFileSync('rm', ['-r', path.join(bench.ralph, 'sandboxes')])
    await open()
    expect(lstatSync(bench.fake.home(name, '.claude')).isSymbolicLink()).toBe(true)
  })

  it.each([
    ['', ''],
    ['Ralph', 'ralph@localhost'],
  ])('S1-42 tells git who commits: ralph@localhost, Ralph Loop (%s)', async (who, email) => {
    await open({ identity: { name: who, email } })
    const config = readFileSync(bench.fake.home(name, '.gitconfig'), 'utf8')
    expect(config).toMatch(/email = ralph@localhost/u)
    expect(config).toMatch(/name = Ralph Loop/u)
    expect(bench.fake.called('exec')[1]?.[0]).toBe(name)
  })

  it('tells git who the user is where that is known, whatever his name looks like', async () => {
    await open({ identity: { name: `O'Neil "x" $(touch y)`, email: 'me@example.com' } })
    const config = readFileSync(bench.fake.home(name, '.gitconfig'), 'utf8')
    expect(config).toContain('me@example.com')
    expect(config).toContain(`O'Neil \\"x\\" $(touch y)`)
  })

  it('S1-46 mends an empty file and leaves one with a login alone', async () => {
    mkdirSync(state)
    const file = path.join(state, '.claude.json')
    writeFileSync(file, '')
    await open()
    expect(readFileSync(file, 'utf8').trim()).toBe('{}')
    writeFileSync(file, '{"login":1}')
    await open()
    expect(readFileSync(file, 'utf8')).toBe('{"login":1}')
    writeFileSync(file, '{"login":')
    await expect(open()).rejects.toThrow(/is not JSON/u)
  })

  it('S1-16 uses it again without doing anything again', async () => {
    const first = await open()
    await first.close()
    const before = bench.fake.calls().length
    const second = await open()
    const more = bench.fake.calls().slice(before)
    // The search for the tool, and the listing.
    expect(more.map(call => call.args[1])).toEqual(['version', 'ls', 'ls'])
    await second.close()
    expect(bench.fake.machines()).toHaveLength(1)
  })

  it('sets up what an engine left that died after the creation', async () => {
    mkdirSync(path.join(state, '.claude'), { recursive: true })
    execFileSync('docker', ['sandbox', 'create', '--name', name, 'claude', bench.root, state], {
      env: bench.env,
    })
    await open()
    expect(bench.fake.called('create')).toHaveLength(1)
    expect(existsSync(bench.fake.home(name, '.gitconfig'))).toBe(true)
  })

  it('S1-T01 after a removal it is made and set up again, and the login is still there', async () => {
    const box = await open()
    const entered = await box.enter(
      bench.program({ argv: ['sh', '-c', 'echo token > "$HOME/.claude/login"'], cwd: bench.root }),
    )
    execFileSync(entered.argv[0], entered.argv.slice(1), { env: entered.env, cwd: entered.cwd })
    await box.close()
    tool('rm', name)
    expect(bench.fake.machines()).toEqual([])
    await open()
    expect(readFileSync(bench.fake.home(name, '.claude/login'), 'utf8')).toBe('token\n')
    expect(bench.fake.called('create')).toHaveLength(2)
    expect(readFileSync(bench.fake.home(name, '.gitconfig'), 'utf8')).toMatch(/Ralph Loop/u)
  })

  it('H-14 takes no sandbox whose name only begins with its own, not even one of the same folder', async () => {
    const docker = (...args: string[]) => execFileSync('docker', ['sandbox', ...args], { env: bench.env })
    docker('create', '--name', `${name}b`, 'claude', bench.root)
    await open()
    expect(bench.fake.machines().map(one => one.name)).toEqual([name, `${name}b`].sort())
    expect(bench.fake.called('exec').flat()).not.toContain(`${name}b`)
    docker('rm', name)
    await open()
    expect(bench.fake.machines().map(one => one.name)).toEqual([name, `${name}b`].sort())
  })

  it('takes no sandbox of the same name that belongs to another folder or another agent', async () => {
    bench.cleanup()
    bench = createBench('docker', { project: 'my/project' })
    name = sandboxNames('docker', bench.root, 'claude')[0]
    const other = bench.root.replace(/\/project$/u, '_project')
    mkdirSync(other)
    execFileSync('docker', ['sandbox', 'create', '--name', name, 'claude', other], { env: bench.env })
    await open()
    const [, apart] = sandboxNames('docker', bench.root, 'claude')
    expect(bench.fake.machines().find(one => one.name === apart)?.workspaces[0]).toBe(bench.root)
    await open({ agents: ['codex'] })
    const codex = bench.fake.machines().find(one => one.agent === 'codex')
    expect(codex?.name).toBe(sandboxNames('docker', bench.root, 'codex')[1])
  })

  it('has no state folder for an agent whose login the proxy knows', async () => {
    await open({ agents: ['gemini'] })
    expect(bench.fake.called('create')).toEqual([['--name', name, 'gemini', bench.root]])
    expect(existsSync(state)).toBe(false)
  })

  it('goes on with another name where the first is refused for its dot', async () => {
    bench.cleanup()
    bench = createBench('docker', { refusesDots: true, project: 'my.project' })
    await open()
    expect(bench.fake.machines().map(one => one.name)).toEqual([
      sandboxNames('docker', bench.root, 'claude')[1],
    ])
    await open()
    expect(bench.fake.called('create')).toHaveLength(2)
  })

  it('denies the network but for the hosts of the policy, and only when they change', async () => {
    const box = await open({ hosts: ['api.anthropic.com', '*.example.com:8443'] })
    const call = ['proxy', name, '--policy', 'deny']
    const allowed = ['*.example.com:8443', 'api.anthropic.com:443', 'api.anthropic.com:80']
    expect(bench.fake.called('network')).toEqual([
      [...call, ...allowed.flatMap(host => ['--allow-host', host])],
    ])
    expect(box.allows).toMatch(/network: api\.anthropic\.com, \*\.example\.com:8443$/u)
    await box.close()
    await open({ hosts: ['*.example.com:8443', 'api.anthropic.com'] })
    expect(bench.fake.called('network')).toHaveLength(1)
    await open({ hosts: ['api.anthropic.com'] })
    expect(bench.fake.called('network')[1]).toEqual([...call, '--block-host', '*.example.com:8443'])
  })

  it('denies the network altogether where no host is named', async () => {
    await open()
    expect(bench.fake.machines()[0]).toMatchObject({ policy: 'deny', allowed: [] })
  })

  it('mounts further folders, and says so when they change, for a sandbox keeps what it was made with', async () => {
    const data = path.join(bench.home, 'data')
    const tools = path.join(bench.home, 'tools')
    for (const folder of [data, tools]) mkdirSync(folder)
    const box = await open({ writes: ['~/data', '~/gone'], reads: [tools] })
    expect(bench.fake.called('create')[0]?.slice(3)).toEqual([bench.root, state, data, `${tools}:ro`])
    expect(box.allows).toContain(`reads ${tools}`)
    await expect(open()).rejects.toMatchObject({
      name: 'UserError',
      fix: expect.stringContaining(`rm ${name}`),
    })
  })

  it('starts one anew that still runs, for the files may have changed outside', async () => {
    await open()
    await open()
    expect(bench.fake.called('stop')).toEqual([[name]])
  })

  it('starts a stopped one by run where exec does not', async () => {
    bench.fake.configure({ execStarts: false })
    await open()
    await open()
    expect(bench.fake.called('run')).toEqual([['-d', name]])
    expect(bench.fake.machines()[0]?.status).toBe('running')
  })
})

describe('sbx', () => {
  let name: string
  beforeEach(() => {
    bench = createBench('sbx', { project: 'my_project' })
    name = sandboxNames('sbx', bench.root, 'claude')[0]
  })

  it('creates it in its own way and leaves the login to `sbx secret`', async () => {
    await open()
    expect(bench.fake.called('create').at(-1)).toEqual(['--name', name, 'claude', bench.root])
    expect(existsSync(path.join(bench.home, '.dclaude_state'))).toBe(false)
    expect(bench.fake.called('exec').map(args => args[0])).toEqual([name])
    expect(readFileSync(bench.fake.home(name, '.gitconfig'), 'utf8')).toMatch(/Ralph Loop/u)
  })

  it('keeps out of the folder of skills that all sandboxes write to, where the version knows it', async () => {
    bench.fake.configure({ sharesSkills: true })
    await open()
    expect(bench.fake.called('create').at(-1)?.slice(2, 4)).toEqual(['--no-share-skills', 'claude'])
  })

  it('S1-16 uses it again without doing anything again, even while it runs', async () => {
    await open()
    const before = bench.fake.calls().length
    await open()
    expect(
      bench.fake
        .calls()
        .slice(before)
        .map(call => call.args[0]),
    ).toEqual(['version', 'ls', 'ls'])
  })

  it('stops it first when an engine was cut off', async () => {
    await open()
    await open({ cutOff: true })
    expect(bench.fake.called('stop')).toEqual([[name]])
    await open({ cutOff: true })
    expect(bench.fake.called('stop'), 'it is stopped already').toHaveLength(1)
  })

  it('has one for each agent, and gates in that of the first', async () => {
    const box = await open({ agents: ['claude', 'codex', 'claude'] })
    const [, codex] = sandboxNames('sbx', bench.root, 'codex')
    expect(bench.fake.machines().map(({ name, agent }) => [name, agent])).toEqual([
      [name, 'claude'],
      [codex, 'codex'],
    ])
    const gate = await box.enter(bench.program())
    const agent = await box.enter(bench.program({ argv: ['codex', 'exec'], agent: 'codex' }))
    expect(gate.argv).toContain(name)
    expect(agent.argv).toContain(codex)
    await expect(box.enter(bench.program({ agent: 'gemini' }))).rejects.toThrow(
      /no sandbox for the agent 'gemini'/u,
    )
    await box.close()
    expect(bench.fake.machines().map(one => one.status)).toEqual(['stopped', 'stopped'])
  })

  it('allows hosts to this sandbox alone, and takes back what is no longer named', async () => {
    await open({ hosts: ['a.example', 'b.example:22'] })
    expect(bench.fake.called('policy')).toEqual([
      ['allow', 'network', '--sandbox', name, 'a.example:443,a.example:80,b.example:22'],
    ])
    await open({ hosts: ['a.example', 'b.example:22'] })
    expect(bench.fake.called('policy')).toHaveLength(1)
    await open({ hosts: ['a.example'] })
    expect(bench.fake.called('policy').at(-1)).toEqual([
      'rm',
      'network',
      '--sandbox',
      name,
      '--resource',
      'b.example:22',
    ])
    expect(bench.fake.machines()[0]?.allowed).toEqual(['a.example:443', 'a.example:80'])
  })

  it('says how to choose a policy where nobody has', async () => {
    bench.fake.configure({ policyChosen: false })
    await expect(open()).rejects.toMatchObject({
      name: 'UserError',
      fix: 'Run `sbx policy init balanced` once.',
    })
  })

  it('hands on neither the SSH agent nor anything else of the environment, and sends no telemetry', async () => {
    const env = { ...bench.env, SSH_AUTH_SOCK: '/tmp/agent.sock', MY_TOKEN: 'x', DOCKER_HOST: 'unix:///x' }
    const box = await open({ env })
    const entered = await box.enter(bench.program())
    for (const one of [...bench.fake.calls().map(call => call.env), entered.env]) {
      expect(one).toMatchObject({ SBX_NO_TELEMETRY: '1', DOCKER_HOST: 'unix:///x', HOME: bench.home })
      expect(one).not.toHaveProperty('SSH_AUTH_SOCK')
      expect(one).not.toHaveProperty('MY_TOKEN')
    }
  })
})
