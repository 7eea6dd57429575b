import type { EndedBy, Fault, FaultKind } from './outcome.ts'
import { oneLine } from './text.ts'

/** A phrase of an error message and what it means. Data, so that a user can add his own. */
export type FaultPattern = {
  kind: FaultKind
  /** A regular expression, tried without regard to case. */
  pattern: string
}

/** How an agent's process ended and what it said, as far as a fault can be read from it. */
export type AgentEnd = {
  exit: number | null
  killed: string | null
  ended: EndedBy
  /** The program could not be started at all. */
  spawnError?: string | null
  ms?: number
  /** What the agent's own structured events say went wrong. */
  reported: Fault | null
  /** The final message. */
  message: string
  /** What was printed besides the message (stderr, stray lines), its end. */
  tail: string
  patterns: readonly FaultPattern[]
  /** Milliseconds since the epoch. */
  now: number
}

/**
 * Says why an attempt did not end well, or null. The strongest witness speaks first: our own clock, then the agent's
 * structured events, then phrases in what reads like an error message, last the bare exit code.
 */
export function classify(end: AgentEnd): Fault | null {
  if (end.spawnError) return cannotStart(end.spawnError)
  if (end.ended === 'stopped') return null
  if (end.ended === 'timeout') return { kind: 'timeout', message: `Timeout${after(end.ms)}` }
  if (end.ended === 'idle')
    return { kind: 'timeout', message: `No output for too long, stopped${after(end.ms)}` }
  if (end.reported) return withReset(end.reported, end.reported.message, end.now)
  return end.exit === 0 && end.killed === null ? quietFault(end) : loudFault(end)
}

/** A machine that is short of something may recover; whatever else keeps a program from starting will not mend itself. */
function cannotStart(error: string): Fault {
  const passing =
    /E(?:AGAIN|NOMEM|MFILE|NFILE|TXTBSY)|too many open files|cannot allocate|temporarily/iu.test(error)
  return {
    kind: passing ? 'infrastructure' : 'permission',
    message: `Agent could not be started: ${oneLine(error)}`,
  }
}

function after(ms: number | undefined): string {
  return ms === undefined ? '' : ` after ${Math.round(ms / 1000)}s`
}

/** The most that an error message by itself is long. A longer text is an answer, whatever it mentions. */
const briefLength = 400
const briefLines = 4

/** Exit code 0: only when the error is (nearly) all that was said. */
function quietFault(end: AgentEnd): Fault | null {
  const said = end.message.trim()
  const text = said || end.tail.trim()
  const lines = lastLines(text, briefLines + 1)
  const brief =
    text.length <= briefLength &&
    lines.length <= briefLines &&
    !/<ralph>|<promise>|VERDICT:|\[DONE\]/u.test(text)
  const found = brief ? matchLines(end, lines.slice(0, 1), true) : null
  if (found) return withReset(found, text, end.now)
  return said ? null : { kind: 'empty', message: 'Agent said nothing' }
}

/** A failed exit: the last lines of what was printed say why, when they read like an error. */
function loudFault(end: AgentEnd): Fault {
  const stray = lastLines(end.tail, 10)
  const said = lastLines(end.message, 3)
  const found = matchLines(end, stray, false) ?? matchLines(end, said, true)
  if (found) return withReset(found, [...stray, ...said].join('\n'), end.now)
  const why = stray.at(-1) ? `: ${oneLine(stray.at(-1) ?? '', 160)}` : ''
  if (end.killed) return { kind: 'crash', message: `Agent was killed by ${end.killed}${why}` }
  // The exit code of timeout(1).
  if (end.exit === 124) return { kind: 'timeout', message: 'Timeout (exit code 124)' }
  return { kind: 'crash', message: `Agent exited with code ${end.exit}${why}` }
}

/** An error is a short line. In the agent's own message the phrase must also open the line, as errors do and prose does not. */
function matchLines(end: AgentEnd, lines: string[], strict: boolean): Fault | null {
  const short = lines.filter(line => line.length <= 500)
  for (const { kind, pattern } of end.patterns) {
    const test = new RegExp(pattern, 'iu')
    const line = short.findLast(one => {
      const match = test.exec(one)
      return match !== null && (!strict || opens(one.slice(0, match.index)))
    })
    if (line !== undefined) return { kind, message: oneLine(line) }
  }
  return null
}

const errorWords =
  /^(?:api|fatal|stream|http|error|err|warn|warning|failed|failure|request|rejected|status|code|claude|ai|last|exceeded|retry|limit|the|your|type|message|this|server|unexpected)$/iu

/** True for what may stand before the phrase in an error line: a program's name, a time, brackets, words like "API Error". */
function opens(before: string): boolean {
  const bare = before.replace(/^\s*[\w./-]+:\s/u, '').replace(/\[[^\]]*\]/gu, '')
  return (
    (bare.match(/\p{L}+/gu) ?? []).every(word => errorWords.test(word)) &&
    !/^\s*(?:[-*•]|\d+\.)\s/u.test(before)
  )
}

function lastLines(text: string, most: number): string[] {
  const lines = text.split(/[\r\n]+/u)
  const last: string[] = []
  for (let index = lines.length - 1; index >= 0 && last.length < most; index--) {
    const line = plain(lines[index] ?? '').trim()
    if (line) last.unshift(line)
  }
  return last
}

function plain(text: string): string {
  return text.replace(/\u001b\[[0-?]*[ -/]*[@-~]/gu, '').replace(/[\u0000-\u0008\u000b-\u001f\u007f]/gu, '')
}

function withReset(fault: Fault, text: string, now: number): Fault {
  if (fault.until !== undefined || (fault.kind !== 'limit' && fault.kind !== 'infrastructure')) return fault
  const until = resetTime(text, now)
  return until === null ? fault : { ...fault, until }
}

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** A reset further away than this is a misreading. */
const longestWait = 32 * day
/** A clock time that has only just passed is the one that was meant; clocks differ a little. */
const justPassed = 2 * minute

/**
 * When a limit ends, read from its message: `resets 3am (UTC)`, `resets Nov 20, 3pm`, `try again in 1h 30m`,
 * `|1731650000`, `Retry-After: 120`. A clock time without a zone is this machine's. Null when the text does not say.
 */
export function resetTime(text: string, now: number, zone?: string): number | null {
  const found =
    epochTime(text) ??
    retryAfter(text, now) ??
    writtenTime(text) ??
    inWhile(text, now) ??
    clockTime(text, now, zone)
  return found !== null && found >= now - justPassed && found - now <= longestWait ? found : null
}

function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

function epochTime(text: string): number | null {
  const digits = /(?:\||reset(?:s|_?at|sAt)?["']?\s*[:=]\s*["']?)\s*(\d{10}(?:\d{3})?)(?!\d)/iu.exec(
    text,
  )?.[1]
  if (!digits) return null
  return digits.length === 10 ? Number(digits) * second : Number(digits)
}

function retryAfter(text: string, now: number): number | null {
  const date = /retry-after["']?\s*[:=]\s*["']?([a-z]{3}, \d{1,2} [a-z]{3} \d{4} \d\d:\d\d:\d\d GMT)/iu.exec(
    text,
  )?.[1]
  if (date) return Date.parse(date)
  const wait =
    /retry[-_ ]?(?:after|delay)(_ms|[-_ ]?seconds)?["']?\s*[:=]?\s*["']?(\d+(?:\.\d+)?)\s*(ms|min|h)?/iu.exec(
      text,
    )
  if (!wait) return null
  const unit = wait[1]?.toLowerCase() === '_ms' ? 'ms' : (wait[3]?.toLowerCase() ?? 's')
  return Math.round(now + Number(wait[2]) * unitLength(unit))
}

/** A date written in full, as machines do. */
function writtenTime(text: string): number | null {
  const match =
    /(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?(?:\.\d{1,3})?)\d*\s?(Z|UTC|GMT|[+-]\d\d:?\d\d)/u.exec(text)
  if (!match) return null
  const offset = /^[+-]/u.test(match[3] ?? '') ? match[3] : 'Z'
  const at = Date.parse(`${match[1]}T${match[2]}${offset}`)
  return Number.isNaN(at) ? null : at
}

const amount =
  '\\d+(?:\\.\\d+)?\\s*(?:weeks?|days?|d|hours?|hrs?|h|minutes?|mins?|m|milliseconds?|ms|seconds?|secs?|s)\\b'

function inWhile(text: string, now: number): number | null {
  const span = new RegExp(
    `\\b(?:in|after|wait)\\s+(?:about\\s+)?(${amount}(?:(?:\\s*,)?(?:\\s*and)?\\s*${amount})*)`,
    'iu',
  ).exec(text)?.[1]
  if (!span) return /\b(?:in|after) an hour\b/iu.test(text) ? now + hour : null
  let total = 0
  for (const part of span.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/giu))
    total += Number(part[1]) * unitLength(part[2] ?? '')
  return Math.round(now + total)
}

function unitLength(unit: string): number {
  const name = unit.toLowerCase()
  if (name === 'ms' || name.startsWith('milli')) return 1
  return { s: second, m: minute, h: hour, d: day, w: 7 * day }[name[0] ?? ''] ?? second
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const clockPattern = new RegExp(
  [
    '\\b(?:resets?|try again|retry|available(?: again)?|until|renews?|refresh(?:es)?)\\b[^\\d\\n]{0,20}?',
    `(?:\\b(?<month>${months.join('|')})[a-z]*\\.?\\s+(?<date>\\d{1,2})(?:st|nd|rd|th)?(?:,?\\s+(?<year>\\d{4}))?,?\\s+(?:at\\s+)?`,
    `|\\b(?<date2>\\d{1,2})\\s+(?<month2>${months.join('|')})[a-z]*\\.?(?:,?\\s+(?<year2>\\d{4}))?,?\\s+(?:at\\s+)?`,
    `|\\b(?<weekday>${weekdays.join('|')})[a-z]*,?\\s+(?:at\\s+)?|\\b(?<tomorrow>tomorrow)\\s+(?:at\\s+)?)?`,
    '\\b(?<hour>\\d{1,2})(?::(?<minute>\\d\\d))?(?::\\d\\d)?\\s*(?<half>[ap]\\.?m\\b\\.?)?',
    '(?:\\s*\\(?(?<zone>(?:UTC|GMT)\\s?[+-]\\d{1,2}(?::?\\d\\d)?|[+-]\\d\\d:?\\d\\d|[A-Za-z]+(?:/[A-Za-z_+\\-0-9]+)+|[A-Z]{1,5}\\b))?',
  ].join(''),
  'iu',
)

type Civil = { year: number; month: number; date: number; hour: number; minute: number }

function clockTime(text: string, now: number, local: string | undefined): number | null {
  const said = clockPattern.exec(text)?.groups
  if (!said || (said.minute === undefined && said.half === undefined)) return null
  const clock = Number(said.hour)
  const pm = said.half?.toLowerCase().startsWith('p') ?? false
  const hours = said.half ? (clock % 12) + (pm ? 12 : 0) : clock
  if (clock > 24 || (said.half && (clock < 1 || clock > 12)) || Number(said.minute ?? 0) > 59) return null

  const zone =
    said.zone !== undefined && offsetOf(said.zone, now) !== null ? said.zone : (local ?? localZone())
  const at = (civil: Civil) => fromCivil(civil, zone)
  const today: Civil = { ...civilDate(now, zone), hour: hours, minute: Number(said.minute ?? 0) }
  const isPast = (time: number) => time < now - justPassed

  const month = (said.month ?? said.month2)?.slice(0, 3).toLowerCase()
  if (month) {
    const year = said.year ?? said.year2
    const named: Civil = { ...today, month: months.indexOf(month), date: Number(said.date ?? said.date2) }
    if (year) return at({ ...named, year: Number(year) })
    return isPast(at(named)) ? at({ ...named, year: named.year + 1 }) : at(named)
  }
  if (said.tomorrow) return at({ ...today, date: today.date + 1 })
  if (said.weekday) {
    const ahead = (weekdays.indexOf(said.weekday.slice(0, 3).toLowerCase()) - weekdayOf(today) + 7) % 7
    const next = { ...today, date: today.date + ahead }
    return isPast(at(next)) ? at({ ...next, date: next.date + 7 }) : at(next)
  }
  return isPast(at(today)) ? at({ ...today, date: today.date + 1 }) : at(today)
}

function weekdayOf(civil: Civil): number {
  return new Date(Date.UTC(civil.year, civil.month, civil.date)).getUTCDay()
}

function civilDate(time: number, zone: string): Pick<Civil, 'year' | 'month' | 'date'> {
  const shifted = new Date(time + (offsetOf(zone, time) ?? 0))
  return { year: shifted.getUTCFullYear(), month: shifted.getUTCMonth(), date: shifted.getUTCDate() }
}

/** Twice, because the offset at the guess may differ from that at the true moment (summer time). */
function fromCivil(civil: Civil, zone: string): number {
  const utc = Date.UTC(civil.year, civil.month, civil.date, civil.hour, civil.minute)
  const guess = utc - (offsetOf(zone, utc) ?? 0)
  return utc - (offsetOf(zone, guess) ?? 0)
}

/** Zones that people write and that have no IANA name of their own. */
const zoneHours: Record<string, number> = {
  Z: 0,
  UTC: 0,
  GMT: 0,
  PST: -8,
  PDT: -7,
  MST: -7,
  MDT: -6,
  CST: -6,
  CDT: -5,
  EST: -5,
  EDT: -4,
  BST: 1,
  CET: 1,
  CEST: 2,
}

/** Milliseconds east of UTC; null for a word that is no time zone. */
function offsetOf(zone: string, time: number): number | null {
  const fixed = /^(?:UTC|GMT)?\s?([+-])(\d{1,2}?)(?::?(\d\d))?$/iu.exec(zone)
  if (fixed) return (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * hour + Number(fixed[3] ?? 0) * minute)
  const known = zoneHours[zone.toUpperCase()]
  if (known !== undefined) return known * hour
  try {
    const parts = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      timeZoneName: 'longOffset',
    }).formatToParts(time)
    const name = parts.find(part => part.type === 'timeZoneName')?.value ?? ''
    return name === 'GMT' ? 0 : name.startsWith('GMT') ? offsetOf(name.slice(3), time) : null
  } catch {
    // Intl throws for a word that names no zone.
    return null
  }
}
