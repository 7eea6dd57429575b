import { spawn } from 'node:child_process'
import { gitEnvironment, type Place } from './git.ts'
import type { StoredObject } from './object-store.ts'

const mostStarts = 20
/** How long an answer may take. */
const patience = 60_000

/**
 * Reads objects from packs through one git process that stays: an answer takes a tenth of a millisecond, a process of
 * its own two. It ends with this process, because its pipe does. When it cannot be had the answer is null.
 */
export function createPackReader(place: () => Place): (id: string) => Promise<StoredObject | null> {
  let reader: Reader | null = null
  let starts = 0
  return async id => {
    if (!/^[0-9a-f]{40,64}$/u.test(id)) return null
    if (!reader?.alive()) {
      // Whatever ends it again and again would do so for ever.
      if (starts++ >= mostStarts) return null
      reader = startReader(place())
    }
    return reader.ask(id)
  }
}

type Reader = { alive(): boolean; ask(id: string): Promise<StoredObject | null> }

function startReader(place: Place): Reader {
  const child = spawn('git', ['cat-file', '--batch'], {
    cwd: place.cwd,
    env: { ...gitEnvironment(place.cwd, false), ...place.env },
    stdio: ['pipe', 'pipe', 'ignore'],
    // Ctrl-C in the terminal is for Ralph.
    detached: true,
  })
  const waiting: ((answer: StoredObject | null) => void)[] = []
  let dead = false
  let held: Buffer = Buffer.alloc(0)
  const end = () => {
    dead = true
    child.kill('SIGKILL')
    for (const answer of waiting.splice(0)) answer(null)
    hold(false)
  }
  const hold = (on: boolean) => {
    const word = on ? 'ref' : 'unref'
    child[word]()
    for (const pipe of [child.stdin, child.stdout])
      (pipe as unknown as { ref(): void; unref(): void })[word]()
  }
  child.on('error', end)
  child.on('exit', end)
  child.stdin.on('error', end)
  child.stdout.on('data', (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    for (let next = firstAnswer(held); next !== null; next = firstAnswer(held)) {
      held = held.subarray(next.length)
      waiting.shift()?.(next.object)
    }
    if (waiting.length === 0) hold(false)
  })
  hold(false)
  return {
    alive: () => !dead,
    ask: id =>
      new Promise(resolve => {
        if (dead) return resolve(null)
        const timer = setTimeout(end, patience)
        waiting.push(answer => {
          clearTimeout(timer)
          resolve(answer)
        })
        hold(true)
        child.stdin.write(`${id}\n`)
      }),
  }
}

/** `<id> <type> <size>`, the body and a line end; or `<id> missing`. Null: not all of it has come yet. */
function firstAnswer(held: Buffer): { object: StoredObject | null; length: number } | null {
  const line = held.indexOf(10)
  if (line < 0) return null
  const [, type = '', size] = held.toString('latin1', 0, line).split(' ')
  if (size === undefined) return { object: null, length: line + 1 }
  const length = line + 1 + Number(size) + 1
  if (held.length < length) return null
  return { object: { type, body: Buffer.from(held.subarray(line + 1, length - 1)) }, length }
}
