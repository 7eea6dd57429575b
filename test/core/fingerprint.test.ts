import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fingerprint, normalise } from '../../src/core/fingerprint.ts'

const error = (changing: {
  time: string
  took: string
  address: string
  temp: string
  line: number
  pid: number
  seed: string
}) => `
\u001b[31m FAIL \u001b[39m test/a.test.ts > sum at ${changing.time}
  AssertionError: expected 1 to be 2 (took ${changing.took})
    at Object.<anonymous> (${changing.temp}/project/a.test.ts:${changing.line}:7)
  File "a.py", line ${changing.line}, in test_b
  src/a.ts(${changing.line},5): error TS2322: no
  src/lib.rs:${changing.line}:9:
  object at ${changing.address}, listening on http://127.0.0.1:${30_000 + changing.pid}/x
  (node:${changing.pid}) Warning: old
  ${changing.line} | code
 Randomized with seed ${changing.seed}
===== 1 failed in ${changing.took} =====
`

describe('fingerprint', () => {
  it('S3-21 is eight lower-case hex digits for any text', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 }), codes => {
        expect(fingerprint(String.fromCharCode(...codes))).toMatch(/^[0-9a-f]{8}$/u)
      }),
    )
  })

  it('S3-T15 is equal for outputs that differ only in times, durations, addresses and temporary paths', () => {
    const one = error({
      time: '2026-01-21T10:30:00Z',
      took: '9ms',
      address: '0x7f01',
      temp: '/tmp/ralph-aB3',
      line: 12,
      pid: 812,
      seed: '1',
    })
    const two = error({
      time: '2027-12-01 08:01:59.123+02:00',
      took: '1203.5 ms',
      address: '0xdeadbeef',
      temp: '/var/folders/x/y',
      line: 208,
      pid: 9,
      seed: '99812',
    })
    expect(fingerprint(two)).toBe(fingerprint(one))
  })

  it.each([
    [
      'a ruler as long as its words leave room',
      '== 1 failed in 0.05s ==============',
      '= 1 failed in 110.25s =======',
    ],
    ['a wall clock', 'Time: 00:00.004, Memory: 4.00 MB', 'Time: 00:01.104, Memory: 12.00 MB'],
    ['a speed', 'Finished in 0.000933s, 4287.0341 runs/s', 'Finished in 0.1s, 12.1 runs/s'],
    ['a thread', "thread 'a' (20142) panicked at x.rs:6:150:", "thread 'a' (7) panicked at x.rs:9:1:"],
    ['an identity', 'expected:<User@1b2c3d4>', 'expected:<User@99aabb0>'],
    ['an id', 'job 123e4567-e89b-12d3-a456-426614174000', 'job 00000000-0000-4000-8000-000000000001'],
    ['Windows line ends', 'a\r\nb\r\n', 'a\nb\n'],
  ])('is not moved by %s', (_, one, two) => {
    expect(normalise(one)).toBe(normalise(two))
  })

  it.each([
    ['another message', 'expected 1 to be 2', 'expected 1 to be 3'],
    ['another test', 'FAIL a.test.ts > adds', 'FAIL a.test.ts > subtracts'],
    ['another file', 'at src/a.ts:1:1', 'at src/b.ts:1:1'],
    ['another count', '1 failed, 2 passed', '2 failed, 1 passed'],
  ])('S3-28 differs for %s, so that a different error breaks the chain of equal ones', (_, one, two) => {
    expect(fingerprint(one)).not.toBe(fingerprint(two))
  })

  it('stays the same when it is normalised again', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'abc 019:.-=/\n()x@ms|'.split('')), maxLength: 200 }),
        text => {
          const once = normalise(text)
          expect(normalise(once).split('\n').length).toBeLessThanOrEqual(once.split('\n').length)
        },
      ),
    )
  })

  it('takes no more than linear time', () => {
    const long = [
      '='.repeat(50_000),
      '1:'.repeat(50_000),
      'Mon Jan 1 '.repeat(5_000),
      '/tmp/'.repeat(20_000),
      ' '.repeat(50_000),
    ]
    // Processor time: a busy machine must not fail this.
    const from = process.cpuUsage()
    for (const text of long) fingerprint(text)
    expect(process.cpuUsage(from).user).toBeLessThan(5_000_000)
  })
})
