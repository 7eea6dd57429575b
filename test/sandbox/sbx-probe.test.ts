import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { SandboxProbe, SandboxProbeContext } from '../../src/sandbox/sandbox.ts'
import { sbx } from '../../src/sandbox/sbx.ts'
import { callCli, cliOf } from '../../src/sandbox/sbx-cli.ts'
import { installText } from '../../src/sandbox/sbx-find.ts'
import { readListing } from '../../src/sandbox/sbx-list.ts'
import { type FakeOptions, fakeDocker, fakeSbx } from '../helpers/fake-sandbox/fake-sandbox.ts'
import { createBench, type SandboxBench } from '../helpers/fake-sandbox/sandbox-bench.ts'

let bench: SandboxBench
afterEach(() => bench.cleanup())

function probe(more: Partial<SandboxProbeContext> = {}): Promise<SandboxProbe> {
  const { root, env } = bench
  return sbx().probe({ root, agents: ['claude'], worktrees: false, env, ...more })
}

describe('H-17 finds sbx and the older plugin', () => {
  it('sbx alone', async () => {
    bench = createBench('sbx')
    expect(await probe()).toEqual({ ok: true, version: '0.42.0', problem: null, fix: null })
  })

  it('docker sandbox alone', async () => {
    bench = createBench('docker')
    expect(await probe()).toEqual({ ok: true, version: '0.12.0', problem: null, fix: null })
  })

  it('sbx before docker sandbox', async () => {
    bench = createBench('docker')
    fakeSbx(path.dirname(bench.fake.path))
    expect((await probe()).version).toBe('0.42.0')
    const box = await sbx().open(bench.policy())
    expect(box.name).toBe('sbx 0.42.0')
    expect(bench.fake.calls()).toEqual([])
  })

  it('docker sandbox where sbx is there but not signed in', async () => {
    bench = createBench('sbx', { signedIn: false })
    fakeDocker(path.dirname(bench.fake.path))
    expect(await probe()).toMatchObject({ ok: true, version: '0.12.0' })
  })
})

describe('says what is wrong and what to do', () => {
  async function refused(kind: 'sbx' | 'docker', options: FakeOptions): Promise<SandboxProbe> {
    bench = createBench(kind, options)
    const found = await probe()
    expect(found.ok).toBe(false)
    return found
  }

  it('not installed', async () => {
    bench = createBench('sbx')
    const found = await probe({ env: { ...bench.env, PATH: '/nowhere' } })
    expect(found).toMatchObject({ ok: false, problem: 'not installed' })
    expect(found.fix).toMatch(/sbx/u)
  })

  it('not signed in', async () => {
    const { problem, fix } = await refused('sbx', { signedIn: false })
    expect(problem).toMatch(/not signed in to Docker .*401/u)
    expect(fix).toBe('Run `sbx login`.')
    await expect(sbx().open(bench.policy())).rejects.toMatchObject({ name: 'UserError', fix })
  })

  it('H-17 the plugin that Docker Desktop 4.80 removed', async () => {
    const { problem, fix } = await refused('docker', { plugin: false })
    expect(problem).toMatch(/no `sandbox` command \(removed in Desktop 4\.80\)/u)
    expect(fix).toMatch(/sbx/u)
  })

  it('G-06 a machine that cannot run it is not told to install it', () => {
    const here = { platform: 'linux', arch: 'x64', kvm: true }
    expect(installText(here)).toMatch(/Install `sbx`/u)
    expect(installText({ ...here, kvm: false })).toMatch(/needs KVM .*bubblewrap or a container/u)
    expect(installText({ platform: 'darwin', arch: 'x64', kvm: false })).toMatch(/Apple silicon/u)
    expect(installText({ platform: 'darwin', arch: 'arm64', kvm: false })).toMatch(/Install `sbx`/u)
  })

  it.each(['command', 'acp', 'scripted', 'qwen'])('an agent without a template: %s', async name => {
    bench = createBench('sbx')
    const found = await probe({ agents: ['claude', name] })
    expect(found).toMatchObject({ ok: false, problem: `it has no template for the agent '${name}'` })
  })

  it('tasks in worktrees', async () => {
    bench = createBench('sbx')
    expect((await probe({ worktrees: true })).problem).toMatch(/no git in there/u)
  })

  it('a project that is a linked worktree', async () => {
    bench = createBench('sbx')
    const git = (...args: string[]) => execFileSync('git', args, { cwd: bench.root })
    git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'first')
    const linked = path.join(path.dirname(bench.root), 'linked')
    git('worktree', 'add', '-q', linked)
    expect((await probe({ root: linked })).problem).toMatch(/no git in there/u)
  })

  it('a project that is a folder of a repository', async () => {
    bench = createBench('sbx')
    const below = path.join(bench.root, 'packages/a')
    mkdirSync(below, { recursive: true })
    expect((await probe({ root: below })).ok).toBe(false)
  })

  it('several agents with the plugin, which has a copy of the files for each', async () => {
    const agents = ['claude', 'codex']
    bench = createBench('docker')
    expect((await probe({ agents })).problem).toMatch(/only one agent/u)
    await expect(sbx().open(bench.policy({ agents }))).rejects.toThrow(/only one agent/u)
    bench.cleanup()
    bench = createBench('sbx')
    expect((await probe({ agents })).ok).toBe(true)
  })

  it('a tool that is there and broken', async () => {
    bench = createBench('sbx')
    writeFileSync(path.join(bench.fake.path, 'sbx'), '#!/bin/sh\necho "ERROR: no daemon" >&2\nexit 3\n', {
      mode: 0o755,
    })
    expect(await probe()).toMatchObject({ ok: false, problem: '`sbx version` failed: ERROR: no daemon' })
  })
})

it('ends a tool that waits for somebody to sign in, and keeps what it said', async () => {
  bench = createBench('sbx')
  const waits = '#!/bin/sh\necho "Your one-time device confirmation code is: A-B"\nsleep 300\n'
  writeFileSync(path.join(bench.fake.path, 'sbx'), waits, { mode: 0o755 })
  const end = await callCli(cliOf('sbx', bench.env, bench.root), { args: ['ls'], timeout: 1_000 })
  expect(end).toMatchObject({ type: 'late', detail: expect.stringContaining('confirmation code') })
})

describe('the listing', () => {
  it('is read behind lines about a daemon that had to be started', async () => {
    bench = createBench('sbx', { daemonStopped: true })
    expect((await probe()).ok).toBe(true)
  })

  it.each([
    ['sbx', '{"sandboxes":[{"name":"a","agent":"claude","status":"running","workspaces":["/p","/q:ro"]}]}'],
    ['the plugin', '{"vms":[{"name":"a","agent":"claude","status":"running","workspaces":["/p","/q"]}]}'],
    ['early versions', '[{"name":"a","agent":"claude","status":"running","workspaces":["/p","/q"]}]'],
  ])('of %s', (_, text) => {
    bench = createBench('sbx')
    expect(readListing(text)).toEqual([
      { name: 'a', agent: 'claude', running: true, workspaces: ['/p', '/q'] },
    ])
  })

  it('of another form is no empty one', () => {
    bench = createBench('sbx')
    for (const text of ['', 'NAME STATUS', '{"machines":[]}', '{"sandboxes":[{"id":"x"}]}', '{"sandboxes":'])
      expect(readListing(text)).toBeNull()
  })
})
