import { nearest } from '../nearest.ts'
import { splitCommand } from '../split-command.ts'

/** One thing the scripted agent does. Milliseconds throughout; `null` = for ever. */
export type Behaviour =
  | { type: 'say'; text: string; every: number }
  | { type: 'stderr'; text: string }
  | { type: 'done'; id: string }
  | { type: 'fail'; reason: string }
  | { type: 'learn'; text: string }
  | { type: 'promise'; text: string }
  | { type: 'verdict'; pass: boolean; findings: string }
  | { type: 'json'; lines: unknown[] }
  | { type: 'usage'; usage: Record<string, number> }
  | { type: 'echo-prompt' }
  | { type: 'bytes'; hex: string }
  | { type: 'flood'; bytes: number; line: number }
  | { type: 'limit'; resets: string; exit: number }
  | { type: 'write'; path: string; text: string }
  | { type: 'append'; path: string; text: string }
  | { type: 'replace'; path: string; find: string; with: string }
  | { type: 'delete'; paths: string[] }
  | { type: 'mkdir'; path: string }
  | { type: 'write-env'; path: string }
  | { type: 'write-prompt'; path: string }
  | { type: 'run'; argv: string[]; show: boolean; mayFail: boolean }
  | { type: 'git'; argv: string[]; show: boolean; mayFail: boolean }
  | { type: 'commit'; message: string; paths: string[] | null }
  | { type: 'sleep'; ms: number }
  | { type: 'wait-for'; path: string; ms: number }
  | { type: 'hang'; ms: number | null; noise: string; every: number; deaf: boolean }
  | { type: 'child'; kind: ChildKind; ms: number; pidFile: string }
  | { type: 'exit'; code: number }
  | { type: 'crash'; message: string }
  | { type: 'segfault' }

/** `deaf` ignores TERM · `holds-stdout` keeps our stdout open after our end · `daemon` leaves our session and our tree. */
export const childKinds = ['deaf', 'holds-stdout', 'daemon'] as const
export type ChildKind = (typeof childKinds)[number]

type Read = (value: unknown) => Behaviour

/** How each behaviour is written: mostly `name: value`, with `name: { … }` where it takes more. */
const readers: Record<Behaviour['type'], Read> = {
  say: value =>
    isRecord(value)
      ? { type: 'say', text: text(value, 'text'), every: number(value, 'every', 0) }
      : { type: 'say', text: word(value), every: 0 },
  stderr: value => ({ type: 'stderr', text: word(value) }),
  done: value => ({ type: 'done', id: value === true ? '{{task}}' : word(value) }),
  fail: value => ({ type: 'fail', reason: word(value) }),
  learn: value => ({ type: 'learn', text: word(value) }),
  promise: value => ({ type: 'promise', text: value === true ? 'COMPLETE' : word(value) }),
  verdict: value =>
    isRecord(value)
      ? { type: 'verdict', pass: pass(text(value, 'is')), findings: text(value, 'findings', '') }
      : { type: 'verdict', pass: pass(word(value)), findings: '' },
  json: value => ({ type: 'json', lines: Array.isArray(value) ? value : [value] }),
  usage: value => ({ type: 'usage', usage: numbers(value, ['costUsd', 'inputTokens', 'outputTokens']) }),
  'echo-prompt': () => ({ type: 'echo-prompt' }),
  bytes: value => ({ type: 'bytes', hex: hex(word(value)) }),
  flood: value =>
    isRecord(value)
      ? { type: 'flood', bytes: number(value, 'bytes'), line: number(value, 'line', 80) }
      : { type: 'flood', bytes: amount(value), line: 80 },
  limit: value =>
    isRecord(value)
      ? { type: 'limit', resets: text(value, 'resets', ''), exit: number(value, 'exit', 1) }
      : { type: 'limit', resets: value === true ? '' : word(value), exit: 1 },
  write: value => ({ type: 'write', path: text(value, 'path'), text: text(value, 'text', '') }),
  append: value => ({ type: 'append', path: text(value, 'path'), text: text(value, 'text') }),
  replace: value => ({
    type: 'replace',
    path: text(value, 'path'),
    find: text(value, 'find'),
    with: text(value, 'with'),
  }),
  delete: value => ({ type: 'delete', paths: words(value) }),
  mkdir: value => ({ type: 'mkdir', path: word(value) }),
  'write-env': value => ({ type: 'write-env', path: word(value) }),
  'write-prompt': value => ({ type: 'write-prompt', path: word(value) }),
  run: value => ({ type: 'run', ...program(value, line => ['/bin/sh', '-c', line]) }),
  git: value => {
    const { argv, ...rest } = program(value, splitCommand)
    return { type: 'git', argv: ['git', ...argv], ...rest }
  },
  commit: value =>
    isRecord(value)
      ? {
          type: 'commit',
          message: text(value, 'message'),
          paths: value.paths === undefined ? null : words(value.paths),
        }
      : { type: 'commit', message: word(value), paths: null },
  sleep: value => ({ type: 'sleep', ms: amount(value) }),
  'wait-for': value =>
    isRecord(value)
      ? { type: 'wait-for', path: text(value, 'path'), ms: number(value, 'ms', 60_000) }
      : { type: 'wait-for', path: word(value), ms: 60_000 },
  hang: value => {
    const given = isRecord(value) ? value : { ms: value }
    return {
      type: 'hang',
      ms: forEver(given.ms),
      noise: text(given, 'noise', ''),
      every: number(given, 'every', 100),
      deaf: given.deaf === true,
    }
  },
  child: value => {
    const given = isRecord(value) ? value : { kind: value }
    return {
      type: 'child',
      kind: oneOf(text(given, 'kind'), childKinds),
      ms: number(given, 'ms', 600_000),
      pidFile: text(given, 'pidFile', ''),
    }
  },
  exit: value => ({ type: 'exit', code: amount(value) }),
  crash: value => ({ type: 'crash', message: value === true ? 'the script says: crash' : word(value) }),
  segfault: () => ({ type: 'segfault' }),
}

export const behaviourNames: readonly string[] = Object.keys(readers)

/** Reads one entry of `do`: `{ name: value }`, or a bare name for what needs no value. */
export function readBehaviour(step: unknown): Behaviour {
  const entries: [string, unknown][] =
    typeof step === 'string' ? [[step, true]] : isRecord(step) ? Object.entries(step) : []
  const [first, ...more] = entries
  if (!first || more.length > 0)
    throw new Error(`a step is one behaviour, like \`say: hello\`; found ${JSON.stringify(step)}`)
  const [name, value] = first
  const read = Object.hasOwn(readers, name) ? readers[name as Behaviour['type']] : undefined
  if (!read) {
    const meant = nearest(name, behaviourNames)
    throw new Error(
      `'${name}' is not a behaviour${meant ? `; did you mean '${meant}'?` : ` (known: ${behaviourNames.join(', ')})`}`,
    )
  }
  try {
    return read(value)
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function word(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  throw new Error(`expected a text, found ${JSON.stringify(value)}`)
}

function words(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map(word)
}

function text(value: unknown, key: string, fallback?: string): string {
  if (!isRecord(value)) throw new Error(`expected a map with '${key}', found ${JSON.stringify(value)}`)
  const given = value[key]
  if (given === undefined && fallback !== undefined) return fallback
  if (given === undefined) throw new Error(`'${key}' is missing`)
  return word(given)
}

function amount(value: unknown): number {
  const given = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof given !== 'number' || !Number.isFinite(given) || given < 0)
    throw new Error(`expected a number, found ${JSON.stringify(value)}`)
  return given
}

function number(value: Record<string, unknown>, key: string, fallback?: number): number {
  const given = value[key]
  return given === undefined && fallback !== undefined ? fallback : amount(given)
}

function numbers(value: unknown, keys: readonly string[]): Record<string, number> {
  if (!isRecord(value)) throw new Error(`expected a map of ${keys.join(', ')}`)
  return Object.fromEntries(Object.entries(value).map(([key, given]) => [oneOf(key, keys), amount(given)]))
}

function oneOf<T extends string>(value: string, known: readonly T[]): T {
  const found = known.find(one => one === value)
  if (found === undefined) throw new Error(`'${value}' is not one of ${known.join(', ')}`)
  return found
}

function pass(value: string): boolean {
  return oneOf(value, ['pass', 'fail']) === 'pass'
}

function hex(value: string): string {
  const digits = value.replace(/\s+/gu, '')
  if (!/^(?:[0-9a-f]{2})+$/iu.test(digits)) throw new Error(`expected pairs of hex digits, found '${value}'`)
  return digits
}

function forEver(value: unknown): number | null {
  return value === undefined || value === true || value === 'forever' ? null : amount(value)
}

function program(
  value: unknown,
  split: (line: string) => string[],
): { argv: string[]; show: boolean; mayFail: boolean } {
  const given = isRecord(value) ? value : { command: value }
  const argv = Array.isArray(given.command) ? given.command.map(word) : split(text(given, 'command'))
  if (argv.length === 0) throw new Error(`'command' is empty`)
  return { argv, show: given.show === true, mayFail: given.mayFail === true }
}
