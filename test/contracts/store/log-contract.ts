import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { choose } from '../../../src/core/select.ts'
import { Conflict, type Log, runStream, type StoredEvent } from '../../../src/store/log.ts'
import type { Home } from './home.ts'
import { Journal, newTask } from './journal.ts'

/** What every home of the journal must do. */
export function logContract(name: string, newHome: () => Promise<Home>): void {
  describe(`${name}: log`, () => {
    let home: Home
    let log: Log
    let journal: Journal

    beforeEach(async () => {
      home = await newHome()
      log = (await home.connect()).log
      journal = new Journal(log)
    })
    afterEach(() => home.remove())

    const another = async () => (await home.connect()).log

    describe('append', () => {
      it('keeps events and folds, for every connection', async () => {
        await journal.complete('a', 'b')
        const other = await another()
        expect((await other.task('a'))?.state).toEqual(journal.state('a'))
        expect((await other.task('a'))?.state.status).toBe('done')
        expect((await other.task('a'))?.seq).toBe(journal.seqs.get('a'))
        expect(await other.run('r1')).toEqual(journal.folds.runs.get('r1'))
        expect((await other.run('r1'))?.costUsd).toBe(0.5)
      })

      it('refuses a sequence number that is taken', async () => {
        await journal.start()
        await journal.add(newTask('a'))
        const late = new Journal(await another())
        await late.resume()
        await journal.write('a', { type: 'task.steered', text: 'first' })
        await expect(late.write('a', { type: 'task.steered', text: 'second' })).rejects.toThrow(Conflict)
        expect((await log.task('a'))?.state.steering).toEqual(['first'])
      })

      it('refuses a gap', async () => {
        await journal.start()
        await journal.add(newTask('a'))
        journal.entry('a', { type: 'task.steered', text: 'never written' })
        await expect(journal.write('a', { type: 'task.steered', text: 'x' })).rejects.toThrow(
          /'a' goes on with event 2, not 3/,
        )
      })

      it('writes all or nothing', async () => {
        await journal.start()
        const good = journal.entry('a', { type: 'task.added', task: newTask('a') })
        const bad = { ...journal.entry('b', { type: 'task.added', task: newTask('b') }), seq: 7 }
        await expect(log.append([good, bad])).rejects.toThrow(Conflict)
        expect(await log.task('a')).toBeNull()
        expect(await all(log)).toHaveLength(1)
        await log.append([good])
        expect((await log.task('a'))?.seq).toBe(1)
      })

      it('takes several events of one task at once and keeps the last fold', async () => {
        await journal.start()
        await journal.append([
          journal.entry('a', { type: 'task.added', task: newTask('a') }),
          journal.entry('a', { type: 'task.steered', text: 'one' }),
          journal.entry('a', { type: 'task.steered', text: 'two' }),
        ])
        expect((await log.task('a'))?.seq).toBe(3)
        expect((await log.task('a'))?.state.steering).toEqual(['one', 'two'])
      })

      it('takes nothing', async () => {
        await log.append([])
        expect(await all(log)).toEqual([])
      })

      it("refuses a task whose id would be a run's stream", async () => {
        await journal.start()
        await expect(journal.add(newTask('run:x'))).rejects.toThrow(/begins with 'run:'/)
      })
    })

    describe('reading', () => {
      it('gives null for what is not there', async () => {
        expect(await log.task('x')).toBeNull()
        expect(await log.run('x')).toBeNull()
        expect(await log.lastRun()).toBeNull()
        expect(await log.head('x')).toBeNull()
        expect(await log.getNote('x')).toBeNull()
        expect(await log.isDone('x')).toBe(false)
      })

      it('counts every status', async () => {
        const none = { open: 0, done: 0, halted: 0, failed: 0, cancelled: 0, held: 0, removed: 0 }
        expect(await log.counts()).toEqual(none)
        await journal.start()
        await journal.add(newTask('a'), newTask('b'), newTask('c'))
        await journal.finish('a')
        await journal.write('b', { type: 'task.cancelled', why: 'no' })
        expect(await log.counts()).toEqual({ ...none, open: 1, done: 1, cancelled: 1 })
        expect(await log.proofs()).toEqual({ verified: 1, unverified: 0, recorded: 0 })
        expect(await log.tasks({ limit: 2 })).toHaveLength(2)
        expect(await log.isDone('a')).toBe(true)
        expect(await log.isDone('b')).toBe(false)
      })

      it('lists tasks in rank order, by status when asked', async () => {
        await journal.start()
        await journal.add(newTask('a', { order: 2 }), newTask('b', { order: 0 }), newTask('c', { order: 1 }))
        await journal.write('c', { type: 'task.cancelled', why: 'no' })
        expect((await log.tasks()).map(task => task.id)).toEqual(['b', 'c', 'a'])
        expect((await log.tasks({ status: ['open'] })).map(task => task.id)).toEqual(['b', 'a'])
        expect((await log.tasks({ status: ['done', 'cancelled'] })).map(task => task.id)).toEqual(['c'])
        expect(await log.tasks({ status: [] })).toEqual([])
      })

      it('knows the last run', async () => {
        await journal.start()
        const second = new Journal(log, 'r2')
        await second.start()
        await second.write(runStream('r2'), { type: 'run.paused', by: 'me' })
        // Both began in the same millisecond: then the one written last counts.
        expect((await log.lastRun())?.id).toBe('r2')
        expect((await log.lastRun())?.paused).toBe(true)
      })

      it('keeps notes', async () => {
        await log.setNote('written', '12')
        await log.setNote('written', '13')
        expect(await (await another()).getNote('written')).toBe('13')
      })
    })

    describe('candidates', () => {
      it('come begun ones first, then in rank order, across pages', async () => {
        await journal.start()
        const ids = Array.from({ length: 150 }, (_, index) => `t${index}`)
        await journal.add(...ids.map((id, index) => newTask(id, { order: 1000 - index })))
        await journal.begin('t40')
        await journal.write('t41', { type: 'task.cancelled', why: 'no' })
        const found = await candidates(log)
        const rest = ids.filter(id => id !== 't40' && id !== 't41').reverse()
        expect(found.map(one => one.id)).toEqual(['t40', ...rest])
        expect(found[0]).toEqual({ id: 't40', needs: [], begun: true, waitUntil: 0 })
      })

      it('tells ties apart by id and loses none', async () => {
        await journal.start()
        const ids = Array.from({ length: 100 }, (_, index) => `t${String(index).padStart(3, '0')}`)
        await journal.add(...ids.map(id => newTask(id, { order: 5 })))
        expect((await candidates(log)).map(one => one.id)).toEqual(ids)
      })

      it('carry what choosing needs', async () => {
        await journal.start()
        await journal.add(newTask('a', { order: 1, needs: ['b'] }), newTask('b', { order: 2 }))
        const list = await candidates(log)
        expect(choose(list, id => log.isDone(id) === true, 0)).toEqual({ type: 'task', id: 'b' })
        await journal.finish('b')
        expect(choose(await candidates(log), id => log.isDone(id) === true, 0)).toEqual({
          type: 'task',
          id: 'a',
        })
      })

      it('follow the workflow that ranked them', async () => {
        await journal.start({ select: 'complexity' })
        await journal.add(
          newTask('hard', { order: 0, complexity: 9 }),
          newTask('easy', { order: 1, complexity: 1.5 }),
        )
        expect((await candidates(log)).map(one => one.id)).toEqual(['easy', 'hard'])
      })
    })

    describe('events', () => {
      it('come in the order they were written', async () => {
        await journal.complete('a', 'b')
        const events = await all(log)
        expect(events.map(event => event.id)).toEqual(events.map(event => event.id).sort((x, y) => x - y))
        expect(events[0]?.event.type).toBe('run.started')
        expect(events.at(-1)?.event.type).toBe('run.finished')
        const seqs = events.filter(event => event.stream === 'a').map(event => event.seq)
        expect(seqs).toEqual(seqs.map((_, index) => index + 1))
      })

      it('are filtered by stream, run, place and number', async () => {
        await journal.complete('a', 'b')
        const second = new Journal(log, 'r2')
        await second.resume()
        await second.start()
        await second.write('a', { type: 'task.reopened', why: 'again' })
        const events = await all(log)
        const middle = events[4]?.id ?? 0
        expect(await all(log, { stream: 'a' })).toEqual(events.filter(one => one.stream === 'a'))
        expect(await all(log, { run: 'r2' })).toEqual(events.filter(one => one.event.run === 'r2'))
        expect(await all(log, { stream: 'a', run: 'r2' })).toEqual(events.slice(-1))
        expect(await all(log, { after: middle })).toEqual(events.slice(5))
        expect(await all(log, { stream: 'a', after: middle })).toEqual(
          events.slice(5).filter(one => one.stream === 'a'),
        )
        expect(await all(log, { limit: 3 })).toEqual(events.slice(0, 3))
        expect(await all(log, { after: middle, limit: 2 })).toEqual(events.slice(5, 7))
        expect(await all(log, { limit: 0 })).toEqual([])
      })

      it('are read in pages, with no one missing', async () => {
        await journal.start()
        await journal.add(newTask('a'))
        const many = Array.from({ length: 1200 }, (_, n) =>
          journal.entry('a', { type: 'task.steered', text: `${n}` }),
        )
        await journal.append(many)
        expect((await all(log)).map(one => one.id).length).toBe(1202)
        expect((await all(log, { stream: 'a' })).map(one => one.seq)).toEqual(
          Array.from({ length: 1201 }, (_, n) => n + 1),
        )
        expect(await all(log, { run: 'r1', limit: 1100 })).toHaveLength(1100)
      })
    })

    describe('head', () => {
      beforeEach(() => journal.complete('a'))

      const headOf = async (stream: string) => {
        const head = await log.head(stream)
        if (!head) throw new Error(`no head of ${stream}`)
        return head
      }

      it('is the last sequence number with a hash', async () => {
        const head = await headOf('a')
        expect(head.seq).toBe(journal.seqs.get('a'))
        expect(head.hash).toMatch(/^[0-9a-f]{64}$/)
        expect(await log.verifyHead('a', head)).toBe('same')
        expect(await log.verifyHead(runStream('r1'), await headOf(runStream('r1')))).toBe('same')
      })

      it('sees that new events came', async () => {
        const head = await headOf('a')
        await journal.write('a', { type: 'task.steered', text: 'x' })
        expect(await log.verifyHead('a', head)).toBe('moved')
      })

      it('sees a changed event', async () => {
        const head = await headOf('a')
        await home.tamper(
          "update event set body = replace(body, 'Task a', 'Task A') where stream = 'a' and seq = 1",
        )
        expect(await log.verifyHead('a', head)).toBe('rewritten')
      })

      it('sees a changed hash, and a stream that was written anew with hashes of its own', async () => {
        const head = await headOf('a')
        expect(await log.verifyHead('a', { ...head, hash: 'of another stream' })).toBe('rewritten')
        await home.tamper("update event set chain = 'x' where stream = 'a' and seq = 2")
        expect(await log.verifyHead('a', head)).toBe('rewritten')
      })

      it('sees a changed fold', async () => {
        const head = await headOf('a')
        await home.tamper(`update task set state = replace(state, '"status":"done"', '"status":"open"')`)
        expect(await log.verifyHead('a', head)).toBe('rewritten')
      })

      it('sees a changed column beside the fold, and a deleted fold', async () => {
        const head = await headOf('a')
        await home.tamper("update task set status = 'open'")
        expect(await log.verifyHead('a', head)).toBe('rewritten')
        await home.tamper('delete from task')
        expect(await log.verifyHead('a', head)).toBe('rewritten')
      })

      it('sees that events are gone', async () => {
        const head = await headOf('a')
        await home.tamper(`delete from event where stream = 'a' and seq = ${head.seq}`)
        expect(await log.verifyHead('a', head)).toBe('missing')
        await home.tamper("delete from event where stream = 'a'")
        expect(await log.verifyHead('a', head)).toBe('missing')
      })
    })

    describe('subscribe', () => {
      it('calls back after own events and requests', async () => {
        await journal.start()
        const { log: own, dispatch } = await home.connect()
        const listener = vi.fn()
        own.subscribe(listener)
        await own.append([journal.entry('a', { type: 'task.added', task: newTask('a') })])
        await vi.waitFor(() => expect(listener).toHaveBeenCalledTimes(1))
        await dispatch.file({ kind: 'pause', task: null, text: '', by: 'me', at: 1 })
        await vi.waitFor(() => expect(listener).toHaveBeenCalledTimes(2))
      })

      it('calls back after events and requests of another connection, and only then', async () => {
        await journal.start()
        const listener = vi.fn()
        const { log: watcher, dispatch: watching } = await home.connect()
        const end = watcher.subscribe(listener)
        const { dispatch } = await home.connect()
        await dispatch.claim('tree', { host: 'h', pid: 1, started: '1', what: 'x' }, 1000, 1)
        await journal.add(newTask('a'))
        await vi.waitFor(() => expect(listener).toHaveBeenCalledTimes(1))
        await dispatch.file({ kind: 'pause', task: null, text: '', by: 'me', at: 1 })
        await vi.waitFor(() => expect(listener).toHaveBeenCalledTimes(2))
        expect(await watching.pending()).toHaveLength(1)
        end()
        const still = vi.fn()
        watcher.subscribe(still)
        await journal.add(newTask('b'))
        await vi.waitFor(() => expect(still).toHaveBeenCalledTimes(1))
        expect(listener).toHaveBeenCalledTimes(2)
      })

      it('lets a listener stop itself without losing the others', async () => {
        const second = vi.fn()
        const end = log.subscribe(() => end())
        log.subscribe(second)
        await journal.start()
        await vi.waitFor(() => expect(second).toHaveBeenCalled())
      })
    })
  })
}

async function all(log: Log, filter?: Parameters<Log['events']>[0]): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const event of log.events(filter)) events.push(event)
  return events
}

async function candidates(log: Log) {
  const found = []
  for await (const candidate of log.candidates()) found.push(candidate)
  return found
}
