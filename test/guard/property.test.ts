import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { corpus, judge } from './here.ts'
import { quoted, wrapped } from './ways.ts'

/** Pieces of shell, sound and broken. */
const pieces = [
  ...[
    'rm',
    '-rf',
    '/',
    '*',
    '~',
    '$HOME',
    '"',
    "'",
    '`',
    '$(',
    ')',
    '(',
    '{',
    '}',
    '${',
    '$((',
    '[[',
    ']]',
    '<<EOF\n',
    'EOF\n',
  ],
  ...[
    '<<<',
    '<(',
    '>',
    '>>',
    '2>&1',
    '|',
    '||',
    '&&',
    ';',
    '&',
    '\n',
    '\\',
    '#',
    '!',
    '=',
    'x=',
    '$x',
    '$@',
    '"$@"',
    'if',
    'then',
    'fi',
  ],
  ...[
    'for',
    'in',
    'do',
    'done',
    'while',
    'case',
    'esac',
    'function f',
    'f()',
    'eval',
    'bash -c',
    'xargs',
    'find . -exec',
    '{}',
    '\\;',
  ],
  ...[
    'git',
    'push',
    '--force',
    'curl',
    'sudo',
    'env',
    'python3 -c',
    'import os',
    '{a,b}',
    '{1..9}',
    '?',
    '[a-z]',
    'é',
    '\u0000',
    '\uE000',
    '😀',
  ],
]

const soup = fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map(parts => parts.join(' '))
const tight = fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map(parts => parts.join(''))
const anything = fc.string({ unit: 'binary', maxLength: 300 })

/** Generous, for the machine may be busy; what hangs takes minutes. */
const limit = 20_000

function answers(command: string): void {
  const begun = performance.now()
  const verdict = judge(command)
  expect(performance.now() - begun).toBeLessThan(limit)
  expect(['allow', 'deny']).toContain(verdict.verdict)
  if (verdict.verdict === 'deny') expect(verdict.reason.length).toBeGreaterThan(10)
}

describe('H-13 the guard always answers', () => {
  it.each([
    ['any text', anything],
    ['pieces of shell', soup],
    ['pieces of shell without blanks', tight],
  ])('%s', (_, texts) => {
    fc.assert(fc.property(texts, answers), { numRuns: 1500 })
  })

  it('a command of the corpus that is cut off or mixed with another', () => {
    const command = fc.constantFrom(...corpus.map(one => one.command))
    fc.assert(
      fc.property(command, command, fc.nat(200), (one, other, at) =>
        answers(one.slice(0, at) + other.slice(at / 2)),
      ),
      { numRuns: 1500 },
    )
  })

  it('long repetitions of anything', () => {
    const repeated = fc.tuple(
      fc.constantFrom(...pieces),
      fc.constantFrom(...pieces),
      fc.constantFrom(50, 2000, 20_000),
    )
    fc.assert(
      fc.property(repeated, ([one, other, times]) =>
        answers(`${one} ${other} `.repeat(times).slice(0, 200_000)),
      ),
      { numRuns: 60 },
    )
  })

  it.each([
    ...[
      'python3 -c',
      'node -e',
      'perl -e',
      'awk',
      'sed',
      'psql -c',
      'jq',
      'vim -c',
      'rm',
      'cat',
      'curl -d',
      'eval',
      'printf',
      'ssh -o',
    ],
  ])('long arguments of %s', program => {
    const seeds = [
      'while fork ',
      'eval',
      'os.chmod(',
      'print ',
      's/a/b/;',
      '/*',
      'delete from x ',
      '"\'',
      '../',
      '=@',
      '%s',
      '{',
      '\\',
      'a b ',
    ]
    for (const seed of seeds) answers(`${program} ${quoted(seed.repeat(Math.floor(100_000 / seed.length)))}`)
  })
})

it('a denied command stays denied however deep it is wrapped', () => {
  const plain = corpus.filter(one => one.verdict === 'deny' && one.technique === 'plain')
  const ways = fc.array(fc.constantFrom(...Object.values(wrapped)), { minLength: 2, maxLength: 4 })
  fc.assert(
    fc.property(fc.constantFrom(...plain), ways, (one, chosen) => {
      const command = chosen.reduce((inner, wrap) => wrap(inner), one.command)
      expect(judge(command).verdict, command).toBe('deny')
    }),
    { numRuns: 800 },
  )
})

it('the same command gets the same answer', () => {
  for (const { command } of corpus) expect(judge(command)).toEqual(judge(command))
})
