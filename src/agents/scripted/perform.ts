import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Behaviour } from './behaviour.ts'
import { flood, print, printBytes, printError, sleep } from './output.ts'
import { runCommit, runProgram, startChild } from './processes.ts'
import { usagePrefix } from './usage-line.ts'

/** Ends the program with a code and a line on stderr. */
export class Exit extends Error {
  readonly code: number

  constructor(code: number, message = '') {
    super(message)
    this.code = code
  }
}

export type Stage = { prompt: Buffer; call: Record<string, string>; env: Record<string, string | undefined> }

/** Does one step. Everything is done synchronously and in order, so that a script always plays the same way. */
export function perform(step: Behaviour, stage: Stage): void {
  const act = acts[step.type] as (step: Behaviour, stage: Stage) => void
  act(step, stage)
}

type Acts = { [Type in Behaviour['type']]: (step: Extract<Behaviour, { type: Type }>, stage: Stage) => void }

const acts: Acts = {
  say: ({ text, every }) => say(`${text}\n`, every),
  stderr: ({ text }) => printError(`${text}\n`),
  done: ({ id }) => print(`<ralph>DONE ${id}</ralph>\n`),
  fail: ({ reason }, { call }) => print(`<ralph>FAIL ${call.task}: ${reason}</ralph>\n`),
  learn: ({ text }) => print(`<ralph>LEARN: ${text}</ralph>\n`),
  promise: ({ text }) => print(`<promise>${text}</promise>\n`),
  verdict: ({ pass, findings }) =>
    print(`VERDICT: ${pass ? 'pass' : 'fail'}${findings ? `: ${findings}` : ''}\n`),
  json: ({ lines }) => print(lines.map(line => `${JSON.stringify(line)}\n`).join('')),
  usage: ({ usage }) => print(`${usagePrefix}${JSON.stringify(usage)}\n`),
  'echo-prompt': (_, { prompt }) => printBytes(prompt),
  bytes: ({ hex }) => printBytes(Buffer.from(hex, 'hex')),
  flood: ({ bytes, line }) => flood(bytes, line),
  limit: ({ resets, exit }) => {
    print(`You've hit your limit${resets ? ` · resets ${resets}` : ''}\n`)
    throw new Exit(exit)
  },
  write: ({ path, text }) => writeFileSync(prepared(path), text),
  append: ({ path, text }) => appendFileSync(prepared(path), text),
  replace: step => replace(step.path, step.find, step.with),
  delete: ({ paths }) => {
    for (const file of paths) rmSync(file, { recursive: true, force: true })
  },
  mkdir: ({ path }) => mkdirSync(path, { recursive: true }),
  'write-env': ({ path }, { env }) =>
    writeFileSync(prepared(path), `${JSON.stringify(sorted(env), null, 2)}\n`),
  'write-prompt': ({ path }, { prompt }) => writeFileSync(prepared(path), prompt),
  run: ({ argv, show, mayFail }) => ended(argv.join(' '), runProgram(argv, show), mayFail),
  git: ({ argv, show, mayFail }) => ended(argv.join(' '), runProgram(argv, show), mayFail),
  commit: ({ message, paths }) => ended('commit', runCommit(message, paths), false),
  sleep: ({ ms }) => sleep(ms),
  'wait-for': ({ path, ms }) => waitFor(path, ms),
  hang: step => hang(step),
  child: step => startChild(step),
  exit: ({ code }) => {
    throw new Exit(code)
  },
  crash: ({ message }) => {
    throw new Error(message)
  },
  segfault: () => {
    process.kill(process.pid, 'SIGSEGV')
    sleep(60_000)
  },
}

function sorted(env: Record<string, string | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** With a pause, piece by piece, as a model streams. */
function say(text: string, every: number): void {
  for (const piece of every === 0 ? [text] : (text.match(/[\s\S]{1,12}/gu) ?? [])) {
    print(piece)
    sleep(every)
  }
}

/** A file's folders are made when they are missing. */
function prepared(file: string): string {
  mkdirSync(dirname(resolve(file)), { recursive: true })
  return file
}

function replace(file: string, find: string, replacement: string): void {
  const before = readFileSync(file, 'utf8')
  if (!before.includes(find)) throw new Exit(4, `replace: '${find}' is not in ${file}`)
  writeFileSync(
    file,
    before.replaceAll(find, () => replacement),
  )
}

function ended(what: string, failure: string | null, mayFail: boolean): void {
  if (failure !== null && !mayFail) throw new Exit(4, `${what}: ${failure}`)
}

function waitFor(file: string, ms: number): void {
  for (let waited = 0; !existsSync(file); waited += 20) {
    if (waited >= ms) throw new Exit(5, `wait-for: ${file} did not appear within ${ms} ms`)
    sleep(20)
  }
}

function hang({ ms, noise, every, deaf }: Extract<Behaviour, { type: 'hang' }>): void {
  // A handler that never gets to run is enough: the signal's default, to end us, is off.
  if (deaf) for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
  const step = noise ? every : 1000
  for (let waited = 0; ms === null || waited < ms; waited += step) {
    if (noise) print(`${noise}\n`)
    sleep(ms === null ? step : Math.min(step, ms - waited))
  }
}
