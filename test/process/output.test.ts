import { execFileSync } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { setImmediate as immediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Output, openOutput } from '../../src/process/output.ts'
import { runProcess } from '../../src/process/run-process.ts'
import { createWorkshop, sh } from './workshop.ts'

let shop: ReturnType<typeof createWorkshop>
beforeEach(() => {
  shop = createWorkshop()
})
afterEach(() => shop.remove())

/** Stands for an engine that gets no time on a busy machine, or is stopped: nothing happens in it for so long. */
function starve(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

function open(more: { onData?: () => void; file?: string } = {}): Output {
  return openOutput({
    file: shop.at('output.log'),
    secrets: [],
    maxLine: 1000,
    maxOutput: 1e9,
    onLine: () => undefined,
    onData: () => undefined,
    onError: error => {
      throw error
    },
    ...more,
  })
}

/** A pipe that somebody else keeps open, so that its end never comes. */
function heldPipe(): { writer: number; reader: Socket } {
  execFileSync('mkfifo', [shop.at('pipe')])
  const writer = openSync(shop.at('pipe'), constants.O_RDWR | constants.O_NONBLOCK)
  const fd = openSync(shop.at('pipe'), constants.O_RDONLY | constants.O_NONBLOCK)
  return { writer, reader: new Socket({ fd, readable: true, writable: false }) }
}

describe('what lies in the pipes when the program ends', () => {
  it('is read though the engine was starved from then on', async () => {
    const { writer, reader } = heldPipe()
    writeSync(writer, 'x'.repeat(60_000))
    // From here to the next timers nobody looks at the pipes.
    await immediate()
    const output = open()
    output.read(reader, 'stdout')
    const drained = output.drain()
    starve(2_000)
    await drained
    await output.close()
    expect(readFileSync(shop.at('output.log')).length).toBe(60_000)
    closeSync(writer)
  })

  it('is read though the engine is starved whenever some of it has come', async () => {
    const { writer, reader } = heldPipe()
    writeSync(writer, 'x'.repeat(30_000))
    let more = 2
    const output = open({
      onData: () => {
        if (more-- > 0) writeSync(writer, 'y'.repeat(10_000))
        starve(600)
      },
    })
    await immediate()
    output.read(reader, 'stdout')
    await output.drain()
    await output.close()
    expect(output.bytes()).toBe(50_000)
    expect(readFileSync(shop.at('output.log')).length).toBe(50_000)
    closeSync(writer)
  })

  it('does not keep the engine for ever when a stranger goes on printing', async () => {
    const { writer, reader } = heldPipe()
    const output = open({ onData: () => writeSync(writer, 'for ever\n') })
    writeSync(writer, 'for ever\n')
    output.read(reader, 'stdout')
    const from = performance.now()
    await output.drain()
    expect(performance.now() - from).toBeLessThan(10_000)
    await output.close()
    closeSync(writer)
  })

  it('is read to the last byte by an engine that is starved from the first word to some time after the exit', async () => {
    for (const late of [0, 300, 2_000]) {
      let lines = 0
      const starveOnce = () => {
        if (lines++ > 0) return
        while (!existsSync(shop.at('ended'))) starve(5)
        starve(100)
        setImmediate(() => starve(late))
      }
      const script = 'rm -f ended; echo begin; sleep 0.1; seq 2000; touch ended'
      const result = await runProcess(shop.options(sh(script), { onLine: starveOnce }))
      expect(result).toMatchObject({ exit: 0, ended: 'exit', bytes: 6 + 8_893 })
      expect(lines).toBe(2_001)
      expect(shop.output().split('\n')).toHaveLength(2_002)
    }
  })
})
