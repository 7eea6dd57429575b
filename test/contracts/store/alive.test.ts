import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import {
  isDead,
  processStart,
  startFromPs,
  thisHost,
  thisProcess,
  unknownStart,
} from '../../../src/store/alive.ts'

describe('alive', () => {
  it('names the start of a process, and always the same', async () => {
    const child = spawn('sleep', ['60'])
    await once(child, 'spawn')
    const pid = child.pid ?? 0
    const start = processStart(pid)
    expect(start).toMatch(/\S/)
    expect(start).not.toBe(unknownStart)
    expect(processStart(pid)).toBe(start)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(processStart(pid)).toBeNull()
  })

  it('is not misled by the name of a program', async () => {
    const child = spawn('bash', ['-c', 'exec -a "x) S 1 1 (" sleep 60'])
    await once(child, 'spawn')
    expect(processStart(child.pid ?? 0)).toMatch(/^\S+/)
    child.kill('SIGKILL')
    await once(child, 'exit')
  })

  it('counts the remains of a killed process as dead', async () => {
    // A shell that never asks how its child ended keeps the remains of it.
    const parent = spawn('bash', ['-c', 'sleep 60 & echo $!; exec sleep 61'])
    const [line] = (await once(parent.stdout.setEncoding('utf8'), 'data')) as [string]
    const pid = Number(line)
    await vi.waitFor(() => expect(readFileSync(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n'))
    process.kill(pid, 'SIGKILL')
    await vi.waitFor(() => expect(processStart(pid)).toBeNull())
    expect(existsSync(`/proc/${pid}`)).toBe(true)
    expect(startFromPs(pid)).toBeNull()
    parent.kill('SIGKILL')
    await once(parent, 'exit')
  })

  it('asks ps where there is no /proc', () => {
    expect(startFromPs(process.pid)).toMatch(/^\w{3} \w{3} \d+ \d\d:\d\d:\d\d \d{4}$/)
    expect(startFromPs(process.pid)).toBe(startFromPs(process.pid))
    expect(startFromPs(999_999_999)).toBeUndefined()
  })

  it('knows who is dead, and leaves others in doubt', () => {
    const me = thisProcess('test')
    expect(isDead(me, thisHost())).toBe(false)
    expect(isDead({ ...me, started: '1' }, thisHost())).toBe(true)
    expect(isDead({ ...me, started: unknownStart }, thisHost())).toBe(false)
    expect(isDead({ ...me, pid: 999_999_999 }, thisHost())).toBe(true)
    expect(isDead({ ...me, pid: 999_999_999 }, 'another host')).toBe(false)
  })
})
