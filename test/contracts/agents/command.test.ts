import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { command } from '../../../src/agents/command.ts'
import { splitCommand } from '../../../src/agents/split-command.ts'
import { UserError } from '../../../src/core/errors.ts'
import { agentContract } from './agent-contract.ts'
import { useScriptedProgram } from './bundle-scripted.ts'
import { plainSteps, writeScript } from './scripted-acts.ts'

const program = useScriptedProgram()

agentContract({
  name: 'command',
  acting: async (act, folder) =>
    command({ command: [process.execPath, program(), writeScript(folder, plainSteps(act))] }),
  missing: async folder => command({ command: `${folder}/no-such-agent --flag` }),
  reportsUsage: false,
})

describe('command', () => {
  it('tells the program the model and that it may only read', () => {
    const request = {
      promptFile: 'p',
      cwd: '/',
      model: 'big',
      readOnly: true,
      extraArgs: ['-x'],
      env: { SECRET: 's' },
      root: true,
    }
    expect(command({ command: 'my-agent --flag "two words"' }).command(request)).toEqual({
      argv: ['my-agent', '--flag', 'two words', '-x'],
      env: { RALPH_MODEL: 'big', RALPH_READ_ONLY: '1' },
      stdin: 'prompt',
    })
  })

  it('is found on the PATH and not started to see it', async () => {
    const probe = await command({ command: 'sh -c "exit 1"' }).probe({
      env: { PATH: process.env.PATH },
      cwd: '/',
    })
    expect(probe).toEqual({ ok: true, version: null, problem: null, fix: null })
  })

  it('refuses an empty command with a way on', () => {
    for (const settings of [{}, { command: '' }, { command: '  ' }, { command: [] }, { command: "''" }]) {
      expect(() => command(settings)).toThrow(
        expect.objectContaining({ name: 'UserError', exitCode: 2, fix: expect.stringContaining('command:') }),
      )
    }
  })
})

describe('splitCommand', () => {
  it.each([
    ['a b  c', ['a', 'b', 'c']],
    [`a 'b c' "d e"`, ['a', 'b c', 'd e']],
    [`a 'it''s'`, ['a', 'its']],
    [String.raw`a "say \"x\"" b\ c`, ['a', 'say "x"', 'b c']],
    [String.raw`a 'C:\x' "C:\y"`, ['a', 'C:\\x', 'C:\\y']],
    [`a --x='1 2'`, ['a', '--x=1 2']],
    [`a ''`, ['a', '']],
    [`a '$HOME | x > y *'`, ['a', '$HOME | x > y *']],
    ['a "x | y; *"', ['a', 'x | y; *']],
    ['a 5$ b~c', ['a', '5$', 'b~c']],
    ['a\tb\n', ['a', 'b']],
    ['', []],
  ] as [string, string[]][])('splits %s', (line, words) => {
    expect(splitCommand(line)).toEqual(words)
  })

  it.each([
    'a | b',
    'a && b',
    'a; b',
    'a > f',
    'a < f',
    'a $HOME',
    'a "$HOME"',
    'a $(b)',
    'a `b`',
    '~/bin/a',
    'a *.ts',
    'a &',
  ])('refuses %s, which only a shell understands', line => {
    expect(() => splitCommand(line)).toThrow(UserError)
  })

  it.each([`a 'b`, 'a "b', 'a \\'])('refuses the unfinished %s', line => {
    expect(() => splitCommand(line)).toThrow(UserError)
  })

  it('gives back any words that were put in single quotes', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1 }), words => {
        const line = words.map(word => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
        expect(splitCommand(line)).toEqual(words)
      }),
    )
  })
})
