import { describe, expect, it } from 'vitest'
import { judgeToolCall, type ToolAnswer } from '../../src/hooks/pretool.ts'
import { context } from './here.ts'

const claude = (tool_name: string, tool_input: unknown, more: Record<string, unknown> = {}): ToolAnswer =>
  judgeToolCall(
    { session_id: 's', cwd: context.cwd, hook_event_name: 'PreToolUse', tool_name, tool_input, ...more },
    context,
  )

const said = ({ stdout }: ToolAnswer) => (stdout === '' ? null : JSON.parse(stdout))

function isDenied(answer: ToolAnswer): boolean {
  const text = said(answer)
  const decision = text?.hookSpecificOutput?.permissionDecision ?? text?.permissionDecision ?? text?.decision
  return answer.exitCode === 2 || decision === 'deny'
}

describe('S1-51 the answer in each CLI’s own form', () => {
  it('Claude Code, Codex and Copilot’s plugins: PreToolUse', () => {
    const answer = claude('Bash', { command: 'rm -rf /', description: 'clean' })
    expect(answer).toMatchObject({ exitCode: 0, stderr: '', kind: 'shell' })
    expect(said(answer)).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'deny',
        permissionDecisionReason: expect.stringMatching(
          /fs-destroy.*rm would delete \/.*instead|fs-destroy.*Judged: rm -rf \//su,
        ),
      },
    })
  })

  it('Gemini: BeforeTool', () => {
    const call = {
      hook_event_name: 'BeforeTool',
      tool_name: 'run_shell_command',
      tool_input: { command: 'rm -rf ~' },
      cwd: context.cwd,
    }
    expect(said(judgeToolCall(call, context))).toEqual({
      decision: 'deny',
      reason: expect.stringContaining('fs-destroy'),
    })
  })

  it('Copilot’s own hooks: arguments as text', () => {
    const call = {
      cwd: context.cwd,
      toolName: 'bash',
      toolArgs: JSON.stringify({ command: 'git push --force' }),
    }
    expect(said(judgeToolCall(call, context))).toEqual({
      permissionDecision: 'deny',
      permissionDecisionReason: expect.stringContaining('git-force-push'),
    })
  })

  it('says nothing when it has nothing against it', () => {
    expect(claude('Bash', { command: 'npm test' })).toEqual({
      exitCode: 0,
      stdout: '',
      stderr: '',
      kind: 'shell',
    })
    expect(
      claude('Write', { file_path: `${context.workspace}/src/a.ts`, content: 'rm -rf /' }),
    ).toMatchObject({ stdout: '' })
  })
})

describe('the tools of the CLIs', () => {
  it.each([
    ['Bash', { command: 'sudo ls' }],
    ['bash', { command: 'sudo ls' }],
    ['run_shell_command', { command: 'sudo ls', directory: 'packages' }],
    ['shell', { command: ['bash', '-lc', 'sudo ls'] }],
    ['exec_command', { cmd: 'sudo ls' }],
    ['write_bash', { sessionId: '1', input: 'sudo ls\n' }],
    ['Write', { file_path: '/home/agent/work/proj/.claude/settings.json', content: '' }],
    ['Edit', { file_path: '.git/config', old_string: 'a', new_string: 'b' }],
    ['MultiEdit', { file_path: '~/.bashrc', edits: [] }],
    ['NotebookEdit', { notebook_path: '/etc/x.ipynb' }],
    ['write_file', { file_path: '../x', content: '' }],
    ['replace', { file_path: 'ralph.config.yaml' }],
    ['write', { filePath: '/etc/x', content: '' }],
    ['create', { path: '/etc/x', file_text: '' }],
    ['str_replace_editor', { command: 'create', path: '.mcp.json' }],
    [
      'apply_patch',
      {
        command:
          '*** Begin Patch\n*** Add File: src/a.ts\n+x\n*** Update File: .git/hooks/x\n+y\n*** End Patch',
      },
    ],
    ['apply_patch', { input: '*** Begin Patch\n*** Update File: a.ts\n*** Move to: ../b.ts\n*** End Patch' }],
    ['Edit', '*** Begin Patch\n*** Update File: .git/config\n+x\n*** End Patch'],
    ['Edit', 'no patch at all'],
    ['Read', { file_path: '/home/agent/.ssh/id_rsa' }],
    ['read_file', { absolute_path: '/home/agent/work/proj/.env' }],
    ['delete_file', { path: '.ralph/ralph.db' }],
  ])('%s %j is denied', (tool, input) => {
    expect(isDenied(claude(tool, input))).toBe(true)
  })

  it.each([
    ['Bash', { command: 'npm ci && npm test' }],
    ['shell', { command: ['bash', '-lc', 'npm test'] }],
    ['Edit', { file_path: 'src/a.ts' }],
    ['apply_patch', { command: '*** Begin Patch\n*** Update File: src/a.ts\n+rm -rf /\n*** End Patch' }],
    ['Edit', '*** Begin Patch\n*** Update File: src/a.ts\n+x\n*** End Patch\n'],
    ['str_replace_editor', { command: 'view', path: '.claude/settings.json' }],
    ['Read', { file_path: 'src/a.ts' }],
    ['Grep', { pattern: 'rm -rf /' }],
  ])('%s %j is allowed', (tool, input) => {
    expect(isDenied(claude(tool, input))).toBe(false)
  })

  it('tools it does not know are allowed, and told apart', () => {
    for (const tool of ['WebSearch', 'Task', 'TodoWrite', 'mcp__x__y'])
      expect(claude(tool, { command: 'rm -rf /' })).toEqual({
        exitCode: 0,
        stdout: '',
        stderr: '',
        kind: 'unknown',
      })
  })

  it('a command runs where the call says', () => {
    expect(isDenied(claude('Bash', { command: 'rm -rf *' }, { cwd: `${context.workspace}/dist` }))).toBe(
      false,
    )
    expect(isDenied(claude('run_shell_command', { command: 'rm -rf *', directory: 'dist' }))).toBe(false)
    expect(isDenied(claude('exec_command', { cmd: 'rm -rf *', workdir: '/etc' }))).toBe(true)
  })

  it('follows links', () => {
    const realPath = (path: string) => path.replace('/proj/link', '/proj/.ralph')
    const call = { tool_name: 'Write', tool_input: { file_path: 'link/ralph.db' }, cwd: context.cwd }
    expect(isDenied(judgeToolCall(call, context))).toBe(false)
    expect(isDenied(judgeToolCall(call, context, { realPath }))).toBe(true)
  })
})

describe('H-13 what cannot be read is refused', () => {
  it.each([
    ...[null, undefined, 1, 'text', [], {}, { tool_name: 1 }, { tool_name: '' }, { tool_input: {} }],
    ...[
      { tool_name: 'Bash' },
      { tool_name: 'Bash', tool_input: {} },
      { tool_name: 'Bash', tool_input: { command: 1 } },
    ],
    ...[
      { tool_name: 'Write', tool_input: {} },
      { tool_name: 'apply_patch', tool_input: { command: 'no patch' } },
    ],
    { tool_name: 'Bash', tool_input: { command: ['a', 1] } },
  ])('%j', input => {
    expect(judgeToolCall(input, context)).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining('refused'),
      kind: 'unreadable',
    })
  })
})
