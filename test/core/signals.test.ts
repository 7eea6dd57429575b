import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readSignals, type Signal, spokenLines } from '../../src/core/signals.ts'
import { holds } from './property.ts'

const prompt = `You are Ralph, an autonomous implementation agent.

## WORKFLOW
4. When all tests pass, commit and print on a line of its own:

<ralph>DONE 8.3</ralph>

5. When you cannot, run git checkout . and print:

<ralph>FAIL 8.3: reason</ralph>

VERDICT: pass
`

const read = (message: string) => readSignals(message, prompt)
const done: Signal = { type: 'done', id: '8.3', legacy: false }

describe('S4-57 the tags', () => {
  it.each<[string, string, Signal[]]>([
    ['DONE', 'All green.\n\n<ralph>DONE 8.3</ralph>', [done]],
    ['DONE with room', '  <ralph> DONE  8.3 </ralph>  ', [done]],
    ['DONE in bold', '**<ralph>DONE 8.3</ralph>**', [done]],
    ['DONE with colours', '\u001b[32m<ralph>DONE 8.3</ralph>\u001b[0m', [done]],
    ['DONE with Windows line ends', 'ok\r\n<ralph>DONE 8.3</ralph>\r\n', [done]],
    ['another id', '<ralph>DONE US-001</ralph>', [{ type: 'done', id: 'US-001', legacy: false }]],
    ['FAIL', '<ralph>FAIL 8.3: no such table</ralph>', [fail('no such table')]],
    ['FAIL without a reason', '<ralph>FAIL 8.3</ralph>', [fail('')]],
    [
      'FAIL with marks in its reason',
      '<ralph>FAIL 8.3: <div> is missing: a < b</ralph>',
      [fail('<div> is missing: a < b')],
    ],
    ['FAIL within a line', 'So I must say <ralph>FAIL 8.3: stuck</ralph> for now', [fail('stuck')]],
    ['LEARN', '<ralph>LEARN: use cents</ralph>', [{ type: 'learn', text: 'use cents' }]],
    [
      'LEARN several times, also in one line',
      '<ralph>LEARN: one</ralph> and <ralph>LEARN: two</ralph>\n<ralph>LEARN:three</ralph>',
      ['one', 'two', 'three'].map(text => ({ type: 'learn', text })),
    ],
    ['both ends', '<ralph>FAIL 8.3: x</ralph>\n<ralph>DONE 8.3</ralph>', [fail('x'), done]],
    [
      'legacy',
      '[DONE]\n[FAIL]',
      [
        { type: 'done', id: '', legacy: true },
        { type: 'fail', id: '', reason: '', legacy: true },
      ],
    ],
    ['a promise', '<promise>QA_PASSED</promise>', [{ type: 'promise', text: 'QA_PASSED' }]],
  ])('%s', (_, message, expected) => {
    expect(read(message)).toEqual(expected)
  })

  function fail(reason: string): Signal {
    return { type: 'fail', id: '8.3', reason, legacy: false }
  }
})

describe('what is not said', () => {
  it.each([
    ['a claim within a sentence', 'I will NOT print <ralph>DONE 8.3</ralph> yet.'],
    ['a claim after words', 'Done: <ralph>DONE 8.3</ralph>'],
    ['a claim in inline code', '`<ralph>DONE 8.3</ralph>`'],
    ['a claim in a list of instructions', '- <ralph>DONE 8.3</ralph>'],
    ['a code block', '```\n<ralph>DONE 8.3</ralph>\n```'],
    ['a code block with a language', '```xml\n<ralph>DONE 8.3</ralph>\n```\nThat is the format.'],
    ['a code block of tildes', '~~~\n<ralph>DONE 8.3</ralph>\n~~~'],
    ['a longer fence around a shorter one', '````\n```\n<ralph>DONE 8.3</ralph>\n```\n````'],
    ['a fence that names a language is not the end of a block', '```\n```js\n<ralph>DONE 8.3</ralph>\n```'],
    ['a block that never ends', '```\nnpm test\n<ralph>DONE 8.3</ralph>'],
    ['an indented block', 'The format:\n\n    <ralph>DONE 8.3</ralph>\n'],
    ['a quotation', '> <ralph>DONE 8.3</ralph>'],
    ['an unfinished tag', '<ralph>DONE 8.3'],
    ['lower case', '<ralph>done 8.3</ralph>'],
    ['no id', '<ralph>DONE</ralph>'],
    ['a promise within a line', 'I print <promise>QA_PASSED</promise> when I am done'],
    ['the words of the template', '<ralph>LEARN: </ralph>'],
  ])('%s', (_, message) => {
    expect(read(message)).toEqual([])
  })

  it('the prompt, echoed', () => {
    expect(read(prompt)).toEqual([])
    expect(read(`Reading prompt from stdin...\n${prompt}\nI have a question.`)).toEqual([])
  })

  it('but what follows an echo counts', () => {
    expect(read(`${prompt}\n\nAll done.\n\n<ralph>DONE 8.3</ralph>`)).toEqual([done])
  })

  it('code within one line does not swallow what follows', () => {
    expect(read('```npm test``` is green\n\n<ralph>DONE 8.3</ralph>')).toEqual([done])
  })
})

describe('H-27 the legacy marks', () => {
  it.each([
    '[DONE] Story 8.3 - 2026-01-01',
    'progress.txt says [DONE]',
    '```\n[DONE]\n```',
    '> [DONE]',
    '    [DONE]',
    '- [DONE] 8.3',
  ])('are not read from %j', message => {
    expect(read(message)).toEqual([])
  })
})

describe('a verdict', () => {
  it.each<[string, boolean, string]>([
    ['VERDICT: pass', true, ''],
    ['verdict: PASS', true, ''],
    ['**VERDICT: pass**', true, ''],
    ['VERDICT: pass. All criteria met', true, 'All criteria met'],
    ['VERDICT: pass (with thanks)', true, '(with thanks)'],
    ['VERDICT: fail - criterion 2 is not met', false, 'criterion 2 is not met'],
    ['VERDICT: fail criterion 2', false, 'criterion 2'],
  ])('%s', (message, pass, findings) => {
    expect(readSignals(message, '')).toEqual([{ type: 'verdict', pass, findings }])
  })

  it.each([
    'VERDICT: pass|fail',
    'VERDICT: pass or fail',
    'VERDICT: pass/fail',
    'VERDICT: pass?',
    'VERDICT: passing',
  ])('is not %s', message => {
    expect(readSignals(message, '')).toEqual([])
  })
})

describe('noise', () => {
  it('is bounded: the last signals of each kind are kept', () => {
    const learnings = Array.from({ length: 80 }, (_, index) => `<ralph>LEARN: ${index}</ralph>`)
    const signals = read([...learnings, '<ralph>DONE 8.3</ralph>'].join('\n'))
    expect(signals).toHaveLength(51)
    expect(signals[0]).toEqual({ type: 'learn', text: '30' })
    expect(signals.at(-1)).toEqual(done)
    expect(read(['<ralph>DONE 8.3</ralph>', ...learnings].join('\n'))[0]).toEqual(done)
  })

  it('long texts are cut', () => {
    const [signal] = read(`<ralph>LEARN: ${'x'.repeat(5_000)}</ralph>`)
    expect(signal?.type === 'learn' && signal.text).toHaveLength(500)
  })

  const parts = fc.constantFrom(
    ...[
      '<ralph>',
      '</ralph>',
      'DONE',
      'FAIL',
      'LEARN:',
      ' ',
      '\n',
      '\r',
      '8.3',
      '```',
      '~~~',
      '> ',
      '    ',
      '**',
    ],
    ...[
      '<promise>',
      '</promise>',
      '[DONE]',
      'VERDICT: pass',
      '\u001b[31m',
      '\u001b]0;',
      '\u0007',
      '\ud83d',
      '<',
      ':',
    ],
  )
  const text = fc.oneof(
    fc.array(parts, { maxLength: 80 }).map(all => all.join('')),
    fc.string({ unit: 'binary' }),
  )

  it('never throws, and every claim stands on a line of its own', () => {
    holds(
      fc.property(text, text, (message, told) => {
        const lines = spokenLines(message, told).map(line => line.replaceAll('**', '').trim())
        for (const signal of readSignals(message, told)) {
          const marks = { done: '<ralph>', promise: '<promise>', verdict: 'VERDICT' }
          const bare = marks[signal.type as keyof typeof marks] ?? ''
          const legacy = 'legacy' in signal && signal.legacy
          assert(lines.some(line => line.toUpperCase().startsWith(legacy ? '[' : bare.toUpperCase())))
          assert.deepEqual(JSON.parse(JSON.stringify(signal)), signal)
        }
      }),
      3_000,
    )
  })

  /** Each would keep a reader that looks back for every mark busy for hours: that this test ends is what it tests. */
  const megabyte = (part: string) => part.repeat(Math.ceil(1_000_000 / part.length))
  it.each<[string, string, string, number]>([
    ['open tags', megabyte('<ralph>'), '', 0],
    ['open tags on lines', megabyte('<ralph>\n'), '', 0],
    ['close tags', megabyte('</ralph>'), '', 0],
    ['complete tags', megabyte('<ralph>LEARN: x</ralph>'), '', 50],
    ['four megabytes of complete tags in one line', megabyte('<ralph>LEARN: x</ralph>').repeat(4), '', 50],
    ['room after FAIL', `<ralph>FAIL 8.3${megabyte(' ')}`, '', 0],
    ['room after LEARN', `<ralph>LEARN:${megabyte(' ')}`, '', 0],
    ['room after a tag', `<ralph>${megabyte(' ')}`, '', 0],
    ['stars', megabyte('*'), '', 0],
    ['fences', megabyte('```\n'), '', 0],
    ['half escapes', megabyte('\u001b['), '', 0],
    ['half titles', megabyte('\u001b]0;'), '', 0],
    ['blank lines', megabyte('\n'), megabyte('\n'), 0],
    ['the same line in message and prompt', megabyte('x\n'), megabyte('x\n'), 0],
    ['pairs that are nearly an echo', megabyte('x\ny\n\n'), 'x\ny\nz\n'.repeat(50_000), 0],
  ])('does not choke on %s', (_, message, told, count) => {
    expect(readSignals(message, told)).toHaveLength(count)
  })
})
