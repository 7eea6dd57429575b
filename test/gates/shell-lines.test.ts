import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shellCommands } from '../../src/gates/shell-lines.ts'

const words = (text: string) => shellCommands(text).map(command => command.words)

describe('shellCommands', () => {
  it.each([
    ['operators', 'a 1 && b 2 || c; d | e & f', [['a', '1'], ['b', '2'], ['c'], ['d'], ['e'], ['f']]],
    ['quotes', `a 'b c' "d e" f\\ g "h'i"`, [['a', 'b c', 'd e', 'f g', "h'i"]]],
    ['an escaped newline', 'a \\\n b', [['a', 'b']]],
    ['comments', 'a # b && c\nd', [['a'], ['d']]],
    ['a sharp inside a word', 'a b#c', [['a', 'b#c']]],
    ['output redirections', 'a >out 2>&1 2>>err &>all b', [['a', 'b']]],
    ['an input redirection', 'a < in.txt', [['a', 'in.txt']]],
    ['assignments as words', 'A=1 B="2 3" c', [['A=1', 'B=2 3', 'c']]],
    ['keywords', 'if [ -f a ]; then b; else ! c; fi', [['[', '-f', 'a', ']'], ['b'], ['c']]],
    ['loops', 'for f in a b; do c $f; done', [['c', '$f']]],
    ['here-documents', 'cat <<EOF > x\nrm -rf y\nEOF\nb', [['cat'], ['b']]],
    ['substitutions', 'a $(b c) `d` "$(e f)"', [['b', 'c'], ['d'], ['e', 'f'], ['a', '$', '$', '$(e f)']]],
    ['arithmetic', 'a $((1 + 2)) b', [['a', '$', 'b']]],
    ['an open quote', "a 'b", [['a', 'b']]],
    ['nothing', ' ; \n', []],
  ])('reads %s', (_, text, expected) => {
    expect(words(text)).toEqual(expected)
  })

  it('knows which subshell a command runs in', () => {
    expect(
      shellCommands('a; (b; (c)); d; (e)').map(({ words: [word], scope, parent }) => [word, scope, parent]),
    ).toEqual([
      ['a', 0, 0],
      ['b', 1, 0],
      ['c', 2, 1],
      ['d', 0, 0],
      ['e', 3, 0],
    ])
  })

  it('never throws, and stays quick however deep the nesting', () => {
    const sign = fc.constantFrom(...'ab \'"`$()<>|&;#\\\n{}=-/.'.split(''))
    fc.assert(
      fc.property(fc.string({ unit: sign, maxLength: 120 }), text => {
        expect(Array.isArray(shellCommands(text))).toBe(true)
      }),
    )
    // Processor time: a busy machine must not fail this.
    const from = process.cpuUsage()
    for (const text of [
      '$('.repeat(50_000),
      '('.repeat(50_000),
      '`'.repeat(50_000),
      '"$('.repeat(20_000),
      '<<A\n'.repeat(10_000),
      'a;'.repeat(30_000),
    ]) {
      shellCommands(text)
    }
    expect(process.cpuUsage(from).user).toBeLessThan(5_000_000)
  })
})
