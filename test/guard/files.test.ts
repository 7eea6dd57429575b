import { describe, expect, it } from 'vitest'
import { judgeFile } from '../../src/guard/judge-file.ts'
import { context } from './here.ts'

const write = (path: string) => judgeFile('write', path, context)

describe('S1-51 files that an agent’s own tools would write', () => {
  it.each([
    ...['.git/config', '.git/hooks/pre-commit', '.git/info/exclude', 'packages/a/.git/config', '.GIT/config'],
    ...['.ralph/ralph.db', '.ralph-active', 'ralph.config.yaml', 'ralph.config.yml', './src/../.ralph/x'],
    ...[
      '.claude/settings.json',
      '.claude/settings.local.json',
      '.claude/hooks/x.sh',
      '.mcp.json',
      '.codex/config.toml',
    ],
    ...[
      '.gemini/settings.json',
      '.copilot/config.json',
      '.github/hooks/x.json',
      'opencode.json',
      '.opencode/plugin/x.js',
    ],
    ...[
      '~/.bashrc',
      '/home/agent/.zshrc',
      '~/.ssh/authorized_keys',
      '~/.claude/settings.json',
      '~/.codex/config.toml',
    ],
    ...[
      '/etc/passwd',
      '/etc/cron.d/x',
      '/home/agent/other/x',
      '../other/x',
      '/dev/sda',
      '/usr/local/bin/x',
      '~/notes.txt',
    ],
  ])('denies %s', path => {
    expect(write(path)).toMatchObject({ verdict: 'deny' })
    expect(judgeFile('edit', path, context)).toMatchObject({ verdict: 'deny' })
    expect(judgeFile('delete', path, context)).toMatchObject({ verdict: 'deny' })
  })

  it.each([
    ...[
      'src/a.ts',
      '/home/agent/work/proj/src/a.ts',
      'package.json',
      '.github/workflows/ci.yml',
      '.gitignore',
      '.gitattributes',
    ],
    ...[
      '.claude/rules/x.md',
      '.claude/skills/x/SKILL.md',
      'CLAUDE.md',
      'AGENTS.md',
      'ralph/tasks.json',
      '.env',
      '.env.example',
    ],
    ...['/tmp/x.txt', 'docs/.git-notes.md', 'src/git/config.ts', 'vite.config.ts', '.vscode/settings.json'],
  ])('allows %s', path => {
    expect(write(path)).toEqual({ verdict: 'allow' })
  })

  it('says the category and the file', () => {
    expect(write('.ralph/ralph.db')).toMatchObject({
      category: 'guard-tamper',
      part: 'write .ralph/ralph.db',
    })
    expect(write('~/.bashrc')).toMatchObject({ category: 'persistence' })
    expect(write('~/.ssh/authorized_keys')).toMatchObject({ category: 'ssh-keys' })
    expect(write('/etc/hosts')).toMatchObject({ category: 'outside-write' })
  })
})

describe('S1-51 files that an agent’s own tools would read', () => {
  it.each([
    '.env',
    '.env.production',
    '~/.ssh/id_rsa',
    '~/.aws/credentials',
    '/proc/self/environ',
    '~/.claude/.credentials.json',
  ])('denies %s', path => expect(judgeFile('read', path, context)).toMatchObject({ verdict: 'deny' }))

  it.each([
    'src/a.ts',
    '.env.example',
    '.claude/settings.json',
    '/etc/hosts',
    '/usr/include/stdio.h',
    '.git/HEAD',
  ])('allows %s', path => expect(judgeFile('read', path, context)).toEqual({ verdict: 'allow' }))
})
