import { describe, expect, it } from 'vitest'
import { translate } from './tools.ts'

/** Tools as the CLIs offer them: names and argument names are theirs. */
const tool = (name: string, properties: Record<string, object>, required = Object.keys(properties)) => ({
  name,
  parameters: { type: 'object', properties, required },
})
const text = { type: 'string' }

describe('translate', () => {
  it.each([
    [
      'claude',
      tool('Bash', { command: text, description: text, timeout: { type: 'number' } }, ['command']),
      { command: 'ls' },
    ],
    ['codex', tool('exec_command', { cmd: text, workdir: text }, ['cmd']), { cmd: 'ls' }],
    [
      'older codex',
      tool('shell', { command: { type: 'array', items: text } }),
      { command: ['bash', '-lc', 'ls'] },
    ],
    [
      'gemini',
      tool('run_shell_command', { command: { type: 'STRING' }, is_background: { type: 'BOOLEAN' } }),
      { command: 'ls', is_background: false },
    ],
    [
      'opencode',
      tool('bash', { command: text, description: text }),
      { command: 'ls', description: 'scripted' },
    ],
  ])('runs a shell command in %s', (_, offered, input) => {
    expect(translate({ shell: 'ls' }, [tool('other', {}), offered])).toEqual({ name: offered.name, input })
  })

  it.each([
    ['claude', tool('Write', { file_path: text, content: text }), { file_path: 'a', content: 'b' }],
    ['opencode', tool('write', { content: text, filePath: text }), { filePath: 'a', content: 'b' }],
    ['copilot', tool('create', { path: text, file_text: text }), { path: 'a', file_text: 'b' }],
  ])('writes a file in %s', (_, offered, input) => {
    expect(translate({ write: { path: 'a', content: 'b' } }, [offered])).toEqual({
      name: offered.name,
      input,
    })
  })

  it('reads a file, and goes by the shell where there is no such tool', () => {
    const bash = tool('Bash', { command: text })
    expect(translate({ read: 'a' }, [bash, tool('view', { path: text })])).toEqual({
      name: 'view',
      input: { path: 'a' },
    })
    expect(translate({ read: "it's" }, [bash])).toEqual({
      name: 'Bash',
      input: { command: `cat 'it'\\''s'` },
    })
    expect(translate({ write: { path: 'a', content: 'b\nc' } }, [bash])).toEqual({
      name: 'Bash',
      input: { command: "cat > 'a' <<'__END'\nb\nc\n__END" },
    })
  })

  it('fills in whatever else is required', () => {
    const properties = {
      command: text,
      mode: { type: 'string', enum: ['fast', 'slow'] },
      tries: { type: 'integer' },
      list: { type: 'array' },
      map: { type: 'object' },
      note: {},
    }
    expect(translate({ shell: 'ls' }, [tool('bash', properties)]).input).toEqual({
      command: 'ls',
      mode: 'fast',
      tries: 1,
      list: [],
      map: {},
      note: 'scripted',
    })
  })

  it('passes a raw call on, and calls what was not offered like a confused model', () => {
    const raw = { name: 'Task', input: { prompt: 'x' } }
    expect(translate({ raw }, [])).toEqual(raw)
    expect(translate({ shell: 'ls' }, [])).toEqual({ name: 'Bash', input: { command: 'ls' } })
  })

  it('gives a tool that takes plain text the plain text', () => {
    expect(translate({ shell: 'ls' }, [{ name: 'shell', parameters: null }])).toEqual({
      name: 'shell',
      input: 'ls',
    })
  })
})
