import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { UserError } from '../../../src/core/errors.ts'
import { isSound } from '../../../src/store/check.ts'
import { exportJournal, importJournal } from '../../../src/store/export.ts'
import type { Log, StoredEvent } from '../../../src/store/log.ts'
import { replay, upgradeEvent } from '../../../src/store/replay.ts'
import type { Store } from '../../../src/store/sqlite.ts'
import { driver, open, temporaryFolder } from './home.ts'
import { Journal, newTask } from './journal.ts'

describe(`export and import (${driver})`, () => {
  let folder: string
  let source: Store
  let target: Store
  let journal: Journal

  beforeEach(async () => {
    folder = temporaryFolder()
    source = open(join(folder, 'source.db'))
    target = open(join(folder, 'target.db'))
    journal = new Journal(source.log)
    await journal.complete('a', 'b')
    const second = new Journal(source.log, 'r2')
    await second.resume()
    await second.start({ select: 'priority' })
    await second.add(newTask('c', { priority: 3 }), newTask('d', { priority: 1 }))
    await second.begin('d')
  })
  afterEach(() => {
    source.close()
    target.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('gives the same text back', async () => {
    const lines = await exported(source.log)
    expect(JSON.parse(lines[0] ?? '')).toEqual({ ralph: 'journal', version: 1 })
    expect(await importJournal(lines, target.log)).toBe(lines.length - 1)
    expect(await exported(target.log)).toEqual(lines)
  })

  it('makes the same folds', async () => {
    await importJournal(await exported(source.log), target.log)
    expect(await target.log.tasks()).toEqual(await source.log.tasks())
    expect(await target.log.run('r1')).toEqual(await source.log.run('r1'))
    expect([...(target.log.candidates() as Iterable<unknown>)]).toEqual([
      ...(source.log.candidates() as Iterable<unknown>),
    ])
    expect(isSound(target.check())).toBe(true)
  })

  it('reads lines as they come', async () => {
    async function* slowly(lines: string[]) {
      for (const line of [...lines, '']) yield line
    }
    await importJournal(slowly(await exported(source.log)), target.log)
    expect((await target.log.counts()).done).toBe(2)
  })

  it('refuses a journal that has events', async () => {
    await expect(importJournal(await exported(target.log), source.log)).rejects.toThrow(/already has events/)
  })

  it('names the line that is wrong and imports nothing', async () => {
    const lines = await exported(source.log)
    const wrong: [string[], RegExp][] = [
      [lines.with(5, '{"stream":"a","se'), /line 6 is not part of a journal/],
      [lines.with(5, '{"stream":"a"}'), /line 6 .*stream or seq is missing/],
      [lines.with(5, '{"stream":"a","seq":1,"event":{}}'), /line 6 .*not an event/],
      [lines.with(5, 'null'), /line 6/],
      [lines.slice(1), /line 1 .*header is missing/],
      [lines.toSpliced(1, 1), /line 2 .*'a' has an event of run 'r1', whose start is not recorded/],
      [lines.with(0, '{"ralph":"journal","version":2}'), /version 2; this Ralph knows 1/],
      [[], /nothing to import/],
    ]
    for (const [text, message] of wrong) {
      await expect(importJournal(text, target.log)).rejects.toThrow(UserError)
      await expect(importJournal(text, target.log)).rejects.toThrow(message)
    }
    // A missing line shows in the sequence numbers.
    await expect(importJournal(lines.toSpliced(5, 1), target.log)).rejects.toThrow(/goes on with event/)
    expect(await exported(target.log)).toHaveLength(1)
  })

  it('replays to what the engine had', async () => {
    const events: StoredEvent[] = []
    for await (const event of source.log.events({ run: 'r1' })) events.push(event)
    const folds = replay(events)
    expect(folds.tasks.get('a')).toEqual(journal.state('a'))
    expect(folds.runs.get('r1')).toEqual(journal.folds.runs.get('r1'))
    expect(replay([])).toEqual({ tasks: new Map(), runs: new Map() })
  })

  it('knows the version of an event', () => {
    const event = { v: 1, at: 5, run: 'r', type: 'run.paused', by: 'me' }
    expect(upgradeEvent(event)).toEqual(event)
    expect(() => upgradeEvent({ ...event, v: 2 })).toThrow(UserError)
    expect(() => upgradeEvent({ ...event, type: 'task.unheard-of' })).toThrow(/does not know/)
    expect(() => upgradeEvent({ ...event, type: 'toString' })).toThrow(/does not know/)
    for (const wrong of [
      null,
      'text',
      7,
      [],
      {},
      { ...event, v: 0 },
      { ...event, v: '1' },
      { ...event, type: 3 },
    ]) {
      expect(() => upgradeEvent(wrong)).toThrow('not an event')
    }
  })
})

async function exported(log: Log): Promise<string[]> {
  let text = ''
  await exportJournal(log, part => {
    text += part
  })
  return text.split('\n').slice(0, -1)
}
