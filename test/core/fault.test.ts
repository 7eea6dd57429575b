import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AgentEnd, classify, type FaultPattern, resetTime } from '../../src/core/fault.ts'

/** A Sunday. */
const noon = Date.UTC(2026, 10, 15, 12)
const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000]

const patterns: FaultPattern[] = [
  { kind: 'limit', pattern: 'usage limit reached|too many requests' },
  { kind: 'auth', pattern: 'not logged in' },
  { kind: 'infrastructure', pattern: 'connection (?:refused|reset)|overloaded' },
]

function end(rest: Partial<AgentEnd>): AgentEnd {
  return {
    exit: 0,
    killed: null,
    ended: 'exit',
    reported: null,
    message: '',
    tail: '',
    patterns,
    now: noon,
    ...rest,
  }
}

describe('resetTime', () => {
  it.each([
    ['5-hour limit reached ∙ resets 3am (UTC)', noon + 15 * hour],
    ["You've hit your limit · resets 3pm (UTC)", noon + 3 * hour],
    ['resets 12am (UTC)', noon + 12 * hour],
    ['resets 12:30pm UTC', noon + 30 * minute],
    ['resets at 15:00 UTC', noon + 3 * hour],
    ['resets at 15:00 GMT+2', noon + hour],
    ['resets at 15:00 (UTC-03:30)', noon + 6.5 * hour],
    ['resets at 15:00+01:00', noon + 2 * hour],
    ['resets 8am (America/New_York)', noon + hour],
    ['resets 3pm (Asia/Kolkata)', noon + 21.5 * hour],
    ['resets 5am PST', noon + hour],
    ['limit will reset at 4:15 p.m. UTC', noon + 4.25 * hour],
    ["You've hit your weekly limit · resets Nov 20, 3pm (UTC)", noon + 5 * day + 3 * hour],
    ['Try again at Nov 20th, 2026 3:05 PM UTC', noon + 5 * day + 3 * hour + 5 * minute],
    ['available again 20 November at 15:00 UTC', noon + 5 * day + 3 * hour],
    ['resets Monday 9am (UTC)', noon + 21 * hour],
    ['resets Sun at 9am (UTC)', noon + 7 * day - 3 * hour],
    ['resets tomorrow at 09:00 UTC', noon + 21 * hour],
    ['limit resets 2026-11-15T14:30:00Z', noon + 2.5 * hour],
    ['limit resets 2026-11-15 14:30:00.123456+01:00', noon + 1.5 * hour + 123],
    ['limit reached, resets in 2 hours', noon + 2 * hour],
    ['try again in 45 seconds', noon + 45 * second],
    ['in 1h 30m', noon + 1.5 * hour],
    ['Try again in 3 days 4 hours 9 minutes.', noon + 3 * day + 4 * hour + 9 * minute],
    ['try again in 1 hour and 30 minutes', noon + 1.5 * hour],
    ['Please retry in 42.5s.', noon + 42_500],
    ['please wait 10 min', noon + 10 * minute],
    ['rate limited, try again in an hour', noon + hour],
    [`Claude AI usage limit reached|${noon / 1000 + 600}`, noon + 10 * minute],
    [`{"resetsAt":${noon + 5000}}`, noon + 5 * second],
    ['HTTP 429, Retry-After: 120', noon + 2 * minute],
    ['{"retry-after":"7"}', noon + 7 * second],
    ['"retryDelay": "34s"', noon + 34 * second],
    ['"retry_after_ms": 1500', noon + 1500],
    ['Retry-After: Sun, 15 Nov 2026 12:01:00 GMT', noon + minute],
  ])('reads %j', (text, time) => {
    expect(resetTime(text, noon)).toBe(time)
  })

  it.each([
    'usage limit reached',
    'resets soon',
    'try again later',
    'try again in a moment',
    'resets 3',
    'resets 25:99',
    'resets 13pm (UTC)',
    'resets Feb 31',
    'I waited until 429 came',
    'usage limit reached|123',
    `reached|${noon / 1000 - 7200}`,
    'try again in 400 days',
    'resets Mar 1, 3pm (UTC)',
  ])('finds no time in %j', text => {
    expect(resetTime(text, noon)).toBeNull()
  })

  it('takes a clock time without a zone as local', () => {
    expect(resetTime('resets at 15:00', noon, 'Asia/Tokyo')).toBe(noon + 18 * hour)
    expect(resetTime('resets at 15:00', noon, 'UTC')).toBe(noon + 3 * hour)
    expect(resetTime('resets at 15:00 SHARP', noon, 'UTC')).toBe(noon + 3 * hour)
  })

  it('lets the past roll to the next day, but not what has only just passed', () => {
    expect(resetTime('resets 11am (UTC)', noon)).toBe(noon + 23 * hour)
    expect(resetTime('resets 11:59am (UTC)', noon)).toBe(noon - minute)
    expect(resetTime('resets Jan 2, 3pm (UTC)', Date.UTC(2026, 11, 30))).toBe(Date.UTC(2027, 0, 2, 15))
  })

  it('keeps to the wall clock over a change to winter time', () => {
    // In New York the clocks went back on 1 November 2026 at 06:00 UTC.
    const before = Date.UTC(2026, 9, 31, 20)
    expect(resetTime('resets 3am (America/New_York)', before)).toBe(Date.UTC(2026, 10, 1, 8))
  })

  it('is total: any text gives null or a time that is near', () => {
    const words = fc.constantFrom(
      'resets',
      'at',
      'in',
      '3am',
      '15:00',
      'Nov',
      '31',
      '(UTC)',
      '(Mars/Base)',
      'GMT+99',
      '|',
      '1731650000',
      'retry-after:',
      '9',
      'hours',
      'tomorrow',
      'Fri',
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.array(words, { maxLength: 8 }).map(list => list.join(' ')),
        ),
        fc.integer({ min: 0, max: 4e12 }),
        (text, now) => {
          const time = resetTime(text, now)
          expect(
            time === null || (Number.isInteger(time) && time >= now - 2 * minute && time <= now + 32 * day),
          ).toBe(true)
        },
      ),
    )
  })
})

describe('classify', () => {
  const useful = `${'I changed the server and added tests for it.\n'.repeat(30)}A client over its usage limit reached now gets 429 Too Many Requests.`

  it('finds nothing wrong with an agent that ended well and said something', () => {
    expect(classify(end({ message: 'done' }))).toBeNull()
  })

  it('calls exit 0 without text empty', () => {
    expect(classify(end({ message: ' \n\t' }))).toEqual({ kind: 'empty', message: 'Agent said nothing' })
    expect(classify(end({ tail: 'some warning of the runtime' }))?.kind).toBe('empty')
  })

  it('counts a limit message with exit code 1', () => {
    expect(classify(end({ exit: 1, message: 'usage limit reached, resets 3am (UTC)' }))).toEqual({
      kind: 'limit',
      message: 'usage limit reached, resets 3am (UTC)',
      until: noon + 15 * hour,
    })
    expect(
      classify(end({ exit: 1, tail: 'stuff\nError: Usage limit reached\nTry again in 5 minutes' })),
    ).toMatchObject({ kind: 'limit', until: noon + 5 * minute })
    expect(classify(end({ exit: 1, message: `${useful}\nError: usage limit reached` }))?.kind).toBe('limit')
  })

  it('counts a limit message with exit code 0 when it is nearly all that was said', () => {
    expect(classify(end({ message: 'Claude AI usage limit reached|1794744000' }))?.kind).toBe('limit')
    expect(
      classify(end({ message: '\u001b[31mError: usage limit reached\u001b[0m\nUpgrade your plan.' }))?.kind,
    ).toBe('limit')
    expect(classify(end({ tail: 'usage limit reached' }))?.kind).toBe('limit')
  })

  it.each([
    ['a long answer', { message: useful }],
    ['a long answer with a failed exit', { message: useful, exit: 1 }],
    ['a short answer', { message: 'I now return 429 Too Many Requests.' }],
    ['a short answer with a failed exit', { message: 'I now return 429 Too Many Requests.', exit: 1 }],
    [
      'a text of many lines',
      {
        message:
          'Report\nUsage limit reached\nis now a state\nof its own,\nwith tests\nand a page in the manual.',
      },
    ],
    [
      'a text that opens with it and goes on',
      { message: `Usage limit reached: ${'how it is handled now. '.repeat(20)}` },
    ],
    ['a list', { message: 'Done:\n- too many requests are refused', exit: 1 }],
    ['a claim', { message: 'Too many requests: handled.\n<ralph>DONE 1.1</ralph>' }],
    ['a quotation', { message: 'The log says "usage limit reached" in red.' }],
    [
      'an error that came long before the end',
      { tail: `connection reset\n${'more output\n'.repeat(20)}`, exit: 1 },
    ],
  ])('does not take %s that only mentions a limit for one', (_, rest) => {
    const fault = classify(end(rest))
    expect(fault?.kind ?? null).toBe(rest && 'exit' in rest ? 'crash' : null)
  })

  it('tells an outage and a missing login from a crash', () => {
    expect(classify(end({ exit: 1, tail: 'connect: connection refused' }))?.kind).toBe('infrastructure')
    expect(classify(end({ exit: 1, message: 'my-agent: Not logged in' }))?.kind).toBe('auth')
    expect(classify(end({ exit: 1, tail: 'TypeError: x is not a function' }))).toEqual({
      kind: 'crash',
      message: 'Agent exited with code 1: TypeError: x is not a function',
    })
    expect(classify(end({ exit: null, killed: 'SIGSEGV' }))).toEqual({
      kind: 'crash',
      message: 'Agent was killed by SIGSEGV',
    })
  })

  it('believes the agent’s own events before its words, and adds the end of a limit', () => {
    const reported = { kind: 'infrastructure' as const, message: 'API Error: 529' }
    expect(classify(end({ exit: 1, reported, message: 'usage limit reached' }))).toEqual(reported)
    expect(
      classify(end({ exit: 0, reported: { kind: 'limit', message: 'resets 3am (UTC)' }, message: 'fine' })),
    ).toMatchObject({ until: noon + 15 * hour })
    const known = { kind: 'limit' as const, message: 'resets 3am (UTC)', until: 5 }
    expect(classify(end({ reported: known }))).toEqual(known)
  })

  it('believes our own clock before everything else', () => {
    const reported = { kind: 'crash' as const, message: 'Agent was interrupted' }
    expect(
      classify(end({ ended: 'timeout', ms: 1_800_400, killed: 'SIGTERM', exit: null, reported })),
    ).toEqual({ kind: 'timeout', message: 'Timeout after 1800s' })
    expect(classify(end({ ended: 'idle', killed: 'SIGKILL', exit: null }))).toMatchObject({ kind: 'timeout' })
    expect(classify(end({ exit: 124 }))).toMatchObject({ kind: 'timeout' })
  })

  it('has nothing to say about an agent that a person stopped', () => {
    expect(classify(end({ ended: 'stopped', killed: 'SIGTERM', exit: null }))).toBeNull()
  })

  it('holds for a program that cannot be started, waits for a machine that is full', () => {
    expect(classify(end({ exit: null, spawnError: 'spawn claude ENOENT' }))).toEqual({
      kind: 'permission',
      message: 'Agent could not be started: spawn claude ENOENT',
    })
    expect(classify(end({ exit: null, spawnError: 'claude was not found in PATH' }))?.kind).toBe('permission')
    expect(classify(end({ exit: null, spawnError: 'spawn EAGAIN' }))?.kind).toBe('infrastructure')
  })

  it('is total, quick on long text, and never calls a failed exit fine', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary' }),
        fc.integer({ min: 1, max: 255 }),
        (message, tail, exit) => {
          expect(classify(end({ message, tail, exit }))).not.toBeNull()
        },
      ),
    )
    const long = 'usage limit reached '.repeat(20_000)
    expect(classify(end({ message: long, tail: long, exit: 1 }))?.kind).toBe('crash')
  })
})
