import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { driver, open, temporaryFolder } from './home.ts'
import { Journal, newTask } from './journal.ts'
import { program } from './program.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it(`H-30 bytes that are no text, in any column: a clear error, never the end of the process (${driver})`, async () => {
  const path = join(folder, 'ralph.db')
  const store = open(path)
  const journal = new Journal(store.log)
  await journal.complete('one')
  await journal.add(newTask('two'))
  await store.log.setNote('key', 'value')
  await store.dispatch.claim('key', { host: 'h', pid: 1, started: 's', what: 'w' }, 1, 0)
  await store.dispatch.file({ kind: 'steer', task: 'one', text: 'words', by: 'me', at: 0 })
  store.close()

  const reader = await program('damaged-reader')
  try {
    const running = reader.start(path, 'two', 'r1')
    const { code, signal } = await running.ended
    const lines = running.lines()
    expect({ code, signal }, `the last word: ${lines.at(-1)}`).toEqual({ code: 0, signal: null })
    const answers = lines.filter(line => !line.startsWith('begin '))
    expect(answers.length).toBe(lines.length / 2)
    // Whatever it was asked for, it answered or told of the damage.
    const known = /^\w+\.\w+: (?:answered, )?(?:corrupt, )?doctor: readable$/
    expect(answers.filter(line => !known.test(line))).toEqual([
      expect.stringMatching(/^meta\.key: UserError .*not a journal/),
      expect.stringMatching(/^meta\.value: UserError .*not a journal/),
    ])
    const told = answers.filter(line => line.includes('corrupt')).map(line => line.split(':', 1)[0])
    expect(told).toEqual([
      ...['event.body', 'event.chain', 'event.fold', 'event.stream'],
      ...['lease.host', 'lease.started', 'lease.what', 'note.value'],
      ...['request.author', 'request.kind', 'request.result', 'request.task', 'request.text', 'run.state'],
      ...['task.id', 'task.needs', 'task.proof', 'task.state', 'task.status'],
    ])
  } finally {
    reader.remove()
  }
}, 60_000)
