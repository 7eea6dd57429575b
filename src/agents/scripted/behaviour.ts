import { nearest } from '../nearest.ts'
import { splitCommand } from '../split-command.ts'
import {
  amount,
  forEver,
  hex,
  isRecord,
  number,
  numbers,
  oneOf,
  pass,
  program,
  text,
  word,
  words,
} from './values.ts'

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
