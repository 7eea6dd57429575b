import { type ChildProcess, spawn } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { endRecorded } from '../../src/process/descendants.ts'
import { kinIn, nameOf } from '../../src/process/kin.ts'
import { openRecord, readRecord } from '../../src/process/process-record.ts'
import { livingProcesses, type ProcessEntry, parseStat, pidSpace } from '../../src/process/process-table.ts'
import { runProcess } from '../../src/process/run-process.ts'
import { createWorkshop, inFolder, isAlive, sh, startEngine, until } from './workshop.ts'

let shop: ReturnType<typeof createWorkshop>
let started: ChildProcess[]
beforeEach(() => {
  shop = createWorkshop()
  started = []
})
afterEach(() => {
  for (const child of started) child.kill('SIGKILL')
  shop.remove()
})

describe('what an engine left behind', () => {
  it('H-30 is ended by pid and start time, with what lives below it', async () => {
    const program = begin('sh', '-c', 'sleep 60 & wait')
    await until(async () => (await livingProcesses()).some(entry => entry.ppid === program.pid))
    const child = (await livingProcesses()).find(entry => entry.ppid === program.pid)
    record([await nameOfPid(program.pid)])
    expect(await endRecorded(shop.at('record'), { grace: 1_000 })).toBe(2)
    expect(await isAlive(program.pid)).toBe(false)
    expect(await isAlive(child?.pid ?? 0)).toBe(false)
  })

  it('H-30 is ended though it ignores TERM', async () => {
    const program = begin('sh', '-c', 'trap "" TERM; echo $$ > pid; while :; do sleep 1; done')
    await shop.pid('pid')
    record([await nameOfPid(program.pid)])
    expect(await endRecorded(shop.at('record'), { grace: 200 })).toBeGreaterThanOrEqual(1)
    expect(await isAlive(program.pid)).toBe(false)
  })

  it('H-30 never includes a stranger that got a used pid', async () => {
    const stranger = begin('sleep', '60')
    const start = (await nameOfPid(stranger.pid)).split(' ')[1]
    record([`${stranger.pid} ${Number(start) - 1}`])
    expect(await endRecorded(shop.at('record'), { grace: 100 })).toBe(0)
    expect(await isAlive(stranger.pid)).toBe(true)
  })

  it('never includes processes of another machine or of a time before a reboot', async () => {
    const stranger = begin('sleep', '60')
    writeFileSync(shop.at('record'), `space another/pid:[1]\n${await nameOfPid(stranger.pid)}\n`)
    expect(await endRecorded(shop.at('record'), { grace: 100 })).toBe(0)
    expect(await isAlive(stranger.pid)).toBe(true)
  })

  it('is nothing when there is no record, or an unfinished or damaged one', async () => {
    expect(await endRecorded(shop.at('none'), { grace: 100 })).toBe(0)
    const stranger = begin('sleep', '60')
    writeFileSync(
      shop.at('record'),
      `space ${pidSpace()}\n\0\0garbage\n-1 5\n${await nameOfPid(stranger.pid)}`,
    )
    expect(readRecord(shop.at('record')).known).toEqual(new Set())
    expect(await endRecorded(shop.at('record'), { grace: 100 })).toBe(0)
    expect(await isAlive(stranger.pid)).toBe(true)
  })
})

describe('an engine that was killed with -9', () => {
  it('H-30 leaves nobody to its successor, at whatever moment: neither the program nor those below it', async () => {
    writeFileSync(
      shop.at('program'),
      'echo $$ > pid\nsetsid sleep 60 &\n(trap "" TERM; exec sleep 60) &\nexec sleep 60\n',
    )
    for (const wait of [0, 1, 2, 4, 8, 15, 30, 60, 120, 250]) {
      rmSync(shop.at('processes'), { force: true })
      rmSync(shop.at('pid'), { force: true })
      const engine = await startEngine(shop.options(['sh', 'program']))
      // From the engine's first step on; at 0 the program has not begun yet.
      await until(() => existsSync(shop.at('processes')))
      await delay(wait)
      engine.kill('SIGKILL')
      await engine.ended
      await endRecorded(shop.at('processes'), { grace: 1_000 })
      const here = inFolder(shop.folder)
      const begun = existsSync(shop.at('pid'))
      await delay(150)
      expect(inFolder(shop.folder), `killed after ${wait} ms`).toEqual([])
      expect(existsSync(shop.at('pid')), `begun behind our back after ${wait} ms`).toBe(begun)
      // The leash's own shell may be about to find that nobody says `go`; it is no program yet.
      if (begun) expect(here, `killed after ${wait} ms`).toEqual([])
    }
  })
})

describe('the record', () => {
  it('holds the program and its descendants, but not the leash as one of them', async () => {
    const run = runProcess(shop.options(sh('echo $$ > pid; setsid sleep 0.6 & wait')))
    const pid = await shop.pid('pid')
    const names = () => [...readRecord(shop.at('processes')).known]
    await until(async () => {
      const child = (await livingProcesses()).find(entry => entry.ppid === pid)
      return child !== undefined && names().includes(nameOf(child))
    })
    const { leashes } = readRecord(shop.at('processes'))
    expect(leashes.size).toBe(1)
    expect(names().some(name => leashes.has(name))).toBe(false)
    expect(names().some(name => name.startsWith(`${pid} `))).toBe(true)
    expect(await run).toMatchObject({ exit: 0, leftovers: 0 })
  })

  it('of one step is added to, not begun anew', async () => {
    appendFileSync(shop.at('processes'), `space ${pidSpace()}\n1 1\n`)
    await runProcess(shop.options(['true']))
    expect(readFileSync(shop.at('processes'), 'utf8').startsWith(`space ${pidSpace()}\n1 1\nspace `)).toBe(
      true,
    )
  })
})

describe('kin', () => {
  const entry = (pid: number, ppid: number, family: number): ProcessEntry => ({
    pid,
    ppid,
    family,
    start: `s${pid}`,
  })
  const pids = (entries: ProcessEntry[]) => entries.map(one => one.pid).sort((a, b) => a - b)
  const none = { known: new Set<string>(), families: new Set<number>(), leashes: new Set<number>() }

  it('are those below, those in the session, and those once known', () => {
    const table = [
      entry(90, 12, 50),
      entry(10, 2, 10),
      entry(11, 1, 10),
      entry(12, 10, 12),
      entry(13, 1, 12),
      entry(20, 1, 20),
      entry(99, 2, 2),
    ]
    expect(pids(kinIn(table, { ...none, families: new Set([10]) }))).toEqual([10, 11, 12, 13, 90])
    expect(pids(kinIn(table, { ...none, known: new Set(['20 s20']) }))).toEqual([20])
  })

  it('are not those with a known pid but another start, nor their children', () => {
    const table = [entry(10, 1, 10), entry(11, 10, 10)]
    expect(kinIn(table, { ...none, known: new Set(['10 earlier']) })).toEqual([])
  })

  it('are never the leash, its helpers or the engine itself', () => {
    const table = [
      entry(10, process.pid, 10),
      entry(11, 1, 10),
      entry(12, 11, 10),
      entry(13, 12, 10),
      entry(process.pid, 1, 10),
    ]
    expect(pids(kinIn(table, { known: new Set(), families: new Set([10]), leashes: new Set([11]) }))).toEqual(
      [10],
    )
  })

  it('are read from a table in which names may hold anything', () => {
    const fields = 'S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 999'
    expect(parseStat(`123 (a) b (c) ${fields}\n`)).toEqual({ pid: 123, ppid: 7, family: 9, start: '4242' })
    expect(parseStat(`123 (x) ${fields.replace('S', 'Z')}\n`)).toBeNull()
    expect(parseStat('')).toBeNull()
  })
})

function begin(command: string, ...args: string[]): ChildProcess & { pid: number } {
  const child = spawn(command, args, { cwd: shop.folder, stdio: 'ignore', detached: true })
  started.push(child)
  if (child.pid === undefined) throw new Error('not started')
  return child as ChildProcess & { pid: number }
}

async function nameOfPid(pid: number): Promise<string> {
  const entry = (await livingProcesses()).find(one => one.pid === pid)
  if (!entry) throw new Error('not alive')
  return nameOf(entry)
}

function record(names: string[]): void {
  const file = openRecord(shop.at('record'))
  file.add(names)
  file.close()
}
