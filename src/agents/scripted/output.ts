import { writeSync } from 'node:fs'

/** Written at once and in order: nothing is lost when the program ends or is killed, and memory stays flat. */
export function print(text: string): void {
  printBytes(Buffer.from(text))
}

export function printError(text: string): void {
  write(2, Buffer.from(text))
}

export function printBytes(bytes: Buffer): void {
  write(1, bytes)
}

/** Exactly so many bytes of output, in lines of a length; 0 = no line end at all. */
export function flood(bytes: number, line: number): void {
  const chunk = line > 0 ? `${'x'.repeat(Math.max(0, line - 1))}\n` : 'x'
  const block = Buffer.from(chunk.repeat(Math.max(1, Math.floor(65_536 / chunk.length))))
  for (let left = bytes; left > 0; left -= block.length)
    printBytes(left < block.length ? block.subarray(0, left) : block)
}

function write(fd: number, bytes: Buffer): void {
  for (let from = 0; from < bytes.length; ) {
    try {
      from += writeSync(fd, bytes, from)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : ''
      // Nobody reads any more: the end of a pipe, not of the world.
      if (code === 'EPIPE') process.exit(141)
      if (code !== 'EAGAIN') throw error
      sleep(1)
    }
  }
}

const never = new Int32Array(new SharedArrayBuffer(4))

/** Waits without an event loop; a signal still ends the program. */
export function sleep(ms: number): void {
  if (ms > 0) Atomics.wait(never, 0, 0, ms)
}
