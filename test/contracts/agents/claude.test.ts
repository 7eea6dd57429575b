import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AgentRequest } from '../../../src/agents/agent.ts'
import { claude } from '../../../src/agents/claude.ts'
import { classify } from '../../../src/core/fault.ts'
import { type Usage, unknownUsage } from '../../../src/core/outcome.ts'
import { type Act, agentContract } from './agent-contract.ts'
import { useScriptedProgram } from './bundle-scripted.ts'
import { noon, useFolder } from './play.ts'
import { writeScript } from './scripted-acts.ts'

const program = useScriptedProgram()

agentContract({
  name: 'claude',
  acting: async (act, folder) => claude({ program: shim(folder, writeScript(folder, claudeSteps(act))) }),
  missing: async folder => claude({ program: path.join(folder, 'no-such-claude') }),
  reportsUsage: true,
})

/** A program named like the real one that prints what the real one would: the scripted agent in its clothes. */
function shim(folder: string, script: string): string {
  const file = path.join(folder, 'claude')
  writeFileSync(
    file,
    `#!/bin/sh\n[ "$1" = --version ] && exec echo '2.1.325 (Claude Code)'\nexec '${process.execPath}' '${program()}' '${script}' "$@"\n`,
  )
  chmodSync(file, 0o755)
  return file
}

const failures = {
  limit: {
    is_error: true,
    api_error_status: 429,
    terminal_reason: 'api_error',
    result: "You've hit your limit · resets 3am (UTC)",
  },
  outage: {
    is_error: true,
    api_error_status: 529,
    terminal_reason: 'api_error',
    result: 'API Error: 529 Overloaded.',
  },
  login: {
    is_error: true,
    api_error_status: null,
    terminal_reason: 'api_error',
    result: 'Not logged in · Please run /login',
  },
}

function claudeSteps(act: Act): unknown[] {
  const said = (text: string) => ({
    json: { type: 'assistant', message: { model: 'm', content: [{ type: 'text', text }] } },
  })
  const ended = (fields: object) => ({
    json: {
      session_id: 's',
      ...usageFields(act),
      subtype: 'success',
      is_error: false,
      ...fields,
      type: 'result',
    },
  })
  return [
    {
      json: {
        type: 'system',
        subtype: 'init',
        permissionMode: 'bypassPermissions',
        model: 'm',
        session_id: 's',
      },
    },
    ...(act.before ?? []),
    ...(act.message?.trim() ? [said('an earlier thought: <promise>COMPLETE</promise>')] : []),
    ...(act.aside === undefined ? [] : [{ stderr: act.aside }]),
    ...(act.message === undefined ? [] : [said(act.message)]),
    ...(act.after ?? []),
    ...(act.fails
      ? [ended(failures[act.fails])]
      : act.message === undefined || act.exit
        ? []
        : [ended({ result: act.message })]),
    ...(act.exit === undefined ? [] : [{ exit: act.exit }]),
  ]
}

function usageFields({ usage }: Act): object {
  if (!usage) return {}
  const { costUsd, inputTokens, outputTokens } = usage
  return {
    total_cost_usd: costUsd,
    modelUsage: {
      m: {
        inputTokens: inputTokens - 200,
        cacheReadInputTokens: 150,
        cacheCreationInputTokens: 50,
        outputTokens,
        costBasis: 'list',
      },
    },
  }
}

/** Streams of the real CLI (2.1.325) against a scripted model; paths, ids and long lists were taken out. */
function recorded(name: string, exit: number) {
  const agent = claude()
  const reader = agent.reader()
  const file = path.join(import.meta.dirname, 'fixtures', `claude-${name}.jsonl`)
  const events = readFileSync(file, 'utf8')
    .split('\n')
    .flatMap(line => reader.line(line, 'stdout'))
  const report = reader.end({ code: exit, killed: null })
  const fault = classify({
    exit,
    killed: null,
    ended: 'exit',
    reported: report.fault,
    ...report,
    patterns: agent.patterns,
    now: noon,
  })
  return { report, events, fault }
}

describe('claude: recorded streams', () => {
  it('reads a run that went well', () => {
    const { report, events, fault } = recorded('success', 0)
    expect(fault).toBeNull()
    expect(report).toEqual({
      message: 'All done. <promise>COMPLETE</promise>',
      usage: { costUsd: 0.01, inputTokens: 2000, outputTokens: 100 },
      fault: null,
      tail: '',
      sessionId: '00000000-0000-4000-8000-000000000001',
      model: 'claude-opus-5-5',
    })
    expect(events).toEqual([
      { type: 'text', text: 'I will write the file.' },
      { type: 'tool', name: 'Bash', input: 'echo hello-from-mock >> out.txt' },
      { type: 'text', text: 'All done. <promise>COMPLETE</promise>' },
    ])
  })

  it('counts all that was read, cached or not, once', () => {
    const { report } = recorded('usage', 0)
    expect(report.usage).toMatchObject({
      inputTokens: 10 + 20 + 30 + 5000 + 300 + 400 + 5000 + 5300,
      outputTokens: 111 + 222 + 333,
    })
    expect(report.usage.costUsd).toBeGreaterThan(0)
  })

  it.each([
    ['401', 1, 'auth', 'Invalid API key'],
    ['403', 1, 'auth', '403'],
    ['404', 1, 'auth', 'issue with the selected model'],
    ['credit', 1, 'auth', 'Credit balance is too low'],
    ['not-logged-in', 1, 'auth', 'Not logged in'],
    ['429', 1, 'limit', '429'],
    ['usage-limit', 1, 'limit', 'resets 4:47am'],
    ['500', 1, 'infrastructure', '500'],
    ['529', 1, 'infrastructure', 'Overloaded'],
    ['dropped', 1, 'infrastructure', 'ECONNRESET'],
    ['refused', 1, 'infrastructure', 'ECONNREFUSED'],
    ['prompt-too-long', 1, 'crash', 'The prompt is too long for the model'],
    ['max-tokens', 1, 'crash', 'output token maximum'],
    ['max-turns', 1, 'crash', 'Reached maximum number of turns (1)'],
    ['interrupted', 0, 'crash', 'interrupted'],
    ['interrupted-tool', 0, 'crash', 'interrupted'],
    ['denied', 0, 'permission', 'not permitted to use Bash'],
    ['terminated', 143, 'crash', 'exited with code 143'],
    ['empty', 0, 'empty', 'said nothing'],
  ] as const)('H-05 tells %s (exit code %i) as %s', (name, exit, kind, message) => {
    expect(recorded(name, exit).fault).toMatchObject({ kind, message: expect.stringContaining(message) })
  })

  it('takes the end of a usage limit from its event, to the second', () => {
    expect(recorded('usage-limit', 1).fault?.until).toBe(1_794_718_038_000)
  })

  it.each([
    [
      'unknown-model',
      'the price of the model is a guess',
      { costUsd: null, inputTokens: 2000, outputTokens: 100 },
    ],
    ['dropped', 'a broken request may have cost something', unknownUsage],
    ['terminated', 'there is no result', unknownUsage],
    ['401', 'a refused request costs nothing', { costUsd: 0, inputTokens: 0, outputTokens: 0 }],
  ] as [string, string, Usage][])('knows what %s cost as far as it can be known: %s', (name, _, usage) => {
    expect(recorded(name, 1).report.usage).toEqual(usage)
  })

  it('lets a reviewer be refused, and an agent that a hook stopped: neither lacks a permission', () => {
    expect(recorded('review', 0)).toMatchObject({ fault: null, report: { message: 'VERDICT: pass' } })
    expect(recorded('hook-denied', 0)).toMatchObject({
      fault: null,
      report: { message: 'All done. <promise>COMPLETE</promise>' },
    })
  })

  it('shows retries and refusals as notices', () => {
    expect(recorded('429', 1).events).toContainEqual({ type: 'notice', text: 'API 429, retry 1 of 1' })
    expect(recorded('denied', 0).events).toContainEqual({
      type: 'notice',
      text: expect.stringContaining('Bash denied'),
    })
  })
})

describe('claude: reading', () => {
  const lines = (...events: (object | string)[]) => {
    const reader = claude().reader()
    for (const event of events)
      reader.line(typeof event === 'string' ? event : JSON.stringify(event), 'stdout')
    return reader.end({ code: 0, killed: null })
  }
  const said = (text: string, rest = {}) => ({
    type: 'assistant',
    message: { model: 'm', content: [{ type: 'text', text }] },
    ...rest,
  })

  it('falls back to the last thing the agent itself said', () => {
    const { message } = lines(
      said('first'),
      said('last'),
      said('inside', { parent_tool_use_id: 'toolu_1' }),
      { type: 'result', subtype: 'success', result: '' },
    )
    expect(message).toBe('last')
  })

  it('does not take the words of the CLI for the words of the agent', () => {
    const synthetic = {
      type: 'assistant',
      message: { model: '<synthetic>', content: [{ type: 'text', text: 'API Error' }] },
      error: 'server_error',
    }
    expect(lines(said('half done'), synthetic).message).toBe('half done')
  })

  it('takes the last result when there are several', () => {
    const result = (text: string, cost: number) => ({
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: text,
      total_cost_usd: cost,
      modelUsage: { m: { inputTokens: 1, outputTokens: 1 } },
    })
    expect(lines(result('one', 0.1), result('two', 0.3))).toMatchObject({
      message: 'two',
      usage: { costUsd: 0.3 },
    })
  })

  it('keeps lines that are no events for people and for the search for faults', () => {
    expect(lines('node: warning', '{"type":"result","resul').tail).toBe(
      'node: warning\n{"type":"result","resul',
    )
  })

  it('names the root rule when the CLI refuses to skip permissions', () => {
    const agent = claude()
    const reader = agent.reader()
    reader.line(
      '--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons',
      'stderr',
    )
    const report = reader.end({ code: 1, killed: null })
    const fault = classify({
      exit: 1,
      killed: null,
      ended: 'exit',
      reported: report.fault,
      ...report,
      patterns: agent.patterns,
      now: noon,
    })
    expect(fault?.kind).toBe('permission')
  })
})

describe('claude: starting', () => {
  const folder = useFolder()
  const request = (rest: Partial<AgentRequest> = {}): AgentRequest => ({
    promptFile: '/p',
    cwd: '/',
    readOnly: false,
    extraArgs: [],
    env: {},
    root: false,
    ...rest,
  })

  it('runs headless, without questions, with the prompt on stdin', () => {
    const { argv, stdin } = claude().command(request({ model: 'opus', extraArgs: ['--max-turns', '9'] }))
    expect(argv).toEqual([
      'claude',
      '-p',
      '--output-format',
      'stream-json',
      '--verbose',
      '--dangerously-skip-permissions',
      '--model',
      'opus',
      '--max-turns',
      '9',
    ])
    expect(stdin).toBe('prompt')
  })

  it('gives a reviewer no tool to write with and no way round the refusal', () => {
    const { argv } = claude().command(request({ readOnly: true }))
    expect(argv).not.toContain('--dangerously-skip-permissions')
    expect(argv.slice(5)).toEqual([
      '--permission-mode',
      'dontAsk',
      '--disallowedTools',
      'Edit,Write,NotebookEdit',
      '--allowedTools',
      'Read,Grep,Glob',
    ])
  })

  it('passes on its own variables and no others', () => {
    const env = {
      ANTHROPIC_API_KEY: 'k',
      ANTHROPIC_BASE_URL: 'http://gateway.example',
      CLAUDE_CONFIG_DIR: '/c',
      CLAUDE_CODE_OAUTH_TOKEN: 't',
      CLAUDECODE: '1',
      CLAUDE_CODE_ENTRYPOINT: 'cli',
      CLAUDE_CODE_SESSION_ID: 'x',
      AWS_SECRET_ACCESS_KEY: 'a',
      GITHUB_TOKEN: 'g',
      UNSET: undefined,
    }
    expect(claude().command(request({ env })).env).toEqual({
      ANTHROPIC_API_KEY: 'k',
      ANTHROPIC_BASE_URL: 'http://gateway.example',
      CLAUDE_CONFIG_DIR: '/c',
      CLAUDE_CODE_OAUTH_TOKEN: 't',
      CLAUDE_CODE_MAX_RETRIES: '2',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
    })
  })

  it('shows the keys of a cloud only to who uses it', () => {
    const keys = { AWS_SECRET_ACCESS_KEY: 'a', GOOGLE_APPLICATION_CREDENTIALS: 'f' }
    expect(claude().command(request({ env: { ...keys, CLAUDE_CODE_USE_BEDROCK: '1' } })).env).toMatchObject({
      AWS_SECRET_ACCESS_KEY: 'a',
    })
    const vertex = claude().command(request({ env: { ...keys, CLAUDE_CODE_USE_VERTEX: '1' } })).env
    expect(vertex).toMatchObject({ GOOGLE_APPLICATION_CREDENTIALS: 'f' })
    expect(vertex).not.toHaveProperty('AWS_SECRET_ACCESS_KEY')
  })

  it('claims a sandbox only as root, where the CLI would refuse otherwise', () => {
    expect(claude().command(request({ root: true })).env.IS_SANDBOX).toBe('1')
    expect(claude().command(request()).env).not.toHaveProperty('IS_SANDBOX')
  })

  it('keeps a number of retries that the user chose', () => {
    expect(
      claude().command(request({ env: { CLAUDE_CODE_MAX_RETRIES: '7' } })).env.CLAUDE_CODE_MAX_RETRIES,
    ).toBe('7')
  })

  it('tells the version, and what is wrong with a program that has none', async () => {
    const cwd = folder()
    const context = { env: { PATH: process.env.PATH, HOME: cwd }, cwd }
    const file = shim(cwd, 'unused')
    expect(await claude({ program: file }).probe(context)).toEqual({
      ok: true,
      version: '2.1.325',
      problem: null,
      fix: null,
    })
    writeFileSync(file, '#!/bin/sh\necho hello\n')
    expect(await claude({ program: file }).probe(context)).toMatchObject({
      ok: false,
      problem: expect.stringContaining('is it Claude Code'),
    })
    writeFileSync(file, '#!/bin/sh\necho "Error: broken install" >&2\nexit 1\n')
    expect(await claude({ program: file }).probe(context)).toMatchObject({
      ok: false,
      problem: expect.stringContaining('Error: broken install'),
      fix: expect.stringContaining('npm install -g @anthropic-ai/claude-code'),
    })
  })
})
