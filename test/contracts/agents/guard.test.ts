import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AgentCommand, AgentRequest } from '../../../src/agents/agent.ts'
import { isSystemFile } from '../../../src/agents/gemini-guard.ts'
import { guardFile, guardLine } from '../../../src/agents/guard.ts'
import { agentNames, cliNames, findAgent } from '../../../src/agents/registry.ts'
import { useFolder } from './play.ts'
import { aRequest } from './starting.ts'

const folder = useFolder()
const guard = { node: '/opt/node', hook: "/opt/it's here/guard-hook.js" }
const line = "'/opt/node' '/opt/it'\\''s here/guard-hook.js' || exit 2"
const variables = { RALPH_GUARD_NODE: guard.node, RALPH_GUARD_HOOK: guard.hook }

async function commandOf(name: string, rest: Partial<AgentRequest> = {}): Promise<AgentCommand> {
  const agent = await findAgent(name, { command: 'true', script: 's.yaml', program: 'program' })
  return agent.command(aRequest(rest))
}

describe.each(cliNames)('%s: the guard', name => {
  it('changes how it is started only when it is asked for, and leaves the user’s words the last', async () => {
    const plain = await commandOf(name)
    const guarded = await commandOf(name, { guard, extraArgs: ['--mine', 'last'] })
    expect(JSON.stringify(plain)).not.toMatch(/guard|hook/iu)
    expect(JSON.stringify(guarded)).toContain('guard')
    expect(guarded.argv.slice(-2)).toEqual(['--mine', 'last'])
    expect(await commandOf(name, { guard, extraArgs: ['--mine', 'last'] })).toEqual(guarded)
  })

  it('is there for a reviewer too', async () => {
    expect(JSON.stringify(await commandOf(name, { guard, readOnly: true }))).toContain('guard')
  })
})

describe('the guard', () => {
  it('claude: is a setting that no other file can switch off, unless the user brings settings of his own', async () => {
    const { argv } = await commandOf('claude', { guard })
    expect(JSON.parse(argv[argv.indexOf('--settings') + 1] ?? '')).toEqual({
      disableAllHooks: false,
      hooks: {
        PreToolUse: [
          { matcher: expect.any(String), hooks: [{ type: 'command', command: line, timeout: 60 }] },
        ],
      },
    })
    for (const own of [['--settings', '{}'], ['--settings={}']]) {
      const { argv: both, env } = await commandOf('claude', { guard, extraArgs: own })
      expect(both.filter(word => word.startsWith('--settings'))).toHaveLength(1)
      expect(both[both.indexOf('--plugin-dir') + 1]).toBe(guardFile())
      expect(env).toMatchObject(variables)
    }
  })

  it('claude: sees every tool but those that can do no harm', async () => {
    const { argv } = await commandOf('claude', { guard })
    const settings = JSON.parse(argv[argv.indexOf('--settings') + 1] ?? '') as {
      hooks: { PreToolUse: [{ matcher: string }] }
    }
    const matcher = new RegExp(settings.hooks.PreToolUse[0].matcher, 'u')
    for (const tool of ['Bash', 'Write', 'Edit', 'NotebookEdit', 'Read', 'Grep', 'mcp__x__run', 'GlobAll'])
      expect(matcher.test(tool), tool).toBe(true)
    for (const tool of ['Glob', 'TodoWrite']) expect(matcher.test(tool), tool).toBe(false)
  })

  it('codex: is one more hook of this call', async () => {
    const { argv } = await commandOf('codex', { guard })
    expect(argv).toContain('--dangerously-bypass-hook-trust')
    expect(argv).toContain(
      `hooks.PreToolUse=[{hooks=[{type="command",command=${JSON.stringify(line)},timeout=60}]}]`,
    )
  })

  it('copilot: is a plugin', async () => {
    const { argv, env } = await commandOf('copilot', { guard })
    expect(argv[argv.indexOf('--plugin-dir') + 1]).toBe(guardFile())
    expect(env).toMatchObject(variables)
  })

  it('gemini: takes the place of the system’s settings, unless somebody has some', async () => {
    const alone = (await commandOf('gemini', { guard })).env
    expect(alone).toMatchObject(variables)
    const places = ['GEMINI_CLI_SYSTEM_SETTINGS_PATH', 'GEMINI_CLI_SYSTEM_DEFAULTS_PATH']
    expect(places.map(place => alone[place]).filter(Boolean)).toEqual([guardFile('gemini-settings.json')])
    const own = { GEMINI_CLI_SYSTEM_SETTINGS_PATH: '/etc/own.json' }
    expect((await commandOf('gemini', { guard, env: own })).env).toMatchObject({
      ...own,
      GEMINI_CLI_SYSTEM_DEFAULTS_PATH: guardFile('gemini-settings.json'),
    })
  })

  it('gemini: is promised only where its settings are root’s alone, for it takes no others', async () => {
    const file = path.join(folder(), 'settings.json')
    writeFileSync(file, '{}')
    expect(isSystemFile(file)).toBe(false)
    expect(isSystemFile('/usr/bin/env')).toBe(true)
    expect(isSystemFile('/no/such/file')).toBe(false)
    expect((await findAgent('gemini')).can.guard).toBe(isSystemFile(guardFile('gemini-settings.json')))
  })

  it('opencode: is one more plugin in the configuration of the user', async () => {
    const own = { model: 'a/b', plugin: ['mine'] }
    const { env } = await commandOf('opencode', {
      guard,
      env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(own) },
    })
    expect(JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '')).toEqual({
      model: 'a/b',
      plugin: ['mine', `file://${guardFile('opencode.js')}`],
    })
    expect(env).toMatchObject(variables)
  })

  it('opencode: is not left out without a word', async () => {
    await expect(
      commandOf('opencode', { guard, env: { OPENCODE_CONFIG_CONTENT: '{ // mine\n}' } }),
    ).rejects.toMatchObject({
      name: 'UserError',
    })
    await expect(commandOf('opencode', { guard, env: { OPENCODE_PURE: '1' } })).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringContaining('OPENCODE_PURE'),
    })
  })

  it('is promised by no agent that does not ask it', async () => {
    for (const name of agentNames.filter(one => !cliNames.includes(one))) {
      const agent = await findAgent(name, { command: 'true', script: 's.yaml', program: 'program' })
      expect(agent.can.guard, name).toBe(false)
      expect(await commandOf(name, { guard })).toEqual(await commandOf(name))
    }
  })
})

describe('guardLine', () => {
  it.each([
    ['process.exit(0)', 0],
    ['process.exit(1)', 2],
    ['process.exit(2)', 2],
    ['process.kill(process.pid, "SIGKILL")', 2],
    ['throw new Error("x")', 2],
  ])('of a hook that does %s ends with %i', (text, code) => {
    const hook = path.join(folder(), "it's a hook.cjs")
    writeFileSync(hook, text)
    let status = 0
    try {
      execFileSync('sh', ['-c', guardLine({ node: process.execPath, hook })], { stdio: 'ignore' })
    } catch (error) {
      status = (error as { status: number }).status
    }
    expect(status).toBe(code)
  })
})

describe('plugin/guard', () => {
  it('asks the guard by its variables, and refuses everything without them', () => {
    for (const name of ['hooks/hooks.json', 'gemini-settings.json']) {
      const text = readFileSync(guardFile(name), 'utf8')
      const [command] = [...JSON.stringify(JSON.parse(text)).matchAll(/"command":("(?:[^"\\]|\\.)*")/gu)]
      const line = JSON.parse(command?.[1] ?? '') as string
      let status = 0
      try {
        execFileSync('sh', ['-c', line], { stdio: 'ignore', env: { PATH: process.env.PATH } })
      } catch (error) {
        status = (error as { status: number }).status
      }
      expect(status, name).toBe(2)
    }
    expect(existsSync(guardFile('.claude-plugin/plugin.json'))).toBe(true)
  })
})
