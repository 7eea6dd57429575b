import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Box } from '../../src/sandbox/sandbox.ts'
import { sbx, syncTime } from '../../src/sandbox/sbx.ts'
import { sandboxNames } from '../../src/sandbox/sbx-name.ts'
import type { FakeOptions } from '../helpers/fake-sandbox/fake-sandbox.ts'
import { createBench, run, type SandboxBench, start } from '../helpers/fake-sandbox/sandbox-bench.ts'
import { until } from '../helpers/ralph.ts'

let bench: SandboxBench
afterEach(() => bench.cleanup())

const outside = (file: string) => path.join(bench.root, file)
const read = (file: string) => readFileSync(outside(file), 'utf8')

async function ready(kind: 'sbx' | 'docker', options: FakeOptions = {}, wait = 0): Promise<Box> {
  bench = createBench(kind, options)
  writeFileSync(outside('note.txt'), 'old')
  return sbx({ syncTime: wait }).open(bench.policy())
}

async function inside(box: Box, script: string): Promise<string> {
  const { output } = await run(await box.enter(bench.program({ argv: ['sh', '-c', script] })))
  return output
}

describe('docker sandbox syncs a copy of the files', () => {
  it('S1-26 waits 2 to 3 s until what was written in there is outside', async () => {
    expect(syncTime).toBeGreaterThanOrEqual(2_000)
    expect(syncTime).toBeLessThanOrEqual(3_000)
    const box = await ready('docker', { files: 'synced', syncDelay: 400 }, 1_500)
    await inside(box, 'echo done > tasks.json')
    expect(existsSync(outside('tasks.json')), 'not yet').toBe(false)
    await box.settle({ ended: false })
    expect(read('tasks.json')).toBe('done\n')
  })

  it('S1-48 what is overwritten outside never gets in, and the loop itself only reads', async () => {
    const box = await ready('docker', { files: 'synced' })
    writeFileSync(outside('note.txt'), 'new')
    expect(await inside(box, 'cat note.txt')).toBe('old')
    await box.settle({ ended: false })
    expect(await inside(box, 'cat note.txt')).toBe('old')
    expect(bench.fake.called('stop')).toEqual([])
  })

  it('S1-49 after a change outside it is stopped and started anew, and sees the change', async () => {
    const box = await ready('docker', { files: 'synced' })
    writeFileSync(outside('note.txt'), 'new')
    await box.changedOutside?.()
    expect(bench.fake.called('stop')).toHaveLength(1)
    expect(bench.fake.machines()[0]?.status).toBe('running')
    expect(await inside(box, 'cat note.txt')).toBe('new')
    expect(bench.fake.called('create')).toHaveLength(1)
  })

  it('sees at the next run what was changed since the last one', async () => {
    const box = await ready('docker', { files: 'synced' })
    await box.close()
    writeFileSync(outside('note.txt'), 'edited between runs')
    const next = await sbx({ syncTime: 0 }).open(bench.policy())
    expect(await inside(next, 'cat note.txt')).toBe('edited between runs')
  })

  it('S1-50 C-42 writes a file in there although overwrites from outside are dropped', async () => {
    const box = await ready('docker', { files: 'synced' })
    const marker = outside('.ralph-active')
    const name = sandboxNames('docker', bench.root, 'claude')[0]
    for (const mode of ['implement', 'review']) {
      const text = `${JSON.stringify({ iterationMode: mode })}\n`
      writeFileSync(marker, text)
      await box.put?.(marker, Buffer.from(text))
      expect(await inside(box, 'cat .ralph-active')).toBe(text)
      await box.settle({ ended: false })
      expect(read('.ralph-active')).toBe(text)
    }
    writeFileSync(marker, 'only outside')
    expect(await inside(box, 'cat .ralph-active'), 'dropped').toMatch(/review/u)
    expect(bench.fake.called('exec').at(-3)?.slice(0, 2)).toEqual(['-i', name])
  })

  it('writes bytes as they are, into folders that are not there', async () => {
    const box = await ready('docker', { files: 'synced' })
    const content = Buffer.from('a\n"$x"\n', 'utf8')
    await box.put?.(outside("deep/er/it's"), content)
    await box.settle({ ended: false })
    expect(read("deep/er/it's")).toBe('a\n"$x"\n')
    await expect(box.put?.(outside('note.txt/below'), content)).rejects.toMatchObject({ name: 'UserError' })
  })
})

describe('sbx has the files themselves', () => {
  it('sees every change at once, and has nothing to wait or to write for', async () => {
    const box = await ready('sbx', {}, 60_000)
    expect(box.put).toBeUndefined()
    expect(box.changedOutside).toBeUndefined()
    writeFileSync(outside('note.txt'), 'new')
    expect(await inside(box, 'cat note.txt; echo more > note.txt')).toBe('new')
    await box.settle({ ended: false })
    expect(read('note.txt')).toBe('more\n')
    expect(bench.fake.called('stop')).toEqual([])
  })
})

describe.each(['sbx', 'docker'] as const)('%s: what outlives its client', kind => {
  /** A program in there that goes on when the client outside is killed. */
  async function orphan(box: Box): Promise<number> {
    const script = 'echo $$ > pid.new; mv pid.new pid; exec sleep 300'
    const client = start(await box.enter(bench.program({ argv: ['sh', '-c', script] })))
    const gone = new Promise(resolve => client.on('exit', resolve))
    await until('the program in there', () => existsSync(outside('pid')))
    client.kill('SIGKILL')
    await gone
    const pid = Number(read('pid'))
    expect(isAlive(pid), 'the death of the client ends nothing').toBe(true)
    return pid
  }

  it('is stopped after a program that was ended', async () => {
    const box = await ready(kind)
    const pid = await orphan(box)
    await box.settle({ ended: true })
    await until('its end', () => !isAlive(pid))
    expect(bench.fake.called('stop')).toHaveLength(1)
    expect(await inside(box, 'echo again'), 'and the next one starts it').toBe('again\n')
  })

  it('is stopped by the next engine when one was cut off', async () => {
    const pid = await orphan(await ready(kind))
    await sbx({ syncTime: 0 }).open(bench.policy({ cutOff: true }))
    await until('its end', () => !isAlive(pid))
  })

  it('is stopped at the end of the run, and the sandbox stays', async () => {
    const box = await ready(kind)
    const pid = await orphan(box)
    await box.close()
    await until('its end', () => !isAlive(pid))
    expect(bench.fake.machines()).toMatchObject([{ status: 'stopped' }])
    await box.close()
  })

  it('is told of when it cannot be stopped', async () => {
    const box = await ready(kind)
    await box.enter(bench.program())
    const tool = path.join(bench.fake.path, kind)
    const broken = `#!/bin/sh\ncase "$*" in *stop*) echo "ERROR: no" >&2; exit 1;; esac\n`
    writeFileSync(tool, `${broken}${readFileSync(tool, 'utf8').split('\n').slice(1).join('\n')}`)
    await expect(box.settle({ ended: true })).rejects.toThrow(/something may still run in there: ERROR: no/u)
  })
})

it('a stopped plugin sandbox is started by run where exec refuses it', async () => {
  const box = await ready('docker', { execStarts: false })
  await box.enter(bench.program())
  await box.settle({ ended: true })
  expect(await inside(box, 'echo again')).toBe('again\n')
  expect(bench.fake.called('run')).toHaveLength(1)
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A dead one that nobody has waited for is no longer running.
    return !/^State:\s+Z/mu.test(statusOf(pid))
  } catch {
    return false
  }
}

function statusOf(pid: number): string {
  const file = `/proc/${pid}/status`
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}
