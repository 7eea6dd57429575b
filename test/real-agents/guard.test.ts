import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { isSystemFile } from '../../src/agents/gemini-guard.ts'
import { guardFile } from '../../src/agents/guard.ts'
import { cliNames, findAgent } from '../../src/agents/registry.ts'
import { program } from '../helpers/ralph.ts'
import type { Answer } from '../model-server/scenario.ts'
import { claude, codex, copilot, gemini, opencode, type RealCli } from './clis.ts'
import { type AttemptOptions, type Stand, useStands } from './direct.ts'

const stands = useStands()

/** The real guard, with a note of what it was asked. */
const guardHook = path.join(path.dirname(program), 'guard-hook.js')
const noting = `
const { appendFileSync, readFileSync } = require('node:fs')
const input = readFileSync(0, 'utf8')
appendFileSync(__dirname + '/calls.jsonl', input.trim() + '\\n')
const { spawnSync } = require('node:child_process')
process.exitCode = spawnSync(process.execPath, [${JSON.stringify(guardHook)}], { input, stdio: ['pipe', 'inherit', 'inherit'] }).status ?? 1
`

const cache = fileURLToPath(new URL('../../.cache', import.meta.url))

type Guarded = Stand & { canary: string; hook: string; calls(): Call[] }
type Call = { tool_name: string; tool_input: unknown }

function guarded(cli: RealCli): Guarded {
  const stand = stands(cli)
  const base = path.dirname(stand.root)
  const hook = path.join(base, "it's a guard.cjs")
  writeFileSync(hook, noting)
  const canary = path.join(stand.home, 'ralph-canary')
  mkdirSync(canary)
  const log = path.join(base, 'calls.jsonl')
  const calls = () =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .trim()
          .split('\n')
          .map(line => JSON.parse(line) as Call)
      : []
  return { ...stand, canary, hook, calls }
}

/** Something dangerous, something harmless, a look, the end. */
const turns = (root: string): Answer[] => [
  { text: 'I clean up.', tools: [{ shell: 'rm -rf "$HOME/ralph-canary"' }] },
  { text: 'I work.', tools: [{ shell: 'echo harmless > ran.txt' }] },
  { text: 'I write.', tools: [{ write: { path: `${root}/written.txt`, content: 'x' } }] },
  { text: 'I look.', tools: [{ read: `${root}/written.txt` }] },
  { text: 'All done.' },
]

async function expectHeld(stand: Guarded, more: AttemptOptions = {}): Promise<void> {
  const guard = { node: process.execPath, hook: stand.hook }
  const attempt = await stand.attempt(turns(stand.root), { ...more, request: { ...more.request, guard } })
  const { report, asked, ...rest } = attempt
  const said = JSON.stringify({ report, calls: stand.calls(), events: rest.events }, null, 1)
  expect(existsSync(stand.canary), said).toBe(true)
  expect(asked, said).toContain('Ralph’s command guard')
  expect(existsSync(path.join(stand.root, 'ran.txt')), said).toBe(true)
  expect(existsSync(path.join(stand.root, 'written.txt')), said).toBe(true)
  expect(report, said).toMatchObject({ message: 'All done.', fault: null })
}

/** Gemini takes its guard only from files that are root's alone, so not from everybody's checkout. */
const geminiToo = isSystemFile(guardFile('gemini-settings.json'))

it('is there for each of the five, but for Gemini only where its files are root’s', async () => {
  const able = await Promise.all(
    cliNames.map(async name => ((await findAgent(name)).can.guard ? [name] : [])),
  )
  expect(able.flat()).toEqual(cliNames.filter(name => name !== 'gemini' || geminiToo))
})

describe.each([claude, codex, copilot, ...(geminiToo ? [gemini] : []), opencode])('$name: the guard', cli => {
  it('S1-14 refuses a dangerous command and tells the model why; what is harmless goes on', async () => {
    const stand = guarded(cli)
    await expectHeld(stand)
    const names = stand.calls().map(call => call.tool_name)
    expect(names.slice(0, 2)).toEqual(Array(2).fill(shellOf[cli.name]))
  })

  it('S1-14 lets nothing through when the hook itself is broken', async () => {
    const stand = guarded(cli)
    const guard = { node: process.execPath, hook: path.join(stand.home, 'no-such-hook.js') }
    const { report } = await stand.attempt(turns(stand.root), { request: { guard } })
    expect(existsSync(stand.canary), JSON.stringify(report)).toBe(true)
    expect(existsSync(path.join(stand.root, 'ran.txt'))).toBe(false)
    expect(existsSync(path.join(stand.root, 'written.txt'))).toBe(false)
    expect(report.message).toBe('All done.')
  })
})

const shellOf: Record<string, string> = {
  claude: 'Bash',
  codex: 'Bash',
  copilot: 'Bash',
  gemini: 'run_shell_command',
  opencode: 'bash',
}

const put = (file: string, value: unknown) => {
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value))
}
const touch = (stand: Guarded) => ({ type: 'command', command: `touch '${stand.home}/own-hook-ran'` })
const ownRan = (stand: Guarded) => existsSync(path.join(stand.home, 'own-hook-ran'))

describe('the guard next to settings of others', () => {
  it('claude: holds with settings among the arguments, and these hold as well', async () => {
    const stand = guarded(claude)
    const own = JSON.stringify({ hooks: { PreToolUse: [{ hooks: [touch(stand)] }] } })
    await expectHeld(stand, { request: { extraArgs: ['--settings', own] } })
    expect(ownRan(stand)).toBe(true)
  })

  it('claude: is not switched off by the project, nor by a hook of the user that allows all', async () => {
    const stand = guarded(claude)
    put(path.join(stand.root, '.claude/settings.json'), { disableAllHooks: true })
    const allow = { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow' } }
    const hook = { type: 'command', command: `echo '${JSON.stringify(allow)}'` }
    put(path.join(stand.home, '.claude/settings.json'), { hooks: { PreToolUse: [{ hooks: [hook] }] } })
    await expectHeld(stand)
  })

  it('codex: hooks of the user go on', async () => {
    const stand = guarded(codex)
    put(path.join(stand.home, '.codex/hooks.json'), { hooks: { PreToolUse: [{ hooks: [touch(stand)] }] } })
    await expectHeld(stand)
    expect(ownRan(stand)).toBe(true)
  })

  it('copilot: holds next to another plugin', async () => {
    const stand = guarded(copilot)
    const plugin = path.join(stand.home, 'own-plugin')
    put(path.join(plugin, '.claude-plugin/plugin.json'), { name: 'own', version: '1.0.0' })
    put(path.join(plugin, 'hooks/hooks.json'), { hooks: { PreToolUse: [{ hooks: [touch(stand)] }] } })
    await expectHeld(stand, { request: { extraArgs: ['--plugin-dir', plugin] } })
    expect(ownRan(stand)).toBe(true)
  })

  it('opencode: plugins of the user go on', async () => {
    const stand = guarded(opencode)
    const plugin = path.join(stand.home, 'own-plugin.js')
    const ran = JSON.stringify(path.join(stand.home, 'own-hook-ran'))
    put(
      plugin,
      `import fs from 'node:fs'\nexport const Own = async () => (fs.writeFileSync(${ran}, ''), {})\n`,
    )
    put(path.join(stand.home, '.config/opencode/opencode.json'), { plugin: [`file://${plugin}`] })
    await expectHeld(stand)
    expect(ownRan(stand)).toBe(true)
  })
})

if (geminiToo) {
  describe('the guard next to settings of others', () => {
    it('gemini: is not switched off by the project; hooks of the user go on', async () => {
      const stand = guarded(gemini)
      put(path.join(stand.root, '.gemini/settings.json'), { hooksConfig: { enabled: false } })
      const file = path.join(stand.home, '.gemini/settings.json')
      const settings = JSON.parse(readFileSync(file, 'utf8')) as object
      put(file, { ...settings, hooks: { BeforeTool: [{ matcher: '.*', hooks: [touch(stand)] }] } })
      await expectHeld(stand)
      expect(ownRan(stand)).toBe(true)
    })

    it('gemini: holds where an administrator has settings, and these hold as well', async () => {
      const stand = guarded(gemini)
      // Not below the folder for temporary files: it must be nobody's but root's.
      const folder = mkdtempSync(path.join(cache, 'system-'))
      try {
        const file = path.join(folder, 'system.json')
        put(file, { hooks: { BeforeTool: [{ matcher: '.*', hooks: [touch(stand)] }] } })
        await expectHeld(stand, { env: { GEMINI_CLI_SYSTEM_SETTINGS_PATH: file } })
        expect(ownRan(stand)).toBe(true)
      } finally {
        rmSync(folder, { recursive: true })
      }
    })
  })
}
