import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { AnyEvent } from '../../src/core/event.ts'
import { isSound } from '../../src/store/check.ts'
import { exportJournal, importJournal } from '../../src/store/export.ts'
import { replay, upgradeEvent } from '../../src/store/replay.ts'
import { openStore } from '../../src/store/sqlite.ts'

/**
 * Journals of real runs, written by `ralph journal export` (host, pids and paths replaced) and never changed since: a
 * user's journal of that version opens after every upgrade and means what it meant. `<name>.folds.json` is what it
 * amounted to when it was recorded; today's folds may know more, but nothing else. A new version of events adds
 * journals of its own.
 */
const folder = fileURLToPath(new URL('.', import.meta.url))
const names = readdirSync(folder).flatMap(name =>
  name.endsWith('.jsonl') ? [name.replace('.jsonl', '')] : [],
)

describe('recorded journals', () => {
  it('there are some of every version', () => {
    expect(names.filter(name => name.startsWith('v1-')).length).toBeGreaterThanOrEqual(3)
  })

  it.each(names)('%s amounts to what it did', name => {
    const folds = replay(lines(name).map(line => ({ stream: line.stream, event: upgradeEvent(line.event) })))
    const stored = JSON.parse(readFileSync(path.join(folder, `${name}.folds.json`), 'utf8'))
    const found = { tasks: Object.fromEntries(folds.tasks), runs: Object.fromEntries(folds.runs) }
    expect(Object.keys(found.tasks)).toEqual(Object.keys(stored.tasks))
    expect(Object.keys(found.runs)).toEqual(Object.keys(stored.runs))
    expect(JSON.parse(JSON.stringify(found))).toMatchObject(stored)
  })

  it.each(names)('%s goes into a new journal and comes out the same', async name => {
    const home = mkdtempSync(path.join(os.tmpdir(), 'ralph-journal-'))
    const store = openStore(path.join(home, 'ralph.db'))
    try {
      const text = readFileSync(path.join(folder, `${name}.jsonl`), 'utf8')
      expect(await importJournal(text.split('\n'), store.log)).toBe(lines(name).length)
      expect(isSound(store.check())).toBe(true)
      let written = ''
      await exportJournal(store.log, part => {
        written += part
      })
      expect(written).toBe(text)
    } finally {
      store.close()
      rmSync(home, { recursive: true, force: true })
    }
  })
})

function lines(name: string): { stream: string; seq: number; event: AnyEvent }[] {
  const [, ...events] = readFileSync(path.join(folder, `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
  return events.map(line => JSON.parse(line))
}
