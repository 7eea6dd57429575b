import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProject, environment, program, ralph, type TestProject } from '../helpers/ralph.ts'

/** The built hook, as an agent’s CLI starts it. Only judged, never run: no command here reaches a shell. */
const hook = path.join(path.dirname(program), 'guard-hook.js')

let project: TestProject

beforeAll(() => {
  project = createProject({ 'src/a.ts': '' })
  mkdirSync(path.join(project.root, '.ralph'))
  symlinkSync('.ralph', path.join(project.root, 'link'))
})
afterAll(() => project.cleanup())

function asked(input: string, env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [hook], {
    cwd: project.root,
    input,
    encoding: 'utf8',
    env: { ...environment(project.home), ...env },
  })
  return { status, stdout, stderr }
}

const call = (tool_name: string, tool_input: unknown, cwd = project.root) =>
  JSON.stringify({ hook_event_name: 'PreToolUse', cwd, tool_name, tool_input })

describe('guard-hook.js', () => {
  it('S1-51 denies and allows', () => {
    const denied = asked(call('Bash', { command: 'rm -rf "$HOME/x"' }))
    expect(denied).toMatchObject({ status: 0, stderr: '' })
    expect(JSON.parse(denied.stdout).hookSpecificOutput).toMatchObject({ permissionDecision: 'deny' })
    expect(asked(call('Bash', { command: 'rm -rf dist && npm test' }))).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    })
    expect(asked(call('Write', { file_path: `${project.root}/src/a.ts` }))).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    })
  })

  it('follows links on the disk', () => {
    expect(asked(call('Write', { file_path: `${project.root}/link/ralph.db` })).stdout).toContain(
      'guard-tamper',
    )
  })

  it('the workspace is what Ralph says, not where the agent happens to be', () => {
    const input = call('Bash', { command: 'rm -rf ../dist' }, path.join(project.root, 'src'))
    expect(asked(input, { RALPH_WORKSPACE: project.root }).stdout).toBe('')
    const home = call('Write', { file_path: `${project.home}/x` })
    expect(asked(home, { CLAUDE_PROJECT_DIR: project.root }).stdout).toContain('outside-write')
    expect(asked(home, { CLAUDE_PROJECT_DIR: project.home }).stdout).toBe('')
    expect(asked(home, { CLAUDE_PROJECT_DIR: project.home, RALPH_WORKSPACE: project.root }).stdout).toContain(
      'outside-write',
    )
  })

  it.each([
    '',
    'no json',
    '[]',
    '{}',
    '{"tool_name":"Bash"}',
    '{"tool_name":"Bash","tool_input":{"command":"rm',
  ])('H-13 refuses with code 2 what it cannot read: %j', input => {
    const { status, stdout, stderr } = asked(input)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toMatch(/^Ralph’s command guard: .*refused\.\n$/su)
  })

  it('is one file that needs nothing but Node', () => {
    const alone = path.join(project.home, 'alone')
    mkdirSync(alone)
    for (const name of ['guard-hook.js', 'package.json'])
      copyFileSync(path.join(path.dirname(hook), name), path.join(alone, name))
    const { status, stdout } = spawnSync(process.execPath, [path.join(alone, 'guard-hook.js')], {
      cwd: project.root,
      input: call('Bash', { command: 'sudo ls' }),
      encoding: 'utf8',
      env: environment(project.home),
    })
    expect(status).toBe(0)
    expect(JSON.parse(stdout).hookSpecificOutput.permissionDecision).toBe('deny')
  })
})

describe('ralph guard', () => {
  it('judges a command and says so by its exit code', async () => {
    expect(await ralph(project, ['guard', 'rm -rf dist'])).toEqual({
      code: 0,
      stdout: 'allowed\n',
      stderr: '',
    })
    const denied = await ralph(project, ['guard', 'rm -rf /'])
    expect(denied).toMatchObject({ code: 1, stderr: '' })
    expect(denied.stdout).toMatch(/^denied \(fs-destroy\): rm would delete \/.*\.\n {2}in: rm -rf \/\n$/u)
  })

  it('prints JSON', async () => {
    const { code, stdout } = await ralph(project, ['guard', '--json', 'git push -f'])
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toEqual({
      verdict: 'deny',
      category: 'git-force-push',
      reason: expect.any(String),
      part: 'git push -f',
    })
    expect(JSON.parse((await ralph(project, ['guard', 'ls', '--json'])).stdout)).toEqual({ verdict: 'allow' })
  })

  it('lists what is denied', async () => {
    const { code, stdout } = await ralph(project, ['guard', '--list'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^fs-destroy: .+\n {2}denied {3}rm -rf \/\n/u)
    const list = JSON.parse((await ralph(project, ['guard', '--list', '--json'])).stdout) as unknown[]
    expect(list.length).toBeGreaterThanOrEqual(18)
  })

  it('is the hook as well', async () => {
    const denied = await ralph(project, ['guard', '--hook'], { input: call('Bash', { command: 'sudo ls' }) })
    expect(JSON.parse(denied.stdout).hookSpecificOutput.permissionDecision).toBe('deny')
    expect(await ralph(project, ['guard', '--hook'], { input: 'no json' })).toMatchObject({
      code: 2,
      stdout: '',
    })
  })

  it('wants exactly one thing to do', async () => {
    for (const args of [['guard'], ['guard', 'ls', '--list'], ['guard', '--list', '--hook']])
      expect(await ralph(project, args)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('ralph guard --list'),
      })
  })
})
