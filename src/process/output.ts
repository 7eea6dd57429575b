import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as delay, setImmediate as immediate } from 'node:timers/promises'
import { createLines } from './lines.ts'
import { openOutputFile } from './output-file.ts'
import { createRedactor } from './redact.ts'

export type StreamName = 'stdout' | 'stderr'

export type OutputOptions = {
  file: string
  secrets: readonly string[]
  maxLine: number
  maxOutput: number
  onLine: (line: string, stream: StreamName) => void
  /** Some output came. */
  onData: () => void
  onError: (error: unknown) => void
}

/** What a program prints: decoded, redacted, written to a file as it comes and given out line by line. */
export type Output = {
  read(stream: Readable, name: StreamName): void
  bytes(): number
  /** The disk is behind and the program waits. */
  stalled(): boolean
  /** Reads what is still in the pipes: to their end, or until nothing more comes, for somebody else may hold them open. */
  drain(): Promise<void>
  close(): Promise<void>
}

/** Nothing more has come for this long after the program's end. */
const quietTime = 100
/** A stranger who prints for ever is not waited for. */
const drainTime = 1_000
/**
 * A look at a pipe empties it or takes at least 64 KiB out of it, and a pipe holds 1 MiB at most. After so many looks,
 * or so many bytes, all that is the program's has been read, and what still comes is a stranger's.
 */
const enoughLooks = 32
const enoughBytes = 16 * 1024 * 1024

export function openOutput(options: OutputOptions): Output {
  const open = new Set<Readable>()
  let bytes = 0
  let stalled = false
  let lastData = 0
  const file = openOutputFile({
    path: options.file,
    most: options.maxOutput,
    onDrain: () => {
      stalled = false
      for (const stream of open) stream.resume()
    },
    onError: error => {
      stalled = false
      options.onError(error)
    },
  })
  const channels = { stdout: channel('stdout'), stderr: channel('stderr') }

  function channel(name: StreamName): { data(chunk: Buffer): void; end(): void } {
    const decoder = new StringDecoder('utf8')
    const redactor = createRedactor({ values: options.secrets })
    const lines = createLines(options.maxLine, line => options.onLine(line, name))
    const pass = (text: string) => {
      if (text === '') return
      if (!file.write(text)) stall()
      lines.text(text)
    }
    return {
      data: chunk => pass(redactor.text(decoder.write(chunk))),
      end: () => {
        pass(redactor.text(decoder.end()))
        pass(redactor.end())
        lines.end()
      },
    }
  }

  function stall(): void {
    stalled = true
    for (const stream of open) stream.pause()
  }

  return {
    read: (stream, name) => {
      open.add(stream)
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        lastData = performance.now()
        options.onData()
        attempt(() => channels[name].data(chunk), options.onError)
      })
      // A pipe that breaks has ended; what came through it counts.
      stream.on('error', () => undefined)
      stream.once('close', () => open.delete(stream))
      if (stalled) stream.pause()
    },
    bytes: () => bytes,
    stalled: () => stalled,
    drain: async () => {
      const from = performance.now()
      const first = bytes
      let looks = 0
      const closed = [...open].map(stream => new Promise(resolve => stream.once('close', resolve)))
      const allClosed = Promise.all(closed).then(() => true)
      const mayCome = () => {
        const now = performance.now()
        return stalled || (now - Math.max(from, lastData) < quietTime && now - from < drainTime)
      }
      for (;;) {
        // Time alone proves nothing: a starved engine has seen none of it. A look at the pipes that finds nothing does.
        const before = stalled ? Number.NaN : bytes
        await lookAtPipes()
        if (!stalled && !Number.isNaN(before)) looks += 1
        const allRead = bytes === before || looks > enoughLooks || bytes - first > enoughBytes
        if (allRead && !mayCome()) break
        if (await Promise.race([allClosed, delay(20, false)])) return
      }
      for (const stream of open) stream.destroy()
    },
    close: async () => {
      for (const one of [channels.stdout, channels.stderr]) attempt(() => one.end(), options.onError)
      await file.close()
    },
  }
}

/** Between two immediates the event loop polls, and reads what lies in every pipe. The first one only gets us there. */
async function lookAtPipes(): Promise<void> {
  await immediate()
  await immediate()
}

/** For what others gave us to call: a fault of theirs must not be lost in an event handler. */
export function attempt(action: () => void, onError: (error: unknown) => void): void {
  try {
    action()
  } catch (error) {
    onError(error)
  }
}
