import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ago, cut, duration, oneLine, plural } from '../../src/core/text.ts'

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`).join('\n')

describe('cut', () => {
  it('leaves exactly 100 lines as they are, with or without a newline at the end', () => {
    expect(cut(numbered(100))).toBe(numbered(100))
    expect(cut(`${numbered(100)}\n`)).toBe(`${numbered(100)}\n`)
  })

  it('cuts 101 lines by one, in the middle', () => {
    const lines = cut(numbered(101)).split('\n')
    expect(lines[49]).toBe('line 50')
    expect(lines[50]).toBe('[... 1 lines truncated ...]')
    expect(lines[51]).toBe('line 52')
    expect(lines.at(-1)).toBe('line 101')
    expect(lines).toHaveLength(101)
  })

  it('S3-25 keeps head and tail and says how many lines it dropped, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ maxLength: 5 }).map(text => text.replaceAll('\n', ' ')),
          { maxLength: 300 },
        ),
        fc.integer({ min: 0, max: 120 }),
        (lines, most) => {
          const text = lines.join('\n')
          const kept = cut(text, most).split('\n')
          const all = text.endsWith('\n') ? text.slice(0, -1).split('\n') : text.split('\n')
          if (all.length <= most) {
            expect(kept.join('\n')).toBe(text)
            return
          }
          const dropped = all.length - most
          const head = Math.floor(most / 2)
          expect(kept[head]).toBe(`[... ${dropped} lines truncated ...]`)
          expect(kept.slice(0, head)).toEqual(all.slice(0, head))
          expect(kept.slice(head + 1, most + 1)).toEqual(all.slice(all.length - (most - head)))
        },
      ),
    )
  })
})

describe('words for people', () => {
  it('makes one line that never ends in half a character', () => {
    expect(oneLine('a\n  b\tc')).toBe('a b c')
    expect(oneLine('x'.repeat(10), 5)).toBe('xxxx…')
    expect(oneLine(`abc${'😀'.repeat(3)}`, 5)).toBe('abc…')
  })

  it('counts', () => {
    expect([plural(1, 'test'), plural(0, 'test'), plural(2, 'story', 'stories')]).toEqual([
      '1 test',
      '0 tests',
      '2 stories',
    ])
  })

  it('tells durations without 60.0 s or 1000 ms', () => {
    expect([0, 850, 999.6, 12_345, 59_949, 59_950, 323_000, 3_599_600, 7_500_000].map(duration)).toEqual([
      '0 ms',
      '850 ms',
      '1.0 s',
      '12.3 s',
      '59.9 s',
      '1m 00s',
      '5m 23s',
      '1h 00m',
      '2h 05m',
    ])
    expect([-5, 45_000, 300_000, 7_200_000].map(ago)).toEqual(['0s', '45s', '5m', '2h'])
  })
})
