import { writeSync } from 'node:fs'
import type { AcpLine } from './line.ts'

let last = 0

/** Written at once and in order: what was said is not lost when the program is ended. */
export function printLine(line: AcpLine): void {
  last = Date.now()
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
  for (let from = 0; from < bytes.length; ) {
    try {
      from += writeSync(1, bytes, from)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : ''
      // Nobody reads any more; the agent ends with its stdin.
      if (code === 'EPIPE') process.exit(141)
      if (code !== 'EAGAIN') throw error
      Atomics.wait(never, 0, 0, 1)
    }
  }
}

const never = new Int32Array(new SharedArrayBuffer(4))

/** Says now and then that something goes on, for who counts an agent without output as stuck. */
export function printAlive(): void {
  if (Date.now() - last >= 1000) printLine({ type: 'alive' })
}
