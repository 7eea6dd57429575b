import { describe, expect, it } from 'vitest'
import { decide } from '../../../src/agents/acp/permission.ts'
import { onlyReads } from '../../../src/agents/acp/read-only-command.ts'

const options = [
  { optionId: 'always', name: 'Always', kind: 'allow_always' },
  { optionId: 'once', name: 'Once', kind: 'allow_once' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
]
const chosen = (toolCall: object, readOnly: boolean, offered: object[] = options) => {
  const { outcome } = decide({ toolCall, options: offered }, readOnly).response
  return outcome.outcome === 'selected' ? outcome.optionId : outcome.outcome
}

describe('decide', () => {
  it('allows an implementer everything, once', () => {
    for (const kind of ['edit', 'delete', 'move', 'execute', 'other', undefined])
      expect(chosen({ kind, title: 'rm -rf x' }, false)).toBe('once')
  })

  it.each([
    ['read', 'once'],
    ['search', 'once'],
    ['think', 'once'],
    ['fetch', 'once'],
    ['edit', 'no'],
    ['delete', 'no'],
    ['move', 'no'],
    ['switch_mode', 'no'],
    ['other', 'no'],
    [undefined, 'no'],
  ])('answers a reviewer who wants to %s: %s', (kind, answer) => {
    expect(chosen({ kind }, true)).toBe(answer)
  })

  it('lets a reviewer run what only reads, wherever the command stands', () => {
    expect(chosen({ kind: 'execute', title: 'git diff HEAD~1' }, true)).toBe('once')
    expect(chosen({ kind: 'execute', title: 'look', rawInput: { command: 'git diff' } }, true)).toBe('once')
    expect(chosen({ kind: 'execute', title: 'git diff', rawInput: { command: 'make' } }, true)).toBe('no')
    expect(chosen({ kind: 'execute', title: 'ls', rawInput: { command: ['rm', 'x'] } }, true)).toBe('no')
    expect(chosen({ kind: 'execute', title: 'ls', rawInput: {} }, true)).toBe('no')
  })

  it('takes what is offered, and calls it off when nothing fits', () => {
    const only = (kind: string) => options.filter(one => one.kind === kind)
    expect(chosen({}, false, only('allow_always'))).toBe('always')
    expect(chosen({}, false, only('reject_once'))).toBe('cancelled')
    expect(chosen({ kind: 'edit' }, true, only('allow_once'))).toBe('cancelled')
    expect(chosen({}, false, [])).toBe('cancelled')
  })
})

describe('onlyReads', () => {
  it.each([
    'ls',
    'ls -la src | head -20',
    'git status && git diff --stat',
    'git --no-pager log --oneline -5',
    'git show HEAD~1:src/a.ts',
    'git diff HEAD^ -- "my file.ts"',
    `grep -rn 'a > b; rm x' src`,
    'rg --files src || true',
    `find . -name '*.ts' -newer a`,
    `sed -n '10,20p' src/a.ts`,
    'sed -n 5p a; wc -l a',
    'cat a\ncat b',
    'sort a | uniq -c',
    'cd src && pwd',
  ])('knows that %s only reads', command => {
    expect(onlyReads(command)).toBe(true)
  })

  it.each([
    '',
    '   ',
    'rm a',
    'ls > a',
    'cat <(rm a)',
    'ls; rm a',
    'ls && rm a',
    'ls || rm a',
    'ls | tee a',
    'ls & rm a',
    'ls\nrm a',
    'cat `rm a`',
    'cat $(rm a)',
    'cat "$(rm a)"',
    'echo "a`rm a`"',
    "echo 'open",
    'X=1 rm a',
    'FOO=bar ls',
    'find . -delete',
    'find . -name x -exec rm {} +',
    'find . -fprint a',
    'sort -o a b',
    'sort --output=a b',
    'uniq a b',
    'git commit -m x',
    'git checkout .',
    'git -c core.pager=rm log',
    'git log --output=a',
    'git grep -Orm x',
    'git',
    'sed -i s/a/b/ a',
    `sed -n 'w a' b`,
    `sed -n '1p' -i a`,
    `sed -n '1p;w b' a`,
    'rg --pre rm x',
    'file -C -m a',
    'tree -o a',
    'npm test',
    'sh -c ls',
    'env ls',
    './ls',
    '/tmp/ls',
    'cat a\\\nrm b',
    'ls # \nrm a',
    '{ rm a; }',
    '! rm a',
  ])('does not trust %j', command => {
    expect(onlyReads(command)).toBe(false)
  })
})
