import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { processStart, thisHost, thisProcess, unknownStart } from '../../../src/store/alive.ts'
import type { Claim, Dispatch, Holder } from '../../../src/store/dispatch.ts'
import { Conflict, type Log } from '../../../src/store/log.ts'
import type { Home } from './home.ts'
import { Journal, newTask } from './journal.ts'

/** What every home must do about leases and requests. */
export function dispatchContract(name: string, newHome: () => Promise<Home>): void {
  describe(`${name}: dispatch`, () => {
    let home: Home
    let log: Log
    let dispatch: Dispatch

    beforeEach(async () => {
      home = await newHome()
      const store = await home.connect()
      log = store.log
      dispatch = store.dispatch
    })
    afterEach(() => home.remove())

    describe('lease', () => {
      it('has one holder at a time', async () => {
        const first = granted(await dispatch.claim('tree', me, 1000, 100))
        expect(first).toEqual({ ok: true, token: 1, takenFrom: null })
        const { dispatch: other } = await home.connect()
        expect(await other.claim('tree', elsewhere, 1000, 200)).toEqual({
          ok: false,
          by: { ...me, key: 'tree', token: 1, since: 100, expires: 1100 },
        })
        expect(granted(await other.claim('another', elsewhere, 1000, 200)).token).toBe(1)
      })

      it('is kept by heartbeats', async () => {
        const { token } = granted(await dispatch.claim('tree', elsewhere, 1000, 100))
        expect(await dispatch.heartbeat('tree', token, 1000, 1050)).toBe(true)
        expect((await dispatch.claim('tree', far, 1000, 1500)).ok).toBe(false)
        expect((await dispatch.holder('tree'))?.expires).toBe(2050)
        expect(await dispatch.heartbeat('tree', token + 1, 1000, 1050)).toBe(false)
        expect(await dispatch.heartbeat('other', token, 1000, 1050)).toBe(false)
      })

      it('is taken over when it expired, and the old holder learns it', async () => {
        const old = granted(await dispatch.claim('tree', elsewhere, 1000, 100))
        const taken = granted(await dispatch.claim('tree', far, 1000, 1100))
        expect(taken.token).toBe(old.token + 1)
        expect(taken.takenFrom).toMatchObject(elsewhere)
        expect(await dispatch.heartbeat('tree', old.token, 1000, 1200)).toBe(false)
        await dispatch.release('tree', old.token)
        expect(await dispatch.holder('tree')).toMatchObject({ ...far, token: taken.token })
      })

      it('outlives its time while nobody else wants it', async () => {
        const { token } = granted(await dispatch.claim('tree', elsewhere, 1000, 100))
        expect(await dispatch.heartbeat('tree', token, 1000, 99_000)).toBe(true)
      })

      it('is free after a release, and its token goes on growing', async () => {
        const first = granted(await dispatch.claim('tree', elsewhere, 1000, 100))
        await dispatch.release('tree', first.token)
        expect(await dispatch.holder('tree')).toBeNull()
        expect(await dispatch.heartbeat('tree', first.token, 1000, 150)).toBe(false)
        expect(granted(await dispatch.claim('tree', far, 1000, 200))).toEqual({
          ok: true,
          token: 2,
          takenFrom: null,
        })
      })

      it('is claimed again by its own process only as a new token', async () => {
        const first = granted(await dispatch.claim('tree', me, 60_000, 100))
        const again = granted(await dispatch.claim('tree', me, 60_000, 200))
        expect(again.token).toBe(first.token + 1)
        expect(again.takenFrom?.token).toBe(first.token)
        expect(await dispatch.heartbeat('tree', first.token, 1000, 300)).toBe(false)
      })

      it('G-11 is taken over at once from a process that was killed', async () => {
        const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
        await once(child, 'spawn')
        const pid = child.pid ?? 0
        const holder = { host: thisHost(), pid, started: processStart(pid) ?? '', what: 'child' }
        granted(await dispatch.claim('tree', holder, 3_600_000, 100))
        expect((await dispatch.claim('tree', me, 1000, 200)).ok).toBe(false)
        child.kill('SIGKILL')
        await once(child, 'exit')
        expect(granted(await dispatch.claim('tree', me, 1000, 300)).takenFrom).toMatchObject(holder)
      })

      it('is taken over when the pid belongs to another process by now', async () => {
        granted(await dispatch.claim('tree', { ...me, started: '1' }, 3_600_000, 100))
        expect(granted(await dispatch.claim('tree', { ...me, pid: 1 }, 1000, 200)).takenFrom?.started).toBe(
          '1',
        )
      })

      it('is left to a living process whose start is not known', async () => {
        granted(await dispatch.claim('tree', { ...me, started: unknownStart }, 3_600_000, 100))
        expect((await dispatch.claim('tree', { ...me, pid: 1 }, 1000, 200)).ok).toBe(false)
      })

      it('is not judged by pid on another host', async () => {
        granted(await dispatch.claim('tree', { ...elsewhere, pid: 999_999_999 }, 3_600_000, 100))
        expect((await dispatch.claim('tree', me, 1000, 200)).ok).toBe(false)
      })
    })

    describe('fence', () => {
      it('lets only the current token write', async () => {
        const journal = new Journal(log)
        const old = granted(await dispatch.claim('tree', elsewhere, 1000, 100))
        journal.fence = { key: 'tree', token: old.token }
        await journal.start()
        granted(await dispatch.claim('tree', far, 1000, 5000))
        await expect(journal.add(newTask('a'))).rejects.toThrow(Conflict)
        expect(await log.task('a')).toBeNull()
      })

      it('refuses a writer that released its lease, or never had one', async () => {
        const journal = new Journal(log)
        const { token } = granted(await dispatch.claim('tree', elsewhere, 1000, 100))
        await dispatch.release('tree', token)
        journal.fence = { key: 'tree', token }
        await expect(journal.start()).rejects.toThrow(Conflict)
        journal.fence = { key: 'unknown', token: 1 }
        await expect(journal.start()).rejects.toThrow(Conflict)
      })

      it('does not mind a lease whose time is over but that nobody took', async () => {
        const journal = new Journal(log)
        const { token } = granted(await dispatch.claim('tree', elsewhere, 1, 100))
        journal.fence = { key: 'tree', token }
        await journal.start()
        expect((await log.lastRun())?.id).toBe('r1')
      })
    })

    describe('requests', () => {
      const pause = { kind: 'pause' as const, task: null, text: '', by: 'me', at: 5 }
      const steer = { kind: 'steer' as const, task: 'a', text: 'use "tabs"\n€', by: 'you', at: 6 }

      it('are stored for whoever comes later', async () => {
        const first = await dispatch.file(pause)
        const second = await dispatch.file(steer)
        expect(second).toBeGreaterThan(first)
        const { dispatch: later } = await home.connect()
        expect(await later.pending()).toEqual([
          { ...pause, id: first, takenAt: null, result: null },
          { ...steer, id: second, takenAt: null, result: null },
        ])
      })

      it('are taken once', async () => {
        const id = await dispatch.file(steer)
        const { dispatch: other } = await home.connect()
        const taken = await Promise.all([
          dispatch.take(id, 'told the agent', 10),
          other.take(id, 'told it too', 11),
        ])
        expect(taken.filter(Boolean)).toHaveLength(1)
        expect(await dispatch.take(999, 'no such', 12)).toBe(false)
        expect(await dispatch.pending()).toEqual([])
        const [kept] = await dispatch.requests(10)
        expect(kept).toMatchObject(
          taken[0] ? { takenAt: 10, result: 'told the agent' } : { takenAt: 11, result: 'told it too' },
        )
      })

      it('are listed newest first', async () => {
        for (let at = 1; at <= 5; at++) await dispatch.file({ ...pause, at })
        expect((await dispatch.requests(3)).map(request => request.at)).toEqual([5, 4, 3])
      })
    })
  })
}

const me: Holder = thisProcess('this test')
const elsewhere: Holder = { host: 'elsewhere', pid: 12, started: '34', what: 'ralph run' }
const far: Holder = { host: 'far', pid: 56, started: '78', what: 'ralph run' }

function granted(claim: Claim): Extract<Claim, { ok: true }> {
  if (!claim.ok) throw new Error(`held by pid ${claim.by.pid}`)
  return claim
}
